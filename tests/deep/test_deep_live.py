"""Agents with networks in Gymnasium environments: they learn, see no hidden rewards, and refuse bad input."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Sequence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import monmdp
from monmdp import MonMDPError
from monmdp.cli import main
from monmdp.gym.worlds import WORLDS
from monmdp.training import live_job

pytest.importorskip("jax")
pytest.importorskip("optax")


SMALL = "hidden=(32,), learning_rate=0.005, batch=32, tracking=0.1, codes=5, every=2"
DIRECTED = f"DeepDirected({SMALL})"
STEPS = 500


class Chain(gymnasium.Env):
    """Cells 0 … 4; left and right; entering the last cell pays 1 and ends the episode, other steps pay 0.

    seen: "pixels" are images, "number" is that of the cell, "places" are five numbers from -1 to 1. broken: the
    observation that is returned instead after `at` others.
    """

    def __init__(self, seen="number", broken=None, at=20, space=None):
        self.seen, self.broken, self.at, self.clock = seen, broken, at, 0
        self.action_space = Discrete(2)
        spaces = {"number": Discrete(5), "places": Box(-1, 1, (5,)), "pixels": Box(0, 255, (1, 5, 1), np.uint8)}
        self.observation_space = space or spaces[seen]

    def observation(self):
        self.clock += 1
        if self.broken is not None and self.clock > self.at:
            return self.broken
        if self.seen == "number":
            return self.cell
        if self.seen == "places":
            return np.tri(5, dtype=np.float32)[self.cell] * 2 - 1
        return 255 * np.eye(5, dtype=np.uint8)[None, self.cell, :, None]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell, self.elapsed = 0, 0
        return self.observation(), {}

    def step(self, action):
        self.cell, self.elapsed = max(self.cell + (1 if action else -1), 0), self.elapsed + 1
        return self.observation(), float(self.cell == 4), self.cell == 4, self.elapsed == 20, {}


class Poisoned(gymnasium.Wrapper):
    """Hidden rewards in `info` are replaced, as if the environment had paid them."""

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not info["reward_observed"]:
            info["env_reward"] = 99.0
        return observation, reward, terminated, truncated, info


def trained(env, agent=DIRECTED, steps=STEPS, **options):
    defaults = {
        "points": 2,
        "discount": 0.9,
        "reward_range": (0, 1),
        "test_episodes": 1,
        "test_env": asked(options.pop("seen", "number")),
    }
    return monmdp.train_live(env, agent=agent, steps=steps, **(defaults | options))


def asked(seen="number", **options):
    return monmdp.monitored(Chain(seen, **options), "Ask(cost=0.2)")


@pytest.mark.parametrize("seen", ["number", "places", "pixels"])
def test_a_chain_is_solved_with_few_answers(seen):
    """Four steps to the right, without asking: 0.9³."""
    curves = trained(asked(seen), test_env=asked(seen))
    assert curves.final_return == pytest.approx(0.9**3)
    assert curves.undiscounted_returns[0, -1] == pytest.approx(1.0)
    assert 4 <= curves.observed[0, -1] < 300
    assert curves.paid[0, -1] == pytest.approx(0.2 * curves.observed[0, -1])
    assert curves.visit_counts.sum() == STEPS
    assert "DeepDirected" in repr(curves)


@pytest.fixture(scope="module")
def curves():
    return trained(asked(), seeds=2, test_env=asked())


def test_the_same_seed_gives_the_same_run(curves):
    again = trained(asked(), seed=1, points=3, test_env=asked())
    assert np.array_equal(again.q[0], curves.q[1], equal_nan=True)
    assert np.array_equal(again.visit_counts[0], curves.visit_counts[1])
    assert not np.array_equal(curves.visit_counts[0], curves.visit_counts[1])


@pytest.mark.parametrize(
    "name", ["DeepDirected", *(pytest.param(name, marks=pytest.mark.slow) for name in ("DeepNaive", "DeepOracle"))]
)
def test_rewards_that_are_not_shown_change_nothing(name):
    one, other = (trained(env, f"{name}({SMALL})", test_env=asked()) for env in (asked(), Poisoned(asked())))
    same = np.array_equal(one.q, other.q, equal_nan=True) and np.array_equal(one.visit_counts, other.visit_counts)
    assert same == (name != "DeepOracle")


def test_a_policy_acts_on_observations_of_the_environment(curves, tmp_path):
    curves.policy(1).save(tmp_path / "policy.npz")
    policy = monmdp.load_policy(tmp_path / "policy.npz")
    for cell in range(4):
        # codes are numbered in order of discovery, which is that of cells in a chain
        values = policy.q(np.eye(5)[[cell]], [0])[0]
        np.testing.assert_allclose(values[[0, 2]], curves.q[1, cell, [0, 2]], rtol=1e-3, atol=1e-3)
        assert (values[[1, 3]] == values.min()).all()  # asking teaches nothing more


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_copies_of_a_vector_share_one_learner(mode):
    copies = SyncVectorEnv([Chain] * 3, autoreset_mode=mode)
    curves = trained(monmdp.monitored(copies, "Ask(cost=0.2)"), test_env=asked())
    assert curves.visit_counts.sum() == STEPS  # steps of all copies; restarts are no steps
    assert curves.final_return == pytest.approx(0.9**3)
    assert curves.paid[0, -1] == pytest.approx(0.2 * curves.observed[0, -1])


def test_a_registered_vector_makes_its_own_copy_for_tests():
    gymnasium.register("Chain-v0", Chain)
    chains = gymnasium.make_vec("Chain-v0", num_envs=2, vectorization_mode="sync", seen="pixels")
    curves = trained(monmdp.monitored(chains, "Ask"), test_env=None)
    assert curves.final_return == pytest.approx(0.9**3)
    assert curves.problem_name == "Chain-v0 + Ask"


def test_late_answers_are_learned_from_when_they_arrive():
    late = monmdp.late_answers(asked(), monmdp.DelayedAnswers(steps=3))
    curves = trained(late, test_env=asked())
    assert curves.final_return == pytest.approx(0.9**3)
    bought = round(curves.paid[0, -1] / 0.2)
    assert bought - 3 <= curves.observed[0, -1] <= bought


@pytest.mark.parametrize(
    ("values", "expected"),
    [(None, (-0.2 / 0.1, 1.0 / 0.1)), ((-3.0, 2.0), (-3.0, 2.0))],  # of all steps, or those that are known
)
def test_bins_cover_the_range_of_values(values, expected):
    run = monmdp.AGENTS.build(DIRECTED).live(asked(), None, 0, np.array([0, 9]), 0.9, (0.0, 1.0), values, None)
    margin = 0.05 * (expected[1] - expected[0])
    assert run.numbers.q_bins[[0, -1]] == pytest.approx([expected[0] - margin, expected[1] + margin])


@pytest.mark.parametrize("name", ["LunarLander", "MiniGrid"])
def test_environments_of_other_packages(name):
    pytest.importorskip({"LunarLander": "Box2D", "MiniGrid": "minigrid"}[name])
    world = WORLDS.build(name)
    problem = live_job.LiveProblem(world, monmdp.MONITORS.build("Button"), 0.98)
    env, earned = problem.make(), []
    env.action_space.seed(0)
    env.reset(seed=0)
    for _ in range(300):
        *_, terminated, truncated, info = env.step(env.action_space.sample())
        earned.append(info["env_reward"])
        if terminated or truncated:
            env.reset()
    assert world.rewards[0] <= min(earned) < max(earned) <= world.rewards[1]


@pytest.mark.parametrize(
    ("env", "options", "message"),
    [
        (
            lambda: asked("places", broken=np.full(5, np.nan, np.float32)),
            {"seen": "places"},
            "a number that is NaN or infinite",
        ),
        (lambda: asked("places", broken=np.zeros(2, np.float32)), {}, "not in its observation space.*must not change"),
        (lambda: asked("number", broken=7), {}, "observation 7, which is not in its observation space"),
        (
            lambda: monmdp.monitored(Chain(space=Sequence(Discrete(5))), "Ask"),
            {},
            "observations that can be flattened to numbers, not Sequence",
        ),
        (lambda: asked(), {"reward_range": None}, r"needs the range of rewards; pass reward_range=\(smallest"),
        (lambda: asked(), {"discretizer": monmdp.Bins(3)}, "needs no discretizer"),
        (
            lambda: asked("places", broken=np.full(5, 1e30, np.float32), at=0),
            {"seen": "places"},
            "diverged before step",
        ),
        (
            lambda: monmdp.monitored(SyncVectorEnv([Chain], autoreset_mode=AutoresetMode.DISABLED), "Ask"),
            {},
            "restarts its copies",
        ),
        (lambda: SyncVectorEnv([Chain]), {"agent": "Naive"}, "Naive takes single environments"),
    ],
)
def test_bad_input(env, options, message):
    with pytest.raises(MonMDPError, match=message):
        trained(env(), **options)


def test_a_sweep_in_a_continuous_environment(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(live_job, "TEST_EPISODES", 2)
    # the agent whose program is compiled most quickly
    agent, maze = f"DeepNaive({SMALL})".replace("codes=5", "codes=20"), WORLDS.build("PointMaze").make
    sweep = monmdp.Sweep(["PointMaze"], ["Ask"], [agent], seeds=1, steps=300, points=3, discount=0.9)
    report = monmdp.run_sweep(sweep, tmp_path, threads=1)
    assert (report.done, report.failures) == (1, [])
    again = monmdp.run_sweep(sweep, tmp_path, threads=1)
    assert (again.done, again.skipped) == (0, 1)
    table = monmdp.load(tmp_path).to_pandas()
    assert table.step.tolist() == [0, 100, 200, 300]
    assert table.paid.iloc[-1] == pytest.approx(0.2 * table.observed.iloc[-1])
    assert 0 < table.observed.iloc[-1] < 300
    live = trained(
        monmdp.monitored(maze(), "Ask"), agent, 300, points=3, test_episodes=2, seed=0, reward_range=(-1.0, 0.0),
        test_env=monmdp.monitored(maze(), "Ask"),
    )  # fmt: skip
    assert table["return"].tolist() == live.undiscounted_returns[0].tolist()
    assert table.observed.tolist() == live.observed[0].tolist()
    assert main(["results", str(tmp_path)]) == 0
    assert "PointMaze" in capsys.readouterr().out
