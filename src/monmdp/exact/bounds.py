"""Bounds on rewards and values that follow from the visible rewards alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monmdp.exact.structure import visible_env_outcomes
from monmdp.problem import MonMDP


class Bounds(NamedTuple):
    """What an agent may know in advance: the smallest visible environment reward and the largest possible return."""

    minimum_reward: float
    maximum_value: float


def visible_bounds(problem: MonMDP) -> Bounds:
    """Bounds from rewards that can be observed, the discount and the step limit; hidden rewards do not count.

    With r the largest visible reward of a step that continues, e of one that ends the episode, and H the step limit,
    no return exceeds the largest of e, r (1 − γ^(H−1)) / (1 − γ) + γ^(H−1) e and r (1 − γ^H) / (1 − γ).
    """
    visible = visible_env_outcomes(problem)
    minimum = float(problem.environment.reward[visible].min()) if visible.any() else 0.0
    counted = visible[problem.monitor.env_outcome] & problem.reachable_pairs[problem.pair_of_outcome]
    continuing, ending = counted & ~problem.terminated, counted & problem.terminated
    r, e = (float(problem.reward[chosen].max(initial=-np.inf)) for chosen in (continuing, ending))
    horizon = np.inf if problem.step_limit is None else float(problem.step_limit)
    before_last, last = annuity(problem.discount, horizon - 1), problem.discount ** (horizon - 1)
    candidates = [e, r * before_last + last * e, r * annuity(problem.discount, horizon)]
    return Bounds(minimum, max(filter(np.isfinite, candidates), default=0.0))  # infinite or NaN: no such reward


def annuity(discount: float, steps: float) -> float:
    """1 + γ + … + γ^(steps − 1)."""
    return float((1.0 - discount**steps) / (1.0 - discount))
