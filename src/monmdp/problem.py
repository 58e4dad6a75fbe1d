"""A Mon-MDP as data: the environment's table, the monitor's table, and the joint arrays that follow.

Joint indices: state = environment state * monitor states + monitor state, action likewise,
pair = state * actions + action. Outcomes of pair i stand at offsets[i] … offsets[i + 1] - 1, the
environment's outcomes in their own order and under each of them the monitor's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from monmdp import check
from monmdp.errors import MonMDPError, nearest

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[Any]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Layout:
    """Where states lie in a picture: rows of tile characters and, for each state, its (row, column)."""

    tiles: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]

    @property
    def rows(self) -> int:
        """How many rows of tiles."""
        return len(self.tiles)

    @property
    def columns(self) -> int:
        """How many tiles a row."""
        return len(self.tiles[0])


@dataclass(frozen=True, eq=False)
class EnvironmentTable:
    """The environment's factor: outcomes of every environment pair, flat arrays over outcomes."""

    name: str
    states: tuple[Hashable, ...]
    actions: tuple[str, ...]
    offsets: Integers
    probability: Floats
    next_state: Integers
    reward: Floats
    reward_noise: Floats
    terminated: Booleans
    start: Floats
    step_limit: int | None
    layout: Layout | None

    def state_label(self, state: int) -> str:
        """A state, by index, as text."""
        return str(self.states[state])


@dataclass(frozen=True, eq=False)
class MonitorTable:
    """The monitor's factor: for every joint pair and environment outcome, what the monitor may do.

    Flat arrays over joint outcomes; `probability` is conditional on `env_outcome`, an index into the
    environment's table. `landmarks` are environment states that a picture should mark, such as a button's.
    """

    name: str
    states: tuple[Hashable, ...]
    actions: tuple[Hashable, ...]
    offsets: Integers
    env_outcome: Integers
    probability: Floats
    next_state: Integers
    reward: Floats
    observe_probability: Floats
    terminated: Booleans
    start: Floats
    landmarks: Mapping[int, str]


class Dynamics(NamedTuple):
    """The joint arrays that stepping needs, as kernels take them; flat over outcomes."""

    offsets: Integers
    cumulative: Floats
    next_state: Integers
    env_reward: Floats
    reward_noise: Floats
    monitor_reward: Floats
    observe_probability: Floats
    terminated: Booleans


