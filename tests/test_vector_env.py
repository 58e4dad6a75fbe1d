"""The compiled vector environment plays exactly the games of single environments."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import monmdp
from monmdp import Grid, MonitoredEnv, MonitoredVectorEnv, MonMDPError

COPIES = 5

#: Short limits, so that truncation happens often; between them every source of chance and of ends.
PROBLEMS = [
    ("Hazard(step_limit=7)", "Button"),
    ("RiverSwim(step_limit=9)", "Experts"),
    ("Empty(rows=2, columns=2, step_limit=4)", "Ask"),
    ("Loop(step_limit=6)", "Random"),
    ("Cliff(step_limit=11, random_action=0.2)", "Level(observability=0.5)"),
    ("Walk(step_limit=5, reward_noise=0.3)", "LimitedTime"),
    ("OneWay(step_limit=12, nonzero_reward_noise=1)", "Battery(n=2)"),
    ("Hazard(start=[(0, 0), (3, 3)], step_limit=1)", "RandomPair"),
    ("FrozenLake-v1(max_episode_steps=6)", "Switch"),
]

problems = pytest.mark.parametrize(("environment", "monitor"), PROBLEMS)


def both(environment: str, monitor: str, mode: AutoresetMode) -> tuple[MonitoredVectorEnv, SyncVectorEnv]:
    problem = monmdp.make(environment, monitor)
    single = SyncVectorEnv([lambda: MonitoredEnv(problem)] * COPIES, autoreset_mode=mode)
    return MonitoredVectorEnv(problem, COPIES, mode), single


def assert_same(one: object, other: object, where: str) -> None:
    """Equal in kind and value, to any depth; NaN equals NaN."""
    if isinstance(other, dict):
        assert isinstance(one, dict), where
        assert one.keys() == other.keys(), where
        for key in other:
            assert_same(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(other, np.ndarray) and other.dtype != object:
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif isinstance(other, (np.ndarray, tuple)):
        assert len(one) == len(other), where
        for i in range(len(other)):
            assert_same(one[i], other[i], f"{where}[{i}]")
    else:
        assert type(one) is type(other), where
        assert one == other, where


@problems
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.name)
def test_equals_single_environments(environment, monitor, mode):
    fast, slow = both(environment, monitor, mode)
    assert_same(fast.reset(seed=42), slow.reset(seed=42), "reset")
    fast.action_space.seed(1)
    ends = np.zeros(2, int)
    for step in range(300):
        actions = fast.action_space.sample()
        actual, expected = fast.step(actions), slow.step(actions)
        assert_same(actual, expected, f"step {step}")
        ends += actual[2].sum(), actual[3].sum()
    assert ends[1] > 0, "no truncation was compared"


@problems
def test_equals_single_environments_reset_by_hand(environment, monitor):
    fast, slow = both(environment, monitor, AutoresetMode.DISABLED)
    assert_same(fast.reset(seed=6), slow.reset(seed=6), "reset")
    fast.action_space.seed(2)
    resets = 0
    for step in range(200):
        actions = fast.action_space.sample()
        actual, expected = fast.step(actions), slow.step(actions)
        assert_same(actual, expected, f"step {step}")
        done = actual[2] | actual[3]
        if done.any():
            resets += 1
            seed = step if step % 3 == 0 else None
            again = [env.reset(seed=seed, options={"reset_mask": done.copy()}) for env in (fast, slow)]
            assert_same(*again, f"reset after step {step}")
    assert resets > 0


def test_ended_copies_must_be_reset_if_autoreset_is_disabled():
    env = MonitoredVectorEnv(monmdp.make(Grid(["C"]), "Full"), 2, AutoresetMode.DISABLED)
    env.reset(seed=0)
    env.step({"env": np.array([4, 0]), "monitor": np.zeros(2, int)})
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset_mask"):
        env.step({"env": np.array([0, 0]), "monitor": np.zeros(2, int)})


def game(env: MonitoredVectorEnv, seed: object, steps: int = 60) -> list:
    observation, _ = env.reset(seed=seed)
    env.action_space.seed(0)
    seen = [observation]
    for _ in range(steps):
        seen.append(env.step(env.action_space.sample()))
    return seen


def test_reset_with_a_seed_is_reproducible():
    problem = monmdp.make("RiverSwim(reward_noise=0.1)", "Experts")
    env = MonitoredVectorEnv(problem, 8)
    first, again, fresh = game(env, 3), game(env, 3), game(MonitoredVectorEnv(problem, 8), 3)
    for step, (one, two, three) in enumerate(zip(first, again, fresh, strict=True)):
        assert_same(one, two, f"step {step}")
        assert_same(one, three, f"step {step}")


def test_copies_have_consecutive_seeds():
    env = MonitoredVectorEnv(monmdp.make("RiverSwim", "Experts"), 4)
    by_number, by_list = game(env, 20), game(env, [20, 21, 22, 23])
    for one, other in zip(by_number[1:], by_list[1:], strict=True):
        assert_same(one[0], other[0], "observation")


def test_copies_are_independent():
    """1,000 coin tosses each of two copies agree about half of the time (five standard errors: 0.08)."""
    env = MonitoredVectorEnv(monmdp.make("RiverSwim", "Experts(n=2)"), 2)
    env.reset(seed=0)
    tosses = np.array(
        [env.step({"env": np.ones(2, int), "monitor": np.zeros(2, int)})[0]["monitor"] for _ in range(1000)]
    )
    assert abs(np.mean(tosses[:, 0] == tosses[:, 1]) - 0.5) < 0.08


def test_unseeded_episodes_differ():
    problem = monmdp.make("RiverSwim", "Experts")
    starts = [MonitoredVectorEnv(problem, 20).reset()[0] for _ in range(2)]
    assert any(not np.array_equal(starts[0][key], starts[1][key]) for key in ("env", "monitor"))


def test_returned_arrays_are_copies():
    env = MonitoredVectorEnv(monmdp.make("RiverSwim", "Experts"), 6)
    first, _ = env.reset(seed=0)
    copy = {key: value.copy() for key, value in first.items()}
    for _ in range(20):
        env.step(env.action_space.sample())
    assert_same(first, copy, "the first observation")


def test_make_vec():
    env = gymnasium.make_vec("monmdp/Empty-v0", num_envs=3, monitor="Ask", rows=3, autoreset_mode="SAME_STEP")
    assert isinstance(env.unwrapped, MonitoredVectorEnv)
    assert env.num_envs == 3
    assert env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert env.unwrapped.problem.digest == monmdp.make("Empty(rows=3)", "Ask").digest
    assert env.single_action_space == gymnasium.make("monmdp/Empty-v0", monitor="Ask").action_space
    assert env.reset(seed=0)[0] in env.observation_space


def test_make_vec_with_max_episode_steps():
    env = gymnasium.make_vec("monmdp/Empty-v0", num_envs=2, max_episode_steps=2)
    env.reset(seed=0)
    left = {"env": np.zeros(2, int), "monitor": np.zeros(2, int)}
    assert not env.step(left)[3].any()
    assert env.step(left)[3].all()


def test_standard_vector_wrappers_work():
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(
        gymnasium.make_vec("monmdp/Empty-v0", num_envs=4, monitor="Ask", step_limit=5)
    )
    env.reset(seed=0)
    asks = {"env": np.zeros(4, int), "monitor": np.ones(4, int)}
    for _ in range(5):
        info = env.step(asks)[4]
    assert info["episode"]["r"].tolist() == pytest.approx([-1.0] * 4)
    assert info["episode"]["l"].tolist() == [5] * 4


@pytest.mark.parametrize(
    "actions",
    [
        {"env": np.zeros(2, int)},
        {"env": np.zeros(3, int), "monitor": np.zeros(2, int)},
        {"env": np.array([0, 5]), "monitor": np.zeros(2, int)},
        {"env": np.array([-1, 0]), "monitor": np.zeros(2, int)},
        {"env": np.zeros(2), "monitor": np.zeros(2, int)},
        np.zeros(2, int),
    ],
)
def test_bad_actions_never_reach_compiled_code(actions):
    env = MonitoredVectorEnv(monmdp.make("Empty", "Ask"), 2)
    env.reset(seed=0)
    with pytest.raises(MonMDPError, match="action space"):
        env.step(actions)


@pytest.mark.parametrize("copies", [0, -1, 2.5])
def test_the_number_of_copies_is_checked(copies):
    with pytest.raises(MonMDPError, match="number of environments"):
        MonitoredVectorEnv(monmdp.make("Empty"), copies)


@pytest.mark.parametrize("mask", [[True, False], np.array([True]), np.array([1, 0]), np.zeros(2, bool)])
def test_a_bad_reset_mask_is_rejected(mask):
    env = MonitoredVectorEnv(monmdp.make("Empty"), 2)
    with pytest.raises(MonMDPError, match="reset mask"):
        env.reset(seed=0, options={"reset_mask": mask})


def test_other_bad_calls_are_rejected():
    env = MonitoredVectorEnv(monmdp.make("Empty"), 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step({"env": np.zeros(2, int), "monitor": np.zeros(2, int)})
    with pytest.raises(MonMDPError, match="not 3"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(MonMDPError, match="autoreset mode"):
        MonitoredVectorEnv(monmdp.make("Empty"), 2, "SOMETIMES")
