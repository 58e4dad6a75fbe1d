"""Optimal values against independent methods: linear programming and policy iteration on dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from dense import linear_program, policy_iteration
from hypothesis import given, settings
from hypothesis import strategies as st

import monmdp
from monmdp import Monitor, Outcome, Rule, Step

PROBLEMS = [
    ("Empty", "Ask"),
    ("Loop", "Button"),
    ("Hazard", "Experts"),
    ("OneWay", "Level"),
    ("Corridor", "Switch"),
    ("TwoRoom2x11", "Random"),
    ("TwoRoom3x5", "Battery(n=3)"),
    ("RiverSwim", "Button"),
    ("RiverSwim", "PaidExperts"),
    ("Hazard(random_action=0.25)", "Level"),
    ("DangerMaze(random_action=0.1)", "LimitedTime"),
    ("Bottleneck", "RandomPair"),
    ("FrozenLake-v1", "Ask"),
    ("CliffWalking-v1(is_slippery=True)", "Experts(n=2)"),
]


@pytest.mark.parametrize(("environment", "monitor"), PROBLEMS)
def test_agrees_with_policy_iteration(environment, monitor):
    problem = monmdp.make(environment, monitor)
    assert np.abs(monmdp.solve(problem).q - policy_iteration(problem)).max() < 1e-9


@pytest.mark.parametrize(("environment", "monitor"), PROBLEMS)
def test_agrees_with_linear_programming(environment, monitor):
    problem = monmdp.make(environment, monitor)
    assert np.abs(monmdp.solve(problem).v - linear_program(problem)).max() < 1e-9


def test_agrees_with_policy_iteration_in_the_largest_table():
    problem = monmdp.make("Taxi-v4", "Full")
    assert np.abs(monmdp.solve(problem).q - policy_iteration(problem)).max() < 1e-9


class Dice(Monitor):
    """Moves, charges and ends at random."""

    states = ("low", "high")
    actions = ("wait", "look")

    def outcomes(self, moment):
        rng = np.random.default_rng([moment.env_pair, moment.state == "low", moment.action == "look"])
        low, ends = rng.dirichlet((1, 1)), rng.random(2) < 0.1
        for state, chance, end in zip(self.states, low, ends, strict=True):
            yield Outcome(float(rng.normal()), float(rng.random()), state, float(chance), bool(end))


def random_rule(seed: int, n_states: int, n_actions: int, scale: float, ending: float = 0.1) -> Rule:
    """Random transitions, rewards of a random size, and ends with the given probability."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(n_states, 0.3), (n_states, n_actions))
    chances /= chances.sum(2, keepdims=True)
    rewards = scale * rng.normal(size=chances.shape)
    ends = rng.random(chances.shape) < ending
    names = tuple(f"a{i}" for i in range(n_actions))

    def rule(state, action):
        a = names.index(action)
        return [
            Step(after, float(rewards[state, a, after]), float(chances[state, a, after]), bool(ends[state, a, after]))
            for after in range(n_states)
        ]

    return Rule(states=range(n_states), actions=names, rule=rule, step_limit=30)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_states=st.integers(1, 8),
    n_actions=st.integers(1, 4),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    discount=st.sampled_from([0.0, 0.5, 0.9, 0.99]),
)
def test_agrees_with_policy_iteration_on_random_problems(seed, n_states, n_actions, scale, discount):
    """Relative to the size of the values, which grows with the rewards."""
    problem = monmdp.make(random_rule(seed, n_states, n_actions, scale), Dice(), discount=discount)
    expected = policy_iteration(problem)
    assert np.abs(monmdp.solve(problem).q - expected).max() < 1e-10 * max(1.0, np.abs(expected).max())