@dataclass(frozen=True, eq=False)
class MonMDP:
    """One struct of arrays that everything else reads: learning, solving, playing, drawing."""

    environment: EnvironmentTable
    monitor: MonitorTable
    discount: float = 0.99

    @property
    def name(self) -> str:
        """Environment and monitor with their options, such as `Empty + Ask(cost=0.5)`."""
        return f"{self.environment.name} + {self.monitor.name}"

    @property
    def step_limit(self) -> int | None:
        """Steps until an episode restarts, None for never."""
        return self.environment.step_limit

    @cached_property
    def n_states(self) -> int:
        """Joint states, S."""
        return len(self.environment.states) * len(self.monitor.states)

    @cached_property
    def n_actions(self) -> int:
        """Joint actions, A."""
        return len(self.environment.actions) * len(self.monitor.actions)

    @property
    def n_pairs(self) -> int:
        """Joint pairs, S * A."""
        return self.n_states * self.n_actions

    @property
    def n_outcomes(self) -> int:
        """Outcomes of all joint pairs together."""
        return len(self.monitor.probability)

    @property
    def offsets(self) -> Integers:
        """Where the outcomes of each joint pair begin, and where the last ends, [S * A + 1]."""
        return self.monitor.offsets

    @cached_property
    def probability(self) -> Floats:
        """Joint probability of each outcome given its pair."""
        return self.environment.probability[self.monitor.env_outcome] * self.monitor.probability

    @cached_property
    def next_state(self) -> Integers:
        """Joint next state of each outcome."""
        env_next = self.environment.next_state[self.monitor.env_outcome]
        return (env_next * len(self.monitor.states) + self.monitor.next_state).astype(np.int32)

    @cached_property
    def env_reward(self) -> Floats:
        """Mean environment reward of each outcome, seen or not."""
        return self.environment.reward[self.monitor.env_outcome]

    @cached_property
    def reward_noise(self) -> Floats:
        """Standard deviation of the environment reward of each outcome."""
        return self.environment.reward_noise[self.monitor.env_outcome]

    @cached_property
    def reward(self) -> Floats:
        """What the agent must maximise: environment plus monitor reward of each outcome, in expectation."""
        return self.env_reward + self.monitor.reward

    @cached_property
    def terminated(self) -> Booleans:
        """Whether each outcome ends the episode, by the environment's doing or the monitor's."""
        return self.environment.terminated[self.monitor.env_outcome] | self.monitor.terminated

    @cached_property
    def start(self) -> Floats:
        """Start distribution over joint states, [S]."""
        return np.outer(self.environment.start, self.monitor.start).ravel()

    @cached_property
    def pair_of_outcome(self) -> Integers:
        """The joint pair that each outcome belongs to."""
        return np.repeat(np.arange(self.n_pairs), np.diff(self.offsets))

    @cached_property
    def env_pair(self) -> Integers:
        """The environment pair that each joint pair belongs to, [S * A]."""
        state, action = np.divmod(np.arange(self.n_pairs), self.n_actions)
        env_state, env_action = state // len(self.monitor.states), action // len(self.monitor.actions)
        pair: Integers = env_state * len(self.environment.actions) + env_action
        return pair.astype(np.int32)

    @cached_property
    def dynamics(self) -> Dynamics:
        """What stepping needs. The last cumulative value of a pair is infinite, so a draw always lands."""
        cumulative = self.probability.copy()
        first, last = self.offsets[:-1], self.offsets[1:] - 1
        for place in range(1, int(np.diff(self.offsets).max())):
            here = (first + place)[first + place <= last]
            cumulative[here] += cumulative[here - 1]
        cumulative[last] = np.inf
        return Dynamics(
            self.offsets,
            cumulative,
            self.next_state,
            self.env_reward,
            self.reward_noise,
            self.monitor.reward,
            self.monitor.observe_probability,
            self.terminated,
        )

    @cached_property
    def reachable(self) -> Booleans:
        """Joint states in which the agent can ever act, [S]; episodes end at the step limit."""
        from monmdp.exact.structure import reachable_states

        return reachable_states(self)

    @cached_property
    def reachable_pairs(self) -> Booleans:
        """Joint pairs that can ever be visited, [S * A]; only these can be goals."""
        return np.repeat(self.reachable, self.n_actions)

    @cached_property
    def digest(self) -> str:
        """A hash that is equal for equal problems on every machine; names and labels do not count."""
        sha = hashlib.sha256(b"monmdp problem 1")
        for table in (self.environment, self.monitor):
            for field in table.__dataclass_fields__:
                value = getattr(table, field)
                if isinstance(value, np.ndarray):
                    little_endian = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
                    sha.update(f"{field} {little_endian.dtype.str} {value.shape}".encode())
                    sha.update(little_endian.tobytes())
            sha.update(f"{len(table.states)} {len(table.actions)}".encode())
        sha.update(f"{self.step_limit} {float(self.discount).hex()}".encode())
        return sha.hexdigest()

    def split_state(self, state: int) -> tuple[int, int]:
        """Joint state → (environment state, monitor state), all as indices."""
        env_state, monitor_state = divmod(int(state), len(self.monitor.states))
        return env_state, monitor_state

    def split_action(self, action: int) -> tuple[int, int]:
        """Joint action → (environment action, monitor action), all as indices."""
        env_action, monitor_action = divmod(int(action), len(self.monitor.actions))
        return env_action, monitor_action

    def state_index(self, env_state: Hashable, monitor_state: Hashable = None) -> int:
        """Joint state from labels; the monitor's may be left out where it has a single state."""
        env = find(env_state, self.environment.states, "state", self.environment.name)
        if monitor_state is None and len(self.monitor.states) > 1:
            raise MonMDPError(f"{self.monitor.name} has several states; name one of {list(self.monitor.states)}.")
        mon = 0 if monitor_state is None else find(monitor_state, self.monitor.states, "state", self.monitor.name)
        return env * len(self.monitor.states) + mon

    def action_index(self, env_action: Hashable, monitor_action: Hashable = None) -> int:
        """Joint action from labels; the monitor's may be left out where it has a single action."""
        env = find(env_action, self.environment.actions, "action", self.environment.name)
        if monitor_action is None and len(self.monitor.actions) > 1:
            raise MonMDPError(f"{self.monitor.name} has several actions; name one of {list(self.monitor.actions)}.")
        mon = 0 if monitor_action is None else find(monitor_action, self.monitor.actions, "action", self.monitor.name)
        return env * len(self.monitor.actions) + mon

    def state_label(self, state: int) -> str:
        """A joint state, by index, as text."""
        env_state, monitor_state = self.split_state(state)
        return _joined(self.environment.state_label(env_state), self.monitor.states, monitor_state)

    def action_label(self, action: int) -> str:
        """A joint action, by index, as text."""
        env_action, monitor_action = self.split_action(action)
        return _joined(str(self.environment.actions[env_action]), self.monitor.actions, monitor_action)

    def explain(self, state: Any, action: Any) -> str:
        """The outcomes of an action in words; state and action as indices, labels or pairs of labels."""
        from monmdp.explain import explain

        return explain(self, state, action)

    def validate(self) -> None:
        """Complain in one sentence about the first thing that is wrong with the arrays."""
        validate(self)

    def __repr__(self) -> str:
        limit = "no step limit" if self.step_limit is None else f"step limit {self.step_limit}"
        return (
            f"MonMDP({self.name}: {self.n_states} states × {self.n_actions} actions, "
            f"{self.n_outcomes} outcomes, {limit}, discount {self.discount})"
        )


