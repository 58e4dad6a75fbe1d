"""A Mon-MDP as data: the environment's table, the monitor's table, and the joint arrays derived from them.

Joint indices: state = environment state * monitor states + monitor state, action likewise,
pair = state * actions + action. The outcomes of pair i are offsets[i] … offsets[i + 1] - 1: the environment's
outcomes in their own order and, for each of them, the monitor's.
"""

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from monmdp import check
from monmdp.errors import MonMDPError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[Any]
Booleans = npt.NDArray[np.bool_]

#: The columns of outcomes, with types: the first four for an environment, all of them for a monitor.
COLUMNS = {
    "probability": np.float64,
    "next_state": np.int32,
    "reward": np.float64,
    "terminated": np.bool_,
    "observe_probability": np.float64,
    "env_outcome": np.int32,
}

#: Bytes that an outcome needs while a problem is built, as a row and in arrays, and what to do if they do not fit.
OUTCOME_BYTES, SMALLER = 600, "choose a smaller environment or monitor"
#: The largest number of outcomes, whose indices have 32 bits.
MOST_OUTCOMES = 2**31 - 1

#: Called with the amount of work done and of all.
Progress = Callable[[int, int], None]

#: The smallest and largest value of an array; all numbers must be finite.
BOUNDS = {
    "probability": (0.0, np.inf),
    "start": (0.0, np.inf),
    "reward": (-check.LARGEST, check.LARGEST),
    "reward_noise": (0.0, check.LARGEST),
    "observe_probability": (0.0, 1.0),
}

#: The largest absolute reward of most problems is in this range; there, tolerances are absolute.
ORDINARY = (1e-3, 1e3)


@dataclass(frozen=True)
class Layout:
    """Positions of states in a picture: rows of tile characters and, for each state, its (row, column).

    names: tile characters and what they mean.
    part: the number of columns of a part, if tiles are parts side by side with one column between them.
    """

    tiles: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]
    names: tuple[tuple[str, str], ...] = ()
    part: int | None = None

    @property
    def rows(self) -> int:
        """The number of rows of tiles."""
        return len(self.tiles)

    @property
    def columns(self) -> int:
        """The number of tiles in a row."""
        return len(self.tiles[0])

    def shown(self, state: int) -> slice:
        """The columns that a picture of a state shows: those of its part."""
        width = self.columns if self.part is None else self.part
        first = self.cells[state][1] // (width + 1) * (width + 1)
        return slice(first, first + width)


@dataclass(frozen=True, eq=False)
class EnvironmentTable:
    """The environment's factor: flat arrays over the outcomes of all environment pairs (state, action)."""

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
        """A state, given as an index, as text."""
        return str(self.states[state])


