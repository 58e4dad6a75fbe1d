"""Tests of every environment × monitor pair of the catalogue, including new entries."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics

import monmdp

pairs = pytest.mark.parametrize(
    ("environment", "monitor"), [(name, monitor) for name in monmdp.ENVIRONMENTS for monitor in monmdp.MONITORS]
)


def play(environment: str, monitor: str) -> gymnasium.Env:
    return gymnasium.make(f"monmdp/{environment}-v0", monitor=monitor)


@pairs
def test_joins_validates_and_has_a_stable_digest(environment, monitor):
    problem, again = monmdp.make(environment, monitor), monmdp.make(environment, monitor)
    problem.validate()
    assert problem.digest == again.digest
    assert problem.digest == play(environment, monitor).unwrapped.problem.digest


@pairs
def test_passes_the_checker(environment, monitor):
    """Warnings are errors here."""
    check_env(play(environment, monitor).unwrapped)


@pairs
def test_plays_under_a_standard_wrapper(environment, monitor):
    """The recorded return is the sum of rewards, and an episode ends no later than its step limit."""
    env = RecordEpisodeStatistics(play(environment, monitor))
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


@pairs
def test_the_monitor_does_not_change_the_environment(environment, monitor):
    """Every joint pair holds exactly the outcomes of its environment pair, each shared out among the monitor's."""
    problem = monmdp.make(environment, monitor)
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


@pairs
def test_every_reward_is_observable_by_default(environment, monitor):
    """No monitor hides a reward permanently by default, so that the minimax policy is optimal."""
    solution = monmdp.solve(monmdp.make(environment, monitor))
    assert solution.solvable
    assert solution.communicating
    assert solution.minimax_return == solution.optimal_return
    assert np.isfinite(solution.q).all()


def test_digests_differ_between_all_pairs():
    digests = {(name, monitor): monmdp.make(name, monitor).digest for name, monitor in pairs.args[1]}
    assert len(set(digests.values())) == len(digests) == len(monmdp.ENVIRONMENTS) * len(monmdp.MONITORS)


@pytest.mark.parametrize("name", monmdp.ENVIRONMENTS)
def test_registered_ids_play_full_observation_by_default(name):
    env = gymnasium.make(f"monmdp/{name}-v0")
    assert env.unwrapped.problem.digest == monmdp.make(name, "Full").digest
