"""The baselines of the paper that introduced Mon-MDPs, written to be read next to their equations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from monmdp.problem import Floats, MonMDP
from reference.base import PlainQLearner


class PlainIgnore(PlainQLearner):
    """Learns from shown rewards only; the reward model just keeps what was seen."""

    def __init__(self, options: Any, problem: MonMDP, steps: int, seed: int) -> None:
        super().__init__(options, problem, steps, seed)
        self.reward_model[:] = np.nan

    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool,
        proxy_reward: float, monitor_reward: float, step: int,
    ) -> None:  # fmt: skip
        """Q(s,a) += α (rE + rM + γ max Q(s′,·) − Q(s,a)), where rE is shown."""
        self.learn_reward(env_pair, proxy_reward)
        if not math.isnan(proxy_reward):
            self.learn_q(state, action, next_state, terminated, proxy_reward + monitor_reward, step)


class PlainOracle(PlainIgnore):
    """To whom everything is shown, by the loop."""


class PlainZeroReward(PlainIgnore):
    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool,
        proxy_reward: float, monitor_reward: float, step: int,
    ) -> None:  # fmt: skip
        """Q(s,a) += α (rE + rM + γ max Q(s′,·) − Q(s,a)), with rE = 0 where it is not shown."""
        self.learn_reward(env_pair, proxy_reward)
        shown = 0.0 if math.isnan(proxy_reward) else proxy_reward
        self.learn_q(state, action, next_state, terminated, shown + monitor_reward, step)


class PlainJoint(PlainIgnore):
    """QE [SE, AE] and QM [S, A]; greedy on their sum."""

    def __init__(self, options: Any, problem: MonMDP, steps: int, seed: int) -> None:
        super().__init__(options, problem, steps, seed)
        table = problem.environment
        self.env_q = np.full((len(table.states), len(table.actions)), float(options.initial_q))
        self.monitor_q = self.q.copy()
        self.plan(0)

    def plan(self, step: int) -> None:
        """q is what the greedy choice maximises, in every state."""
        self.q = np.array([self.preferences(state) for state in range(self.problem.n_states)])

    def split(self, state: int) -> tuple[Floats, Floats]:
        """QE(sE,·) [AE, 1] and QM(s,·) [AE, AM]."""
        env_values = self.env_q[self.problem.split_state(state)[0]][:, None]
        return env_values, self.monitor_q[state].reshape(len(env_values), -1)

    def preferences(self, state: int) -> np.ndarray:
        """QE(sE,aE) + QM(s,a)"""
        env_values, monitor_values = self.split(state)
        return (env_values + monitor_values).ravel()

    def monitor_value(self, state: int) -> float:
        """max QM(s,·)"""
        return float(self.monitor_q[state].max())

    def update(
        self, state: int, action: int, env_pair: int, next_state: int, terminated: bool,
        proxy_reward: float, monitor_reward: float, step: int,
    ) -> None:  # fmt: skip
        """QE(sE,aE) += α (rE + γ max QE(sE′,·) − QE(sE,aE)), where rE is shown; QM(s,a) likewise with rM, always."""
        self.learn_reward(env_pair, proxy_reward)
        env_place = divmod(env_pair, self.env_q.shape[1])
        if not math.isnan(proxy_reward):
            ahead = self.env_q[self.problem.split_state(next_state)[0]].max()
            target = proxy_reward if terminated else proxy_reward + self.discount * ahead
            self.env_q[env_place] += self.alpha[step] * (target - self.env_q[env_place])
        target = monitor_reward if terminated else monitor_reward + self.discount * self.monitor_value(next_state)
        self.monitor_q[state, action] += self.alpha[step] * (target - self.monitor_q[state, action])


class PlainSequential(PlainJoint):
    """The environment action by QE, then the monitor action by QM."""

    def preferences(self, state: int) -> np.ndarray:
        """max QE + max QM there, for the best environment actions with their best monitor actions; else 1 less."""
        env_values, monitor_values = self.split(state)
        chosen = (env_values == env_values.max()) & (monitor_values == monitor_values.max(1, keepdims=True))
        value = float(env_values.max()) + self.monitor_value(state)
        return np.where(chosen, value, value - 1.0).ravel()

    def monitor_value(self, state: int) -> float:
        """max QM(s,·) over environment actions that are greedy on QE"""
        env_values, monitor_values = self.split(state)
        return float(monitor_values[(env_values == env_values.max()).ravel()].max())
