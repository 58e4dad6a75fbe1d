"""Exact returns of arbitrary policies, against dense recursions and against played games."""

from __future__ import annotations

import numpy as np
import pytest
from dense import backward_return, matrices

import monmdp
from monmdp import Grid, MonitoredVectorEnv, MonMDPError

PROBLEMS = [
    ("Hazard", "Button"),
    ("RiverSwim", "Experts"),
    ("Loop(step_limit=7)", "Level"),
    ("Cliff(random_action=0.2)", "Switch"),
    ("TwoRoom3x5", "Battery(n=2)"),
    ("Empty(step_limit=1)", "Ask"),
    ("FrozenLake-v1", "LimitedTime"),
]


def random_policy(problem: monmdp.MonMDP, seed: int = 0) -> np.ndarray:
    policy = np.random.default_rng(seed).dirichlet(np.full(problem.n_actions, 0.2), problem.n_states)
    return policy / policy.sum(1, keepdims=True)


@pytest.mark.parametrize(("environment", "monitor"), PROBLEMS)
def test_agrees_with_a_backward_recursion(environment, monitor):
    problem = monmdp.make(environment, monitor)
    for policy in (random_policy(problem), np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)):
        expected = backward_return(problem, policy, problem.step_limit)
        assert monmdp.policy_return(problem, policy) == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize(
    ("environment", "monitor"), [("RiverSwim(step_limit=None)", "Button"), ("CliffWalking-v1", "Ask")]
)
def test_agrees_with_linear_equations_without_a_step_limit(environment, monitor):
    problem = monmdp.make(environment, monitor)
    policy = random_policy(problem)
    transition, reward = matrices(problem)
    onward = np.einsum("sa,sat->st", policy, transition)
    values = np.linalg.solve(np.eye(problem.n_states) - problem.discount * onward, (policy * reward).sum(1))
    assert monmdp.policy_return(problem, policy) == pytest.approx(problem.start @ values, rel=1e-11)


@pytest.mark.parametrize(
    ("environment", "monitor"), [("Hazard", "Button"), ("RiverSwim", "Experts"), ("Walk(reward_noise=0.5)", "Level")]
)
def test_agrees_with_simulation(environment, monitor):
    """The mean return of 20,000 games lies within five standard errors."""
    problem = monmdp.make(environment, monitor)
    policy = random_policy(problem, seed=1)
    games = 20_000
    env = MonitoredVectorEnv(problem, games)
    rng = np.random.default_rng(2)
    observation, _ = env.reset(seed=3)
    total, weight, alive = np.zeros(games), 1.0, np.ones(games, bool)
    for _ in range(problem.step_limit):
        state = observation["env"] * len(problem.monitor.states) + observation["monitor"]
        action = (rng.random((games, 1)) > policy.cumsum(1)[state]).sum(1).clip(max=problem.n_actions - 1)
        env_action, monitor_action = np.divmod(action, len(problem.monitor.actions))
        observation, _, terminated, _, info = env.step({"env": env_action, "monitor": monitor_action})
        if not alive.any():
            break
        total += weight * alive * (info["env_reward"] + info["monitor_reward"])
        alive &= ~terminated
        weight *= problem.discount
    error = total.std() / np.sqrt(games)
    assert error > 0
    assert abs(total.mean() - monmdp.policy_return(problem, policy)) < 5 * error


def test_ties_by_hand():
    """`.c` / `C.`: at the start, DOWN and RIGHT share: half of the time the large coin, half the small one."""
    problem = monmdp.make(Grid([".c", "C."]))
    q = np.zeros((4, 5))
    q[0, [1, 2]] = 1.0
    q[[1, 2], 4] = 1.0
    assert monmdp.policy_return(problem, monmdp.greedy_policy(q)) == pytest.approx(0.99 * (0.5 * 1.0 + 0.5 * 0.1))


def test_another_reward():
    """With a reward of one for every step, a game of 50 steps returns a geometric sum."""
    problem = monmdp.make("RiverSwim(step_limit=50)", "Experts")
    policy = random_policy(problem)
    value = monmdp.policy_return(problem, policy, np.ones(problem.n_outcomes))
    assert value == pytest.approx((1 - 0.99**50) / (1 - 0.99))


def test_no_policy_beats_the_optimal_one_without_a_limit():
    problem = monmdp.make("Hazard(step_limit=None)", "Experts")
    best = monmdp.solve(problem)
    assert best.optimal_return == pytest.approx(float(problem.start @ best.v), abs=1e-10)
    for seed in range(20):
        assert monmdp.policy_return(problem, random_policy(problem, seed)) <= best.optimal_return + 1e-10


def broken(change) -> np.ndarray:
    policy = np.full((9, 5), 0.2)
    return change(policy)


@pytest.mark.parametrize(
    "change",
    [
        lambda policy: policy[:-1],
        lambda policy: policy[:, :-1],
        lambda policy: policy.ravel(),
        lambda policy: policy * 0.9,
        lambda policy: policy * (1 + 5e-6),
        lambda policy: policy * np.nan,
        lambda policy: policy + np.array([-0.3, 0.3, 0, 0, 0]),
    ],
    ids=["a state short", "an action short", "flat", "sums to 0.9", "sums to 1.000005", "nan", "negative"],
)
def test_invalid_policies_are_rejected(change):
    with pytest.raises(MonMDPError, match="policy"):
        monmdp.policy_return(monmdp.make("Loop"), broken(change))


@pytest.mark.parametrize("reward", [np.ones(44), np.ones((45, 1))], ids=["short", "two-dimensional"])
def test_a_reward_of_another_shape_is_rejected(reward):
    """Loop has 45 outcomes; compiled code would read past the end."""
    with pytest.raises(MonMDPError, match="reward"):
        monmdp.policy_return(monmdp.make("Loop"), np.full((9, 5), 0.2), reward)
