"""The two factors of a Mon-MDP as arrays: the environment's table and the monitor's table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from monmdp import check
from monmdp.errors import MonMDPError, nearest

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

#: The smallest and largest value of an array; all numbers must be finite.
BOUNDS = {
    "probability": (0.0, np.inf),
    "start": (0.0, np.inf),
    "reward_noise": (0.0, np.inf),
    "observe_probability": (0.0, 1.0),
}


@dataclass(frozen=True)
class Layout:
    """Positions of states in a picture: rows of tile characters and, for each state, its (row, column)."""

    tiles: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]

    @property
    def rows(self) -> int:
        """The number of rows of tiles."""
        return len(self.tiles)

    @property
    def columns(self) -> int:
        """The number of tiles in a row."""
        return len(self.tiles[0])


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


def as_columns(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """Rows of outcomes as one array per column, in the order of COLUMNS."""
    columns = zip(COLUMNS.items(), zip(*rows, strict=True), strict=False)
    return {name: np.array(column, kind) for (name, kind), column in columns}


def checked_outcomes(
    given: Any, kind: type, where: str, index: Mapping[Hashable, int], here: Hashable = None
) -> list[tuple[Any, ...]]:
    """Outcomes that a user's function yielded or returned, checked, as rows for `as_columns`.

    kind: Step or Outcome. index: state → number. here: the state that a next_state of None stands for.
    """
    if isinstance(given, kind) or not isinstance(given, Iterable):
        raise MonMDPError(f"The outcomes of {where} must yield {kind.__name__} objects or list them, not {given!r}.")
    rows = []
    for outcome in given:
        after = here if outcome.next_state is None else outcome.next_state
        if after not in index:
            hint = nearest(str(after), map(str, index))
            raise MonMDPError(f"An outcome of {where} leads to {after!r}, which is not one of its states. {hint}")
        chance = check.probability(outcome.probability, f"The probability of an outcome of {where}")
        reward = check.finite(outcome.reward, f"The reward of {where}")
        row: tuple[Any, ...] = (chance, index[after], reward, bool(outcome.terminated))
        if hasattr(outcome, "observed"):
            row += (check.probability(outcome.observed, f"The observation probability of {where}"),)
        rows.append(row)
    check.distribution(sum(row[0] for row in rows), where)
    return rows


def as_label(given: Any) -> Any:
    """Lists, as in TOML and JSON, as tuples, and NumPy numbers as plain numbers."""
    given = given.tolist() if hasattr(given, "tolist") else given
    return tuple(as_label(part) for part in given) if isinstance(given, (list, tuple)) else given


def start_weights(starts: Any, states: Sequence[Hashable]) -> dict[Any, float]:
    """Start probabilities from a mapping, a state, or several states with equal probability."""
    if isinstance(starts, Mapping):
        return dict(starts)
    is_state = isinstance(starts, Hashable) and starts in states
    if isinstance(starts, Iterable) and not isinstance(starts, str) and not is_state:
        starts = tuple(as_label(part) for part in starts)
        if starts not in states and any(part in states for part in starts):
            return dict.fromkeys(starts, 1.0 / len(starts))
    return {starts: 1.0}


def start_vector(weights: Mapping[Hashable, Any], states: Sequence[Hashable], owner: str) -> Floats:
    """A start distribution, given as state → probability, as an array over states."""
    vector = np.zeros(len(states))
    for state, weight in weights.items():
        if state not in states:
            raise MonMDPError(f"{owner} cannot start in {state!r}; choose among its states.")
        chance = check.probability(weight, f"The probability that {owner} starts in {state!r}")
        vector[states.index(state)] = chance
    check.distribution(float(vector.sum()), f"the start states of {owner}")
    return vector


def find(label: Hashable, labels: Sequence[Hashable], what: str, owner: str) -> int:
    """The index of a label. An index is accepted too, and text matches in any case."""
    if label in labels:
        return labels.index(label)
    if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(labels):
        return label
    texts = [str(known) for known in labels]
    folded = [text.casefold() for text in texts]
    if str(label).casefold() in folded:
        return folded.index(str(label).casefold())
    raise MonMDPError(f"{owner} has no {what} {label!r}. {nearest(str(label), texts)}")


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
