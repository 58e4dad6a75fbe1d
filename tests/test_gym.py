"""One problem as a Gymnasium environment: spaces, rewards, infos, seeds, limits, wrappers."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Dict, Discrete
from gymnasium.utils.env_checker import check_env

import monmdp
from monmdp import FlattenDiscrete, Grid, MonitoredEnv, MonMDPError

LEFT, DOWN, RIGHT, UP, STAY = range(5)


def play(env: gymnasium.Env, seed: int, steps: int = 200) -> list:
    """A game with seeded random actions, as a comparable list; a hidden reward reads as None."""
    env.action_space.seed(seed + 1)
    observation, _ = env.reset(seed=seed)
    game: list = [observation]
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
        proxy = None if math.isnan(info["proxy_reward"]) else info["proxy_reward"]
        game.append((observation, reward, terminated, truncated, {**info, "proxy_reward": proxy}))
        if terminated or truncated:
            game.append(env.reset()[0])
    return game


def test_spaces_have_two_parts():
    env = gymnasium.make("monmdp/Empty-v0", monitor="Level")
    assert env.observation_space == Dict({"env": Discrete(36), "monitor": Discrete(3)})
    assert env.action_space == Dict({"env": Discrete(5), "monitor": Discrete(4)})


def test_an_episode_with_ask_by_hand():
    """Coin next to the start: a hidden step, a seen step, the coin hidden, at 0.2 a look."""
    env = MonitoredEnv(monmdp.make(Grid(["tC"]), "Ask"))
    assert env.reset(seed=0) == ({"env": 0, "monitor": 0}, {})
    observation, reward, terminated, truncated, info = env.step({"env": STAY, "monitor": 0})
    assert (observation, reward, terminated, truncated) == ({"env": 0, "monitor": 0}, 0.0, False, False)
    assert (info["reward_observed"], info["monitor_reward"], info["env_reward"]) == (False, 0.0, -0.1)
    assert math.isnan(info["proxy_reward"])
    observation, reward, *_, info = env.step({"env": RIGHT, "monitor": 1})
    assert (observation, reward) == ({"env": 1, "monitor": 0}, pytest.approx(-0.3))
    assert info == {
        "proxy_reward": -0.1,
        "reward_observed": True,
        "monitor_reward": -0.2,
        "step_id": 1,
        "env_reward": -0.1,
    }
    _, reward, terminated, truncated, info = env.step({"env": STAY, "monitor": 0})
    assert (reward, terminated, truncated, info["env_reward"]) == (0.0, True, False, 1.0)


@pytest.mark.parametrize("monitor", monmdp.MONITORS)
def test_the_monitor_is_truthful_and_the_reward_finite(monitor):
    game = play(gymnasium.make("monmdp/Hazard-v0", monitor=monitor, reward_noise=0.1), seed=3)
    for _, reward, _, _, info in (entry for entry in game if isinstance(entry, tuple)):
        seen = info["env_reward"] if info["reward_observed"] else None
        assert info["proxy_reward"] == seen
        assert reward == info["monitor_reward"] + (seen or 0.0)


@pytest.mark.parametrize(("environment", "monitor"), [("Hazard", "Experts"), ("RiverSwim", "Random")])
def test_equal_seeds_give_equal_episodes(environment, monitor):
    env = gymnasium.make(f"monmdp/{environment}-v0", monitor=monitor)
    first, again, other = play(env, 1), play(env, 1), play(env, 2)
    assert first == again
    assert first != other
    assert play(gymnasium.make(f"monmdp/{environment}-v0", monitor=monitor), 1) == first


def test_unseeded_episodes_differ():
    """Eight equally likely starts: 20 equal ones have probability 8^-19."""
    games = [gymnasium.make("monmdp/RiverSwim-v0", monitor="Experts") for _ in range(20)]
    assert len({tuple(env.reset()[0].values()) for env in games}) > 1


def test_action_sampling_does_not_affect_the_environment():
    """Whether a reward is looked at must not change where the world goes."""
    problem = monmdp.make("RiverSwim", "Ask")
    ways = []
    for look in (0, 1):
        env = MonitoredEnv(problem)
        env.reset(seed=9)
        ways.append([int(env.step({"env": 1, "monitor": look})[0]["env"]) for _ in range(100)])
    assert ways[0] == ways[1]


def test_step_limit_truncates_and_termination_terminates():
    env = MonitoredEnv(monmdp.make(Grid([".C"], step_limit=3), "Full"))
    env.reset(seed=0)
    ends = [env.step({"env": LEFT, "monitor": 0})[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    env.reset()
    env.step({"env": RIGHT, "monitor": 0})
    env.step({"env": LEFT, "monitor": 0})
    assert env.step({"env": LEFT, "monitor": 0})[2:4] == (False, True), "the count starts anew with the episode"
    env.reset()
    env.step({"env": UP, "monitor": 0})
    env.step({"env": RIGHT, "monitor": 0})
    assert env.step({"env": STAY, "monitor": 0})[2:4] == (True, False), "an end on the last step is no truncation"


def test_no_truncation_without_a_step_limit():
    env = gymnasium.make("monmdp/Empty-v0", step_limit=None)
    env.reset(seed=0)
    assert not any(env.step({"env": LEFT, "monitor": 0})[3] for _ in range(500))


def test_options_reach_the_environment_and_objects_the_monitor():
    env = gymnasium.make("monmdp/Empty-v0", rows=3, columns=4, monitor=monmdp.MONITORS.build("Ask", cost=0.5))
    assert env.unwrapped.problem.digest == monmdp.make("Empty(rows=3, columns=4)", "Ask(cost=0.5)").digest
    assert gymnasium.make("monmdp/Empty-v0", discount=0.5).unwrapped.problem.discount == 0.5


def test_any_problem_can_be_played():
    problem = monmdp.make(Grid([".C"]), "Ask")
    env = gymnasium.make("monmdp/MonMDP-v0", environment=problem)
    assert env.unwrapped.problem is problem
    env = gymnasium.make("monmdp/MonMDP-v0", environment=Grid([".C"]), monitor="Ask")
    assert env.unwrapped.problem.digest == problem.digest


@pytest.mark.parametrize("options", [{"nonsense": 1}, {"monitor": "Button"}, {"discount": 0.5}, {"step_limit": 3}])
def test_options_with_a_problem_object_are_rejected(options):
    """They could not change anything, and would be swallowed."""
    with pytest.raises((MonMDPError, TypeError)):
        gymnasium.make("monmdp/MonMDP-v0", environment=monmdp.make(Grid([".C"]), "Ask"), **options)


@pytest.mark.parametrize("options", [{"roww": 3}, {"monitor": "As"}, {"monitor": "Ask(cots=1)"}])
def test_unknown_options_fail(options):
    with pytest.raises(MonMDPError, match="Did you mean"):
        gymnasium.make("monmdp/Empty-v0", **options)


@pytest.mark.parametrize("action", [3, {"env": 0}, {"env": 5, "monitor": 0}, {"env": -1, "monitor": 0}])
def test_actions_outside_the_space_are_rejected(action):
    env = MonitoredEnv(monmdp.make("Empty", "Ask"))
    env.reset(seed=0)
    with pytest.raises(MonMDPError, match="action"):
        env.step(action)


def test_reset_is_required():
    with pytest.raises(gymnasium.error.ResetNeeded):
        MonitoredEnv(monmdp.make("Empty")).step({"env": 0, "monitor": 0})


def test_flattened_indices_are_those_of_the_problem():
    problem = monmdp.make("Hazard", "Level")
    flat, plain = FlattenDiscrete(MonitoredEnv(problem)), MonitoredEnv(problem)
    assert flat.observation_space == Discrete(problem.n_states)
    assert flat.action_space == Discrete(problem.n_actions)
    state = flat.reset(seed=4)[0]
    parts = plain.reset(seed=4)[0]
    rng = np.random.default_rng(4)
    for _ in range(40):
        assert problem.split_state(state) == (parts["env"], parts["monitor"])
        action = int(rng.integers(problem.n_actions))
        env_action, monitor_action = problem.split_action(action)
        state, *flat_rest = flat.step(action)
        parts, *plain_rest = plain.step({"env": env_action, "monitor": monitor_action})
        assert flat_rest == plain_rest
        if flat_rest[1] or flat_rest[2]:
            break


def test_flattened_environments_pass_the_checker():
    flat = FlattenDiscrete(gymnasium.make("monmdp/Hazard-v0", monitor="Level").unwrapped)
    with pytest.warns(UserWarning, match="different from the unwrapped version"):  # true of every wrapper
        check_env(flat, skip_render_check=True)


def test_flattening_requires_two_parts():
    with pytest.raises(MonMDPError, match="two parts"):
        FlattenDiscrete(gymnasium.make("FrozenLake-v1"))
