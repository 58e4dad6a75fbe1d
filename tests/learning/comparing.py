"""Compares whole runs bit for bit: curves of two trainings, and a compiled run with its plain twin."""

from __future__ import annotations

from typing import Any

import numpy as np
from reference import train_plain

import monmdp
from monmdp.agents import QLearner

#: What is recorded of what an agent knows; and all curves, with those that depend on rewards it never saw.
KNOWN = ("observed", "visited", "beta", "explored", "paid")
CURVES = ("returns", "collected", *KNOWN)
TABLES = ("visit_counts", "q", "reward_model")
#: Agents that learn Q step by step, with a learning rate, random actions and a first value.
Q_LEARNERS = [name for name in monmdp.AGENTS if issubclass(monmdp.AGENTS.find(name), QLearner)]
#: Agents that may learn from what the monitor shows, and from nothing else.
DISCREET = [name for name in monmdp.AGENTS if not monmdp.AGENTS.find(name).sees_everything]


def same(left: Any, right: Any) -> bool:
    """Equal to the last bit, NaN equal to NaN."""
    return np.array_equal(left, right, equal_nan=True)


def run(curves: monmdp.Curves, seed: int) -> dict[str, np.ndarray]:
    """Everything one seed left behind, by name."""
    index = curves.seeds.index(seed)
    return {name: getattr(curves, name)[index] for name in (*CURVES, *TABLES)}


def differences(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> list[str]:
    """The names of what differs between two runs."""
    return [name for name in one if not same(one[name], other[name])]


def assert_twins(problem: monmdp.MonMDP, agent: Any, steps: int, seed: int = 3, points: int = 7) -> dict[str, Any]:
    """Train compiled and plain; all that is recorded must be equal number for number. Returns the compiled run."""
    compiled = run(monmdp.train(problem, agent, [seed], steps=steps, points=points), seed)
    record, learner = train_plain(problem, agent, seed, steps, points)
    unreachable = ~problem.reachable
    plain = {name: getattr(record, name) for name in CURVES}
    plain |= {"visit_counts": learner.visits, "q": learner.q.copy(), "reward_model": learner.reward_model}
    plain["q"][unreachable] = np.nan
    assert differences(compiled, plain) == []
    assert compiled["visit_counts"].sum() == steps
    return compiled


def greedy_return(problem: monmdp.MonMDP, q: np.ndarray) -> float:
    """What the policy greedy on q earns, exact ties shared, by the solver's own method."""
    return monmdp.policy_return(problem, monmdp.greedy_policy(np.nan_to_num(q), tie=0.0))
