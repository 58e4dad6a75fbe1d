"""Sampled outcomes occur as often as the arrays say.

Bound: each of M frequencies is the mean of n independent draws in [0, 1], so by Hoeffding's inequality it misses its
probability by more than √(ln(2M / δ) / 2n) with probability at most δ / M; all M hold together with probability
1 - δ. Seeds are fixed and δ = 1e-6, so a failure is a bug.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import gymnasium
import numpy as np
import pytest

import monmdp
from monmdp import Grid, MonitoredEnv, MonitoredVectorEnv

DELTA = 1e-6


def bound(count: int, comparisons: int) -> float:
    return float(np.sqrt(np.log(2 * comparisons / DELTA) / (2 * count)))


def expected(problem: monmdp.MonMDP, pair: int) -> dict[tuple, float]:
    """(next state, monitor reward, terminated, environment reward, shown) → probability."""
    chances: dict[tuple, float] = defaultdict(float)
    for o in range(problem.offsets[pair], problem.offsets[pair + 1]):
        seen = problem.monitor.observe_probability[o]
        for shown, part in ((True, seen), (False, 1.0 - seen)):
            key = (
                int(problem.next_state[o]),
                float(problem.monitor.reward[o]),
                bool(problem.terminated[o]),
                float(problem.env_reward[o]),
                shown,
            )
            chances[key] += problem.probability[o] * part
    return {key: chance for key, chance in chances.items() if chance > 0}


def joint(problem: monmdp.MonMDP, observation: dict) -> np.ndarray:
    return observation["env"] * len(problem.monitor.states) + observation["monitor"]


def compare(problem: monmdp.MonMDP, seen: dict[int, Counter]) -> None:
    """Every sampled outcome is one of the arrays', as often as they say."""
    rows = {pair: expected(problem, pair) for pair in seen}
    comparisons = sum(map(len, rows.values()))
    for pair, row in rows.items():
        count = sum(seen[pair].values())
        assert set(seen[pair]) <= set(row), f"pair {pair} came out in a way that the arrays do not have"
        for key, chance in row.items():
            miss = abs(seen[pair][key] / count - chance)
            assert miss <= bound(count, comparisons), (pair, key, chance, seen[pair][key] / count, count)


def play_many(problem: monmdp.MonMDP, steps: int = 800, copies: int = 500) -> dict[int, Counter]:
    """Outcomes by joint pair, from random actions in the compiled vector environment."""
    env = MonitoredVectorEnv(problem, copies)
    env.action_space.seed(5)
    observation, _ = env.reset(seed=5)
    ended = np.zeros(copies, bool)
    table = []
    for _ in range(steps):
        action = env.action_space.sample()
        joint_action = action["env"] * len(problem.monitor.actions) + action["monitor"]
        pair = joint(problem, observation) * problem.n_actions + joint_action
        observation, _, terminated, truncated, info = env.step(action)
        if not ended.all():  # otherwise all were reset, and there is nothing to tell
            after, earned, seen = joint(problem, observation), info["monitor_reward"], info["reward_observed"]
            table.append(np.column_stack((pair, after, earned, terminated, info["env_reward"], seen))[~ended])
        ended = terminated | truncated
    counts: dict[int, Counter] = defaultdict(Counter)
    for (pair, *key), count in zip(*np.unique(np.concatenate(table), axis=0, return_counts=True), strict=True):
        counts[int(pair)][tuple(key)] += int(count)
    return counts


@pytest.mark.parametrize(
    ("environment", "monitor"),
    [
        ("Hazard", "Button"),
        ("RiverSwim", "Experts"),
        ("Empty", "Random"),
        ("TwoRoom3x5(random_action=0.3)", "Level(observability=0.7)"),
        ("Taxi-v4", "Ask"),
    ],
)
def test_frequencies_match_probabilities(environment, monitor):
    problem = monmdp.make(environment, monitor)
    seen = play_many(problem)
    assert sum(sum(row.values()) for row in seen.values()) > 350_000
    compare(problem, seen)


def test_frequencies_of_the_single_environment():
    """A small problem with every source of chance, so that 20,000 plain steps visit each pair often."""
    problem = monmdp.make(Grid(["~c"], random_action=0.5, step_limit=9), "LimitedTime(p=0.3, observability=0.6)")
    env = MonitoredEnv(problem)
    env.action_space.seed(11)
    observation, _ = env.reset(seed=11)
    seen: dict[int, Counter] = defaultdict(Counter)
    for _ in range(20_000):
        action = env.action_space.sample()
        pair = int(joint(problem, observation)) * problem.n_actions + int(action["env"])
        observation, _, terminated, truncated, info = env.step(action)
        after = int(joint(problem, observation))
        seen[pair][after, info["monitor_reward"], terminated, info["env_reward"], info["reward_observed"]] += 1
        if terminated or truncated:
            observation, _ = env.reset()
    assert len(seen) == problem.reachable_pairs.sum() == problem.n_pairs
    compare(problem, seen)


@pytest.mark.parametrize("option", ["reward_noise", "nonzero_reward_noise"])
def test_reward_noise_is_gaussian_with_the_stated_deviation(option):
    """Mean and variance of 50,000 rewards within five standard errors: σ / √n and σ² √(2 / n)."""
    problem = monmdp.make(Grid(["C"], **{option: 0.5}), "Full")
    env = MonitoredVectorEnv(problem, 50_000, "SAME_STEP")
    env.reset(seed=3)
    actions = {"env": np.full(50_000, 4), "monitor": np.zeros(50_000, int)}  # STAY on the coin
    reward = env.step(actions)[1]
    n = len(reward)
    assert abs(reward.mean() - 1.0) < 5 * 0.5 / np.sqrt(n)
    assert abs(reward.var() - 0.25) < 5 * 0.25 * np.sqrt(2 / n)
    within = np.mean(np.abs(reward - 1.0) < 0.5)
    assert abs(within - 0.682689) < bound(n, 1), "about 68 in 100 lie within one standard deviation"


def test_nonzero_reward_noise_does_not_change_zeros():
    env = MonitoredEnv(monmdp.make(Grid(["C"], nonzero_reward_noise=0.5), "Full"))
    env.reset(seed=0)
    assert env.step({"env": 0, "monitor": 0})[1] == 0.0
    assert env.step({"env": 4, "monitor": 0})[1] != 1.0


@pytest.mark.parametrize(("environment", "monitor"), [("RiverSwim", "Button"), ("Taxi-v4", "Full")])
def test_starts_follow_the_start_distribution(environment, monitor):
    problem = monmdp.make(environment, monitor)
    env = MonitoredVectorEnv(problem, 50_000)
    observation, _ = env.reset(seed=1)
    frequency = np.bincount(joint(problem, observation), minlength=problem.n_states) / env.num_envs
    assert np.all(frequency[problem.start == 0] == 0)
    assert np.abs(frequency - problem.start).max() < bound(env.num_envs, problem.n_states)


def test_successive_episodes_start_independently():
    """Starts of later episodes of one game, not only first starts of many games."""
    env = gymnasium.make("monmdp/RiverSwim-v0")
    env.reset(seed=0)
    starts = np.array([env.reset()[0]["env"] for _ in range(4_000)])
    assert set(starts) == {1, 2}
    assert abs(np.mean(starts == 1) - 0.5) < bound(4_000, 2)
    assert abs(np.mean(starts[1:] == starts[:-1]) - 0.5) < bound(1_999, 2)