@dataclass(frozen=True, eq=False)
class MonitorTable:
    """The monitor's factor: for every joint pair and environment outcome, the outcomes of the monitor.

    Flat arrays over joint outcomes; `probability` is conditional on `env_outcome`, an index into the
    environment's table. `landmarks` are environment states to mark in pictures, such as that of a button.
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
    """The joint arrays that kernels need for a step; flat over outcomes."""

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
    """A Mon-MDP as a struct of arrays, which training, exact solutions, environments and pictures read."""

    environment: EnvironmentTable
    monitor: MonitorTable
    discount: float = 0.99

    def __post_init__(self) -> None:
        self.validate()  # before any kernel reads the arrays, without checks of its own

    @property
    def name(self) -> str:
        """Environment and monitor with their options, such as `Empty + Ask(cost=0.5)`."""
        return f"{self.environment.name} + {self.monitor.name}"

    @property
    def step_limit(self) -> int | None:
        """The maximum number of steps in an episode, None for no limit."""
        return self.environment.step_limit

    @cached_property
    def n_states(self) -> int:
        """The number of joint states, S."""
        return len(self.environment.states) * len(self.monitor.states)

    @cached_property
    def n_actions(self) -> int:
        """The number of joint actions, A."""
        return len(self.environment.actions) * len(self.monitor.actions)

    @property
    def n_pairs(self) -> int:
        """The number of joint pairs, S * A."""
        return self.n_states * self.n_actions

    @property
    def n_outcomes(self) -> int:
        """The number of outcomes of all joint pairs."""
        return len(self.monitor.probability)

    @property
    def offsets(self) -> Integers:
        """The index of the first outcome of each joint pair, and the number of outcomes, [S * A + 1]."""
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
        """Mean environment reward of each outcome, observed or not."""
        return self.environment.reward[self.monitor.env_outcome]

    @cached_property
    def reward_noise(self) -> Floats:
        """Standard deviation of the environment reward of each outcome."""
        return self.environment.reward_noise[self.monitor.env_outcome]

    @cached_property
    def reward(self) -> Floats:
        """The reward to maximise: mean environment reward plus monitor reward of each outcome."""
        return self.env_reward + self.monitor.reward

    @cached_property
    def scale(self) -> float:
        """The factor of all tolerances of values: the largest absolute reward, or 1 if that has an ordinary size."""
        largest = float(np.abs(self.environment.reward).max()) or float(np.abs(self.monitor.reward).max())
        return 1.0 if largest == 0.0 or ORDINARY[0] <= largest <= ORDINARY[1] else largest

    @cached_property
    def terminated(self) -> Booleans:
        """Whether the environment or the monitor ends the episode, for each outcome."""
        return self.environment.terminated[self.monitor.env_outcome] | self.monitor.terminated

    @cached_property
    def start(self) -> Floats:
        """Start distribution over joint states, [S]."""
        return np.outer(self.environment.start, self.monitor.start).ravel()

    @cached_property
    def start_states(self) -> Integers:
        """Joint states in which an episode can start."""
        return np.flatnonzero(self.start)

    @cached_property
    def start_cumulative(self) -> Floats:
        """Cumulative probability of the start states; the last value is infinite, so that a draw is always below it."""
        cumulative = np.cumsum(self.start[self.start_states])
        cumulative[-1] = np.inf
        return cumulative

    @cached_property
    def pair_of_outcome(self) -> Integers:
        """The joint pair of each outcome."""
        return np.repeat(np.arange(self.n_pairs), np.diff(self.offsets))

    @cached_property
    def env_pair(self) -> Integers:
        """The environment pair of each joint pair, [S * A]."""
        state, action = np.divmod(np.arange(self.n_pairs), self.n_actions)
        env_state, env_action = state // len(self.monitor.states), action // len(self.monitor.actions)
        pair: Integers = env_state * len(self.environment.actions) + env_action
        return pair.astype(np.int32)

    @cached_property
    def dynamics(self) -> Dynamics:
        """The arrays for a step. The last cumulative probability of a pair is infinite: a draw is always below it."""
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

    def expected(self, values: Any) -> Floats:
        """The expectation of values given per outcome, for each joint pair, [S * A]."""
        return np.add.reduceat(self.probability * values, self.offsets[:-1])

    def successors(self, states: Booleans) -> Booleans:
        """States [S] in which an episode can continue after one step from any of `states` [S]."""
        continues = np.repeat(states, self.n_actions)[self.pair_of_outcome] & ~self.terminated & (self.probability > 0)
        after = np.zeros(self.n_states, np.bool_)
        after[self.next_state[continues]] = True
        return after

    @cached_property
    def reachable(self) -> Booleans:
        """Joint states in which the agent can act before an episode ends or the step limit is reached, [S]."""
        reached: Booleans = self.start > 0
        frontier, steps = reached, 1
        while frontier.any() and (self.step_limit is None or steps < self.step_limit):
            frontier = self.successors(frontier) & ~reached
            reached = reached | frontier
            steps += 1
        return reached

    @cached_property
    def reachable_pairs(self) -> Booleans:
        """Joint pairs that can be visited, [S * A]; only these can be goals."""
        return np.repeat(self.reachable, self.n_actions)

    @cached_property
    def digest(self) -> str:
        """A hash that is equal for equal problems on every machine; names and labels are not part of it."""
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
        return divmod(int(state), len(self.monitor.states))

    def split_action(self, action: int) -> tuple[int, int]:
        """Joint action → (environment action, monitor action), all as indices."""
        return divmod(int(action), len(self.monitor.actions))

    def state_index(self, env_state: Hashable, monitor_state: Hashable = None) -> int:
        """Joint state from labels; the monitor's is optional if it has a single state."""
        return self._joint_index("state", env_state, monitor_state)

    def action_index(self, env_action: Hashable, monitor_action: Hashable = None) -> int:
        """Joint action from labels; the monitor's is optional if it has a single action."""
        return self._joint_index("action", env_action, monitor_action)

    def _joint_index(self, what: str, env_label: Hashable, monitor_label: Hashable) -> int:
        env_labels, labels = getattr(self.environment, f"{what}s"), getattr(self.monitor, f"{what}s")
        index = check.find(env_label, env_labels, what, self.environment.name) * len(labels)
        if monitor_label is not None:
            return index + check.find(monitor_label, labels, what, self.monitor.name)
        if len(labels) > 1:
            raise MonMDPError(f"{self.monitor.name} has several {what}s; choose one of {list(labels)}.")
        return index

    def state_label(self, state: int) -> str:
        """A joint state, given as an index, as text."""
        return self._joint_label("states", self.split_state(state))

    def action_label(self, action: int) -> str:
        """A joint action, given as an index, as text."""
        return self._joint_label("actions", self.split_action(action))

    def _joint_label(self, what: str, index: tuple[int, int]) -> str:
        labels = getattr(self.monitor, what)
        env_label = str(getattr(self.environment, what)[index[0]])
        return env_label if len(labels) == 1 else f"{env_label}, {labels[index[1]]}"

    def explain(self, state: Any, action: Any) -> str:
        """The outcomes of an action in words, most likely first; arguments are indices, labels or pairs of labels."""
        s, a = self._index_of("state", state, self.n_states), self._index_of("action", action, self.n_actions)
        lines = [f"In {self.state_label(s)} of {self.name}, taking {self.action_label(a)}:"]
        if not self.reachable[s]:
            lines.append("  (the agent can never be in this state)")
        first, end = self.offsets[s * self.n_actions + a : s * self.n_actions + a + 2]
        for outcome in sorted(range(first, end), key=lambda o: -self.probability[o]):
            lines.append("  " + self._explain_outcome(s, outcome))
        return "\n".join(lines)

    def _index_of(self, what: str, given: Any, size: int) -> int:
        """The index of a joint state or action, given as an index, a label or an (environment, monitor) pair."""
        given = check.as_label(given)
        if isinstance(given, int) and not isinstance(given, bool):
            if 0 <= given < size:
                return given
            raise MonMDPError(f"The {what} index {given} is not between 0 and {size - 1}.")
        is_pair = isinstance(given, tuple) and len(given) == 2 and given not in getattr(self.environment, f"{what}s")
        return self._joint_index(what, *given) if is_pair else self._joint_index(what, given, None)

    def _explain_outcome(self, state: int, outcome: int) -> str:
        after, noise = int(self.next_state[outcome]), self.reward_noise[outcome]
        then = "stays" if after == state else f"goes to {self.state_label(after)}"
        if self.terminated[outcome]:
            then = "the episode ends"
        env = f"environment reward {self.env_reward[outcome]:g}" + (f" ± {noise:g} (Gaussian)" if noise else "")
        seen = float(self.monitor.observe_probability[outcome])
        shown = {0.0: "hidden", 1.0: "shown"}.get(seen, f"shown with probability {seen:g}")
        monitor = f"monitor reward {self.monitor.reward[outcome]:g}"
        return f"{self.probability[outcome]:7.2%}  {then}; {env}, {shown}; {monitor}"

    def validate(self) -> None:
        """Check shapes, index ranges, finite numbers and that the probabilities of every pair sum to one."""
        environment, monitor = self.environment, self.monitor
        check.discount(self.discount)
        if self.step_limit is not None:
            check.steps(self.step_limit, what="The step limit")
        check_table(environment, len(environment.states) * len(environment.actions))
        check_table(monitor, self.n_pairs)
        pair = self.env_pair[self.pair_of_outcome]
        first, end = environment.offsets[pair], environment.offsets[pair + 1]
        if np.any(monitor.env_outcome < first) or np.any(monitor.env_outcome >= end):
            raise MonMDPError(f"{monitor.name} refers to an outcome that its environment pair does not have.")
        row_sums = self.expected(1.0)
        worst = int(np.argmax(np.abs(row_sums - 1.0)))
        state, action = divmod(worst, self.n_actions)
        where = f"action {self.action_label(action)!r} in state {self.state_label(state)!r} of {self.name}"
        check.distribution(row_sums[worst], where)

    def __repr__(self) -> str:
        limit = "no step limit" if self.step_limit is None else f"step limit {self.step_limit}"
        return (
            f"MonMDP({self.name}: {self.n_states} states × {self.n_actions} actions, "
            f"{self.n_outcomes} outcomes, {limit}, discount {self.discount})"
        )


