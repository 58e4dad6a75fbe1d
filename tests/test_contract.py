"""Tests of every environment × monitor pair of the catalogue, including new entries."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

import monmdp

#: All of them; a quarter, two environments with every monitor, and Full with every environment are not slow.
PAIRS = [
    pytest.param(
        environment, monitor, id=f"{environment}-{monitor}",
        marks=[pytest.mark.slow] * ((i + j) % 4 > 0 and environment not in ("Loop", "RiverSwim") and monitor != "Full"),
    )
    for i, environment in enumerate(monmdp.ENVIRONMENTS)
    for j, monitor in enumerate(monmdp.MONITORS)
]  # fmt: skip


@pytest.fixture(scope="module")
def digests():
    """Pair → the digest of its problem."""
    return {}


@pytest.mark.parametrize(("environment", "monitor"), PAIRS)
def test_contract(environment, monitor, digests):
    env = gymnasium.make(f"monmdp/{environment}-v0", monitor=monitor)
    problem = env.unwrapped.problem
    problem.validate()
    assert problem.digest == monmdp.make(environment, monitor).digest
    assert problem.digest not in digests.values()
    digests[environment, monitor] = problem.digest
    if monitor == "Full":
        assert gymnasium.make(f"monmdp/{environment}-v0").unwrapped.problem.digest == problem.digest, "the default"
    check_env(env.unwrapped)  # warnings are errors here
    plays_under_a_standard_wrapper(env)
    does_not_change_the_environment(problem)
    has_no_reward_that_is_never_observable(problem)


def plays_under_a_standard_wrapper(env: gymnasium.Env) -> None:
    """The recorded return is the sum of rewards, and an episode ends no later than its step limit."""
    env = RecordEpisodeStatistics(env)
    env.reset(seed=7)
    env.action_space.seed(7)
    rewards, done = [], False
    while not done:
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert type(reward) is float
        assert np.isfinite(reward)
        rewards.append(reward)
        done = terminated or truncated or len(rewards) > 1000
    assert info["episode"]["r"] == pytest.approx(sum(rewards))
    assert info["episode"]["l"] == len(rewards) <= env.unwrapped.problem.step_limit


def does_not_change_the_environment(problem: monmdp.MonMDP) -> None:
    """Every joint pair holds exactly the outcomes of its environment pair, each shared out among the monitor's."""
    table = problem.environment
    weight = np.zeros((problem.n_pairs, len(table.probability)))
    np.add.at(weight, (problem.pair_of_outcome, problem.monitor.env_outcome), problem.monitor.probability)
    monitor_states, monitor_actions = len(problem.monitor.states), len(problem.monitor.actions)
    expected = np.zeros_like(weight)
    for pair in range(problem.n_pairs):
        state, action = divmod(pair, problem.n_actions)
        env_pair = state // monitor_states * len(table.actions) + action // monitor_actions
        assert problem.env_pair[pair] == env_pair
        expected[pair, table.offsets[env_pair] : table.offsets[env_pair + 1]] = 1.0
    assert np.allclose(weight, expected, rtol=0, atol=1e-12)


def has_no_reward_that_is_never_observable(problem: monmdp.MonMDP) -> None:
    """No monitor hides a reward permanently by default, so that the minimax policy is optimal."""
    solution = monmdp.solve(problem)
    assert solution.solvable
    assert solution.communicating
    assert solution.minimax_return == solution.optimal_return
    assert np.isfinite(solution.q).all()
