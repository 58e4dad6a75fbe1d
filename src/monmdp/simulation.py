"""Stepping a MonMDP in plain Python: the specification of the compiled step, for single environments and learners.

`MonitorSimulation` steps the monitor alone, with the same draws, beside an environment that is not a table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from monmdp import check, monitors
from monmdp.environments import Environment, Rule, Step
from monmdp.errors import MonMDPError
from monmdp.join import join
from monmdp.problem import MonMDP
from monmdp.rng import normal, stream, uniform

#: The random streams of a simulation.
STREAMS = ("start", "world", "observe", "noise")
#: A monitor with more outcomes is not listed; each outcome takes about 3 µs.
MOST_LISTED = 100_000


class Outcome(NamedTuple):
    """The outcome of one step; env_reward is the true reward, observed or not."""

    next_state: int
    env_reward: float
    monitor_reward: float
    observed: bool
    terminated: bool
    truncated: bool


class Simulation:
    """A problem in progress: its joint state, steps in the episode and in all (clock), random streams of a seed."""

    def __init__(self, problem: MonMDP, seed: int) -> None:
        self.problem, self.n_states, self.n_actions = problem, problem.n_states, problem.n_actions
        self._keys = {role: stream(seed, role) for role in STREAMS}
        self.clock = self._episode = 0
        self.restart()

    def restart(self) -> None:
        """Begin a new episode."""
        draw = uniform(self._keys["start"], self._episode)
        choice = np.searchsorted(self.problem.start_cumulative, draw, side="right")
        self.state, self.elapsed = int(self.problem.start_states[choice]), 0
        self._episode += 1

    def step(self, action: int) -> Outcome:
        """Take a joint action; the caller restarts after the end of an episode."""
        arrays, clock = self.problem.dynamics, self.clock
        outcome = int(arrays.offsets[self.state * self.problem.n_actions + action])
        draw = uniform(self._keys["world"], clock)
        while draw >= arrays.cumulative[outcome]:
            outcome += 1
        env_reward = float(arrays.env_reward[outcome])
        if arrays.reward_noise[outcome] > 0:
            env_reward += float(arrays.reward_noise[outcome]) * normal(self._keys["noise"], clock)
        self.state = int(arrays.next_state[outcome])
        self.clock += 1
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


class MonitorSimulation:
    """A monitor in progress beside any environment: its state, as an index, steps so far, random streams of a seed.

    Where the environment's part of a step is deterministic, the draws select the same outcomes as in `Simulation`.
    """

    def __init__(self, monitor: monitors.Monitor, environment: Environment) -> None:
        with check.user_code(monitor):
            self.name = monitor.name
            self.states = check.labels(monitor.states, "state", self.name)
            self.actions = check.labels(monitor.actions, "action", self.name)
            chances = check.start_probabilities(monitor.start, self.states, self.name)
            installed = monitor.installed(environment)
            check.instance(installed, monitors.Monitor, f"installed of {self.name} must return a monitor")
        self._outcomes, self._observability = installed.outcomes, monitor.observability
        self._start = [(chance, state) for state, chance in enumerate(chances)]
        self._index = {state: i for i, state in enumerate(self.states)}
        self.state = 0

    def seed(self, seed: int) -> None:
        """Restart the random streams."""
        self._keys = {role: stream(seed, role) for role in STREAMS}
        self.clock = self._episode = 0

    def restart(self) -> None:
        """Begin a new episode."""
        self.state = _select(self._start, uniform(self._keys["start"], self._episode))[1]
        self._episode += 1

    def step(self, action: int, *moment: Any, visible: bool = True) -> tuple[float, bool, bool]:
        """Monitor reward, whether the reward is observed, and whether the monitor ends the episode.

        moment: the environment's step, the fields of `Moment` after the monitor's state and action.
        """
        here, choice = self.states[self.state], self.actions[action]
        where = f"{self.name} in state {here!r} for action {choice!r}"
        produce = partial(self._outcomes, monitors.Moment(here, choice, *moment))
        rows = check.outcomes(produce, monitors.Outcome, where, self._index, here)
        row = rows[0] if len(rows) == 1 else _select(rows, uniform(self._keys["world"], self.clock))
        _, self.state, reward, terminated, observed = row
        chance = observed * self._observability if visible else 0.0
        shown = chance >= 1.0 or (chance > 0.0 and uniform(self._keys["observe"], self.clock) < chance)
        self.clock += 1
        return reward, shown, terminated

    def alone(self) -> MonMDP | None:
        """The monitor as a problem: joint states and actions are its own, and draws select the same outcomes.

        None if its outcomes depend on the environment, or are too many.
        """
        here = Rule(states=(0,), actions=("any",), rule=lambda state, action: [Step(0)])
        start = {self.states[state]: chance for chance, state in self._start}
        listed = Listed(self.states, self.actions, start, self._outcomes, observability=self._observability)
        n_pairs = len(self.states) * len(self.actions)
        try:
            if n_pairs > MOST_LISTED or n_pairs * len(listed.of(self.states[0], self.actions[0])) > MOST_LISTED:
                return None
            return join(here, listed)
        except Exception:  # those of a user's code are raised when the step happens
            return None


class Unseen(monitors.Moment):
    """A moment of which only state and action can be read; `read` says whether anything else was attempted."""

    read = False

    def _refuse(self, *_: Any) -> Any:
        """Not for monitors that run without an environment."""
        self.read = True
        raise MonMDPError("The outcomes depend on the environment.")

    env_state = env_action = env_reward = env_terminated = env_pair = at = property(_refuse)


for _name in set(vars(tuple)) - {"__new__", "__len__", "__getattribute__", "__class_getitem__", "__doc__"}:
    setattr(Unseen, _name, Unseen._refuse)


@dataclass(frozen=True)
class Listed(monitors.Monitor):
    """A monitor by its parts, without an environment."""

    states: Any = ()
    actions: Any = ()
    start: Any = None
    function: Any = None

    def of(self, state: Any, action: Any) -> list[monitors.Outcome]:
        """The outcomes in a state for an action, if they do not depend on the environment."""
        moment = Unseen(state, action, None, None, 0.0, False, None)
        outcomes = list(islice(self.function(moment), MOST_LISTED))
        if moment.read:
            moment._refuse()
        return outcomes

    def outcomes(self, moment: monitors.Moment) -> Iterable[monitors.Outcome]:
        return self.of(moment.state, moment.action)


def _select(rows: Iterable[tuple[Any, ...]], draw: float) -> tuple[Any, ...]:
    """The row that a draw selects by the rows' first numbers, their probabilities; the last one gets what is left."""
    possible = [row for row in rows if row[0] > 0]
    total = 0.0
    for row in possible:
        total += row[0]
        if draw < total:
            return row
    return possible[-1]
