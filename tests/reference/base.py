"""What the plain twins share: draws, greedy choices, and Q-learning with a reward model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from monmdp.problem import Floats, MonMDP
from monmdp.rng import stream, uniform


def per_step(given, steps):
    """A schedule as one number per step: a constant, a line from the first step to the last, or the numbers given."""
    values = np.asarray(given, np.float64)
    if values.ndim == 0:
        return np.full(steps, values)
    if values.shape == (2,) and steps != 2:
        return values[0] + (values[1] - values[0]) * (np.arange(steps) / max(steps - 1, 1))
    return values


class PlainAgent:
    """An agent as the plain loop takes it; options are those of the compiled agent of the same name.

    Subclasses have tables q [S, A], reward_model and reward_counts [environment pairs].
    """

    q: Floats
    reward_model: Floats

    def __init__(self, options: Any, problem: MonMDP, steps: int, seed: int) -> None:
        self.options, self.problem, self.discount = options, problem, problem.discount
        self.n_env_pairs = len(problem.environment.offsets) - 1
        self.visits = np.zeros((problem.n_states, problem.n_actions), np.int64)
        self.reward_counts = np.zeros(self.n_env_pairs, np.int64)
        self.key = stream(seed, "agent")

    def begin(self, state: int, step: int) -> None:
        """An episode begins."""

    def plan(self, step: int) -> None:
        """Q is about to be evaluated."""

    def act(self, state: int, step: int) -> tuple[int, bool]:
        """The action, and whether it was exploration."""
        raise NotImplementedError

    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool,
        proxy_reward: float, monitor_reward: float, step: int,
    ) -> None:  # fmt: skip
        """Learn from one step; proxy_reward is NaN where the reward was not shown."""
        raise NotImplementedError

    def beta(self, step: int) -> float:
        """The explore-exploit ratio, for agents that have one."""
        return math.nan

    def learn_reward(self, env_pair: int, proxy_reward: float) -> None:
        """R̂(sE,aE): the first reward seen, then the running mean."""
        if not math.isnan(proxy_reward):
            self.reward_counts[env_pair] += 1
            if self.reward_counts[env_pair] == 1:
                self.reward_model[env_pair] = proxy_reward
            else:
                error = proxy_reward - self.reward_model[env_pair]
                self.reward_model[env_pair] += error / self.reward_counts[env_pair]

    def random_action(self, step: int) -> int:
        """A uniformly random action, by draw 2 · step + 1."""
        return int(uniform(self.key, 2 * step + 1) * self.problem.n_actions)

    def best_action(self, values: np.ndarray, step: int) -> int:
        """argmax with ties broken uniformly at random."""
        best = np.flatnonzero(values == values.max())
        return int(best[int(uniform(self.key, 2 * step + 1) * len(best))])


class PlainQLearner(PlainAgent):
    """Q-learning with a reward model."""

    def __init__(self, options: Any, problem: MonMDP, steps: int, seed: int) -> None:
        super().__init__(options, problem, steps, seed)
        key = stream(seed, "reward model")
        self.reward_model = np.array([0.2 * uniform(key, pair) - 0.1 for pair in range(self.n_env_pairs)])
        self.q = np.full((problem.n_states, problem.n_actions), float(options.initial_q))
        self.alpha = per_step(options.alpha, steps)
        self.epsilon = per_step(options.epsilon, steps)

    def act(self, state: int, step: int) -> tuple[int, bool]:
        """ε-greedy on `preferences`."""
        if self.wanders(step):
            return self.random_action(step), True
        return self.best_action(self.preferences(state), step), False

    def preferences(self, state: int) -> np.ndarray:
        """What the greedy choice maximises, [A]."""
        values: np.ndarray = self.q[state]
        return values

    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool,
        proxy_reward: float, monitor_reward: float, step: int,
    ) -> None:  # fmt: skip
        """Q(s,a) += α (R̂ + rM + γ max Q(s′,·) − Q(s,a))."""
        self.learn_reward(env_pair, proxy_reward)
        reward = self.reward_model[env_pair] + monitor_reward + self.bonus(state, action)
        self.learn_q(state, action, next_state, terminated, reward, step)

    def learn_q(
        self, state: int, action: int, next_state: int, terminated: bool, reward: float, step: int
    ) -> None:  # fmt: skip
        """Q(s,a) += α (r + γ max Q(s′,·) − Q(s,a))."""
        target = reward if terminated else reward + self.discount * self.q[next_state].max()
        self.q[state, action] += self.alpha[step] * (target - self.q[state, action])

    def bonus(self, state: int, action: int) -> float:
        """An intrinsic reward."""
        return 0.0

    def wanders(self, step: int) -> bool:
        """Whether this step is random, with chance ε, by draw 2 · step."""
        return bool(uniform(self.key, 2 * step) < self.epsilon[step])