def find(label: Hashable, labels: Sequence[Hashable], what: str, owner: str) -> int:
    """The index of a label; an index itself or, for text, any case will do."""
    if label in labels:
        return labels.index(label)
    if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(labels):
        return label
    texts = [str(known) for known in labels]
    for index, text in enumerate(texts):
        if text.casefold() == str(label).casefold():
            return index
    raise MonMDPError(f"{owner} has no {what} {label!r}. {nearest(str(label), texts)}")


def _joined(env_label: str, monitor_labels: tuple[Hashable, ...], index: int) -> str:
    return env_label if len(monitor_labels) == 1 else f"{env_label}, {monitor_labels[index]}"


def validate(problem: MonMDP) -> None:
    """Check shapes, index ranges, finite numbers and that every row of probabilities sums to one."""
    environment, monitor = problem.environment, problem.monitor
    check.discount(problem.discount, 0.0, "The discount")
    if problem.step_limit is not None:
        check.whole(problem.step_limit, 1, "The step limit")
    env_pairs = len(environment.states) * len(environment.actions)
    _check_table(environment.name, environment, env_pairs, len(environment.states))
    _check_table(monitor.name, monitor, problem.n_pairs, len(monitor.states))
    if np.any(monitor.env_outcome < 0) or np.any(monitor.env_outcome >= len(environment.probability)):
        raise MonMDPError(f"{monitor.name} refers to an environment outcome that does not exist.")
    pair = problem.env_pair[problem.pair_of_outcome]
    first, last = environment.offsets[pair], environment.offsets[pair + 1]
    if np.any(monitor.env_outcome < first) or np.any(monitor.env_outcome >= last):
        raise MonMDPError(f"{monitor.name} refers to an outcome of another environment pair.")
    if np.any(environment.reward_noise < 0):
        raise MonMDPError(f"{environment.name} has a negative standard deviation of reward noise.")
    if np.any((monitor.observe_probability < 0) | (monitor.observe_probability > 1)):
        raise MonMDPError(f"{monitor.name} has a chance of showing the reward that is not between 0 and 1.")
    row_sums = np.add.reduceat(problem.probability, problem.offsets[:-1])
    worst = int(np.argmax(np.abs(row_sums - 1.0)))
    state, action = divmod(worst, problem.n_actions)
    where = f"action {problem.action_label(action)!r} in state {problem.state_label(state)!r} of {problem.name}"
    check.distribution(row_sums[worst], where)


def _check_table(name: str, table: Any, rows: int, states: int) -> None:
    if len(table.offsets) != rows + 1 or table.offsets[0] != 0 or table.offsets[-1] != len(table.probability):
        raise MonMDPError(f"The offsets of {name} do not fit its {rows} pairs and {len(table.probability)} outcomes.")
    if np.any(np.diff(table.offsets) < 1):
        raise MonMDPError(f"{name} has a pair without any outcome.")
    for field in table.__dataclass_fields__:
        value = getattr(table, field)
        if isinstance(value, np.ndarray) and field not in ("offsets", "start") and len(value) != len(table.probability):
            raise MonMDPError(f"{name} has {len(table.probability)} outcomes, but {len(value)} numbers in '{field}'.")
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and not np.all(np.isfinite(value)):
            raise MonMDPError(f"{name} has a number in '{field}' that is not finite.")
    if np.any(table.probability < 0):
        raise MonMDPError(f"{name} has a negative probability.")
    if np.any(table.next_state < 0) or np.any(table.next_state >= states):
        raise MonMDPError(f"{name} has a next state that is not one of its {states} states.")
    if len(table.start) != states or np.any(table.start < 0):
        raise MonMDPError(f"The start distribution of {name} does not fit its {states} states.")
    check.distribution(float(table.start.sum()), f"the start states of {name}")