def checked_problem(problem: Any) -> MonMDP:
    """The problem itself, if it is one."""
    checked: MonMDP = check.instance(problem, MonMDP, "A problem must be made by monmdp.make")
    return checked


def as_columns(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Rows of outcomes as one array per column, in the order of COLUMNS."""
    columns = zip(COLUMNS.items(), zip(*rows, strict=True), strict=False)
    return {name: np.array(column, kind) for (name, kind), column in columns}


def check_table(table: EnvironmentTable | MonitorTable, n_pairs: int) -> None:
    """Check shapes, index ranges and that numbers are finite."""
    name, n_states, n_outcomes = table.name, len(table.states), len(table.probability)
    bounds = {**BOUNDS, "next_state": (0, n_states - 1)}
    lengths = {"offsets": n_pairs + 1, "start": n_states}
    for field, value in vars(table).items():
        if isinstance(value, np.ndarray):
            (low, high), length = bounds.get(field, (-np.inf, np.inf)), lengths.get(field, n_outcomes)
            if len(value) != length:
                raise MonMDPError(f"{name} has {len(value)} numbers in '{field}' instead of {length}.")
            if not np.all(np.isfinite(value) & (value >= low) & (value <= high)):
                raise MonMDPError(f"{name} has a number in '{field}' that is not finite or not in {low:g} … {high:g}.")
    if table.offsets[0] != 0 or table.offsets[-1] != n_outcomes or np.any(np.diff(table.offsets) < 1):
        raise MonMDPError(f"The offsets of {name} must rise from 0 to its number of outcomes, {n_outcomes}.")
    check.distribution(float(table.start.sum()), f"the start states of {name}")
