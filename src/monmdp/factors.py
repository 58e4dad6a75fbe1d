"""The two factors of a Mon-MDP as arrays: the environment's table and the monitor's table."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from monmdp import check
from monmdp.errors import MonMDPError, nearest

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[Any]
Booleans = npt.NDArray[np.bool_]

#: The types of a table's columns.
COLUMNS = {
    "env_outcome": np.int32,
    "probability": np.float64,
    "next_state": np.int32,
    "reward": np.float64,
    "terminated": np.bool_,
    "observe_probability": np.float64,
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


def as_columns(rows: list[tuple[Any, ...]], *names: str) -> dict[str, Any]:
    """Rows of outcomes as one array per column; see COLUMNS."""
    return {name: np.array(column, COLUMNS[name]) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


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
    for index, text in enumerate(texts):
        if text.casefold() == str(label).casefold():
            return index
    raise MonMDPError(f"{owner} has no {what} {label!r}. {nearest(str(label), texts)}")


def check_table(table: EnvironmentTable | MonitorTable, n_pairs: int) -> None:
    """Check shapes, index ranges and that numbers are finite."""
    name, n_states, n_outcomes = table.name, len(table.states), len(table.probability)
    if len(table.offsets) != n_pairs + 1 or table.offsets[0] != 0 or table.offsets[-1] != n_outcomes:
        raise MonMDPError(f"The offsets of {name} do not match its {n_pairs} pairs and {n_outcomes} outcomes.")
    if np.any(np.diff(table.offsets) < 1):
        raise MonMDPError(f"{name} has a pair without outcomes; every pair needs at least one.")
    for field, value in vars(table).items():
        if not isinstance(value, np.ndarray):
            continue
        if field not in ("offsets", "start") and len(value) != n_outcomes:
            raise MonMDPError(f"{name} has {n_outcomes} outcomes, but {len(value)} numbers in '{field}'.")
        if value.dtype == np.float64 and not np.all(np.isfinite(value)):
            raise MonMDPError(f"{name} has a number in '{field}' that is not finite.")
    if np.any(table.probability < 0):
        raise MonMDPError(f"{name} has a negative probability.")
    if np.any(table.next_state < 0) or np.any(table.next_state >= n_states):
        raise MonMDPError(f"{name} has a next state that is not one of its {n_states} states.")
    if len(table.start) != n_states or np.any(table.start < 0):
        raise MonMDPError(f"The start distribution of {name} must have {n_states} numbers, none of them negative.")
    check.distribution(float(table.start.sum()), f"the start states of {name}")
