"""The paper's agents beyond plain Q-learning, written to be read next to their equations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from monmdp.problem import Floats, MonMDP
from reference.base import PlainQLearner, per_step


class PlainIntrinsic(PlainQLearner):
    def bonus(self, state: int, action: int) -> float:
        """bonus / √N(s,a)"""
        return float(self.options.bonus / math.sqrt(self.visits[state, action]))


class PlainUCB(PlainQLearner):
    def preferences(self, state: int) -> np.ndarray:
        """Q(s,a) + √(2 log Σ_b N(s,b) / N(s,a))"""
        bounds: np.ndarray = self.q[state] + confidence_bonus([float(count) for count in self.visits[state]])
        return bounds


class PlainQCounts(PlainQLearner):
    def __init__(self, options: Any, problem: MonMDP, steps: int, seed: int) -> None:
        super().__init__(options, problem, steps, seed)
        self.count_values = np.zeros_like(self.q)
        alpha = options.alpha if options.count_alpha is None else options.count_alpha
        self.count_alpha = per_step(alpha, steps)
        self.count_discount = problem.discount if options.count_discount is None else options.count_discount

    def preferences(self, state: int) -> np.ndarray:
        """UCB on n = (1 − γ) C"""
        counts = [(1.0 - self.count_discount) * value for value in self.count_values[state]]
        bounds: np.ndarray = self.q[state] + confidence_bonus(counts)
        return bounds

    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool, *rest: Any
    ) -> None:  # fmt: skip
        """C(s,a) += α (N(s,a) + γ min C(s′,·) − C(s,a))"""
        super().update(state, action, env_pair, next_state, terminated, *rest)
        count, step = self.visits[state, action], rest[-1]
        if terminated:
            target = count / (1.0 - self.count_discount)
        else:
            target = count + self.count_discount * self.count_values[next_state].min()
        self.count_values[state, action] += self.count_alpha[step] * (target - self.count_values[state, action])


def confidence_bonus(counts: list[float]) -> Floats:
    """√(2 log Σ_b n(b) / n(a)) for each action a; infinite where undefined. Summed in order, as loops do."""
    total = 0.0
    for count in counts:
        total += count
    if total <= 0 or math.log(total) < 0:
        return np.full(len(counts), np.inf)
    return np.array([math.sqrt(2.0 * math.log(total) / count) if count > 0 else np.inf for count in counts])


class PlainDirected(PlainQLearner):
    """The paper's Algorithm 1; successor values are single precision, [S, A, goals]."""

    def __init__(self, options: Any, problem: MonMDP, steps: int, seed: int) -> None:
        super().__init__(options, problem, steps, seed)
        self.goals = np.flatnonzero(problem.reachable_pairs)
        shape = (problem.n_states, problem.n_actions, len(self.goals))
        self.successor_values = np.ones(shape, np.float32)
        alpha = options.alpha if options.successor_alpha is None else options.successor_alpha
        self.successor_alpha = per_step(alpha, steps).astype(np.float32)
        discount = problem.discount if options.successor_discount is None else options.successor_discount
        self.successor_discount = np.float32(discount)

    def goal(self) -> int:
        """The position among `goals` of the least visited pair, first in order among equals."""
        return int(self.visits.ravel()[self.goals].argmin())

    def beta(self, step: int) -> float:
        """log(t + 2) / N(goal)"""
        count = self.visits.ravel()[self.goals[self.goal()]]
        return math.inf if count == 0 else math.log(step + 2) / count

    def act(self, state: int, step: int) -> tuple[int, bool]:
        """Toward the goal while β > β̄, else greedy on Q."""
        if not self.beta(step) > self.options.beta_bar:
            return self.best_action(self.q[state], step), False
        if self.wanders(step):
            if self.options.balanced_wandering:
                return self.best_action(-self.visits[state], step), True
            return self.random_action(step), True
        if self.options.random_goal_policy:
            return self.random_action(step), True
        return self.best_action(self.successor_values[state, :, self.goal()], step), True

    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool, *rest: Any
    ) -> None:  # fmt: skip
        """Ŝ_g(s,a) += α (target − Ŝ_g(s,a)) for all goals g."""
        super().update(state, action, env_pair, next_state, terminated, *rest)
        if terminated:
            target = np.zeros(len(self.goals), np.float32)
        else:
            target = self.successor_discount * self.successor_values[next_state].max(0)
        here = self.goals == state * self.problem.n_actions + action
        if self.options.successor_target == "occupancy":
            target[here] += np.float32(1)
        else:
            target[here] = np.float32(1)
        alpha = self.successor_alpha[rest[-1]]
        self.successor_values[state, action] += alpha * (target - self.successor_values[state, action])
