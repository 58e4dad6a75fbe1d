"""Stepping a MonMDP in plain Python: the specification of the compiled step, for single environments and learners."""

from typing import NamedTuple

import numpy as np

from monmdp.problem import MonMDP
from monmdp.rng import normal, stream, uniform

#: The random streams of a simulation.
STREAMS = ("start", "world", "observe", "noise")


class Outcome(NamedTuple):
    """The outcome of one step; env_reward is the true reward, observed or not."""

    next_state: int
    env_reward: float
    monitor_reward: float
    observed: bool
    terminated: bool
    truncated: bool


class Simulation:
    """A problem in progress: its joint state, the steps of the running episode, and the random streams of a seed."""

    def __init__(self, problem: MonMDP, seed: int) -> None:
        self.problem, self.n_states, self.n_actions = problem, problem.n_states, problem.n_actions
        self._keys = {role: stream(seed, role) for role in STREAMS}
        self._clock = self._episode = 0
        self.restart()

    def restart(self) -> None:
        """Begin a new episode."""
        draw = uniform(self._keys["start"], self._episode)
        choice = np.searchsorted(self.problem.start_cumulative, draw, side="right")
        self.state, self.elapsed = int(self.problem.start_states[choice]), 0
        self._episode += 1

    def step(self, action: int) -> Outcome:
        """Take a joint action; the caller restarts after the end of an episode."""
        arrays, clock = self.problem.dynamics, self._clock
        outcome = int(arrays.offsets[self.state * self.problem.n_actions + action])
        draw = uniform(self._keys["world"], clock)
        while draw >= arrays.cumulative[outcome]:
            outcome += 1
        env_reward = float(arrays.env_reward[outcome])
        if arrays.reward_noise[outcome] > 0:
            env_reward += float(arrays.reward_noise[outcome]) * normal(self._keys["noise"], clock)
        self.state = int(arrays.next_state[outcome])
        self._clock += 1
        self.elapsed += 1
        terminated = bool(arrays.terminated[outcome])
        return Outcome(
            next_state=self.state,
            env_reward=env_reward,
            monitor_reward=float(arrays.monitor_reward[outcome]),
            observed=bool(uniform(self._keys["observe"], clock) < arrays.observe_probability[outcome]),
            terminated=terminated,
            truncated=self.elapsed == self.problem.step_limit and not terminated,
        )
