"""Numbers of observations, for tabular agents: discrete spaces as they are, continuous ones in bins or tiles."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiDiscrete, Space, Tuple

from monmdp import check
from monmdp.errors import MonMDPError, shown
from monmdp.problem import Floats

#: A limit for all dimensions or one per dimension, where None is the bound of the observation space.
Limit = float | Sequence[float | None] | None
#: Dimensions that a message shows at most.
LONGEST = 8
Function = Callable[[Any], int]


class States(NamedTuple):
    """The number of states, and functions observation → state for training and for tests."""

    n: int
    training: Function
    testing: Function


@dataclass(frozen=True)
class Bins:
    """A grid of equal cells over continuous observations; what is outside belongs to the outermost cells.

    n: the number of bins, one number or one per dimension. low, high: limits, one number or one per dimension; None is
    the bound of the observation space.
    """

    n: int | Sequence[int] = 10
    low: Limit = None
    high: Limit = None

    def states(self, space: Space[Any]) -> States:
        """The cells over an observation space."""
        low, size, n = _grid(self, space)
        last = n - 1
        weights = np.array([math.prod(n[i + 1 :].astype(int).tolist()) for i in range(len(n))], np.float64)

        def cell(observation: Any) -> int:
            places = np.floor((np.ravel(observation) - low) / size)
            return int(np.minimum(np.maximum(places, 0.0), last) @ weights)

        return States(math.prod(n.astype(int).tolist()), cell, cell)


@dataclass(frozen=True)
class Tiles:
    """Several grids, each shifted by a fraction of a cell; a state is a combination of cells, one of each grid.

    States are numbered in order of their first visit in training. All that are visited after n_states - 1 others, and
    in tests all that were never visited, share the last number. A tabular agent does not generalise from one
    combination to another, so tilings make cells smaller where they were visited, and no more.
    n, low, high: as for Bins. tilings: the number of grids.
    """

    n: int | Sequence[int] = 8
    tilings: int = 4
    low: Limit = None
    high: Limit = None
    n_states: int = 1_000

    def states(self, space: Space[Any]) -> States:
        """Combinations of cells over an observation space, none of them numbered yet."""
        low, size, n = _grid(self, space)
        tilings = check.whole(self.tilings, 1, "The number of tilings of Tiles", most=1_000)
        most = check.whole(self.n_states, 2, "n_states of Tiles")
        grids, dimensions = np.arange(tilings)[:, None], np.arange(len(n))
        shifts = grids * (2 * dimensions + 1) % tilings / tilings
        numbers: dict[tuple[int, ...], int] = {}

        def tiles(observation: Any) -> tuple[int, ...]:
            inside = np.minimum(np.maximum((np.ravel(observation) - low) / size, 0.0), n)
            return tuple(map(int, (inside + shifts).ravel().tolist()))

        def number(observation: Any) -> int:
            return numbers.setdefault(tiles(observation), min(len(numbers), most - 1))

        return States(most, number, lambda observation: numbers.get(tiles(observation), most - 1))


#: Bins, Tiles, a function observation → state with the number of states, or None for discrete observations.
Discretizer = Bins | Tiles | tuple[Function, int] | None


def states_of(space: Space[Any], discretizer: Discretizer) -> States:
    """The states of an observation space."""
    if isinstance(discretizer, (Bins, Tiles)):
        return discretizer.states(space)
    if discretizer is not None:
        return _of_function(discretizer)
    if isinstance(space, Box):
        raise MonMDPError(
            f"Live training needs discrete observations, not {shown(space)}; number them with "
            "train_live(…, discretizer=monmdp.Bins(10)), monmdp.Tiles() or (function, number of states)."
        )
    n, state = discrete(space, "observations")
    return States(n, state, state)


def discrete(space: Any, what: str) -> tuple[int, Function]:
    """The size of a discrete space, and a function from its elements to 0 … size - 1."""
    if isinstance(space, Discrete):
        first = int(space.start)
        return int(space.n), lambda value: int(value) - first
    if isinstance(space, MultiDiscrete) and what == "observations":
        sizes, firsts = [int(n) for n in space.nvec.ravel()], space.start.ravel()
        return math.prod(sizes), lambda value: int(np.ravel_multi_index((np.ravel(value) - firsts).tolist(), sizes))
    if isinstance(space, Tuple) and what == "observations":
        parts = [discrete(part, what) for part in space.spaces]
        sizes = [size for size, _ in parts]

        def joint(value: Any) -> int:
            digits = [read(part) for (_, read), part in zip(parts, value, strict=True)]
            return int(np.ravel_multi_index(digits, sizes))

        return math.prod(sizes), joint
    hint = "gymnasium.wrappers.DiscretizeAction(env, bins)" if what == "actions" else "discretizer=(function, n)"
    raise MonMDPError(f"Live training needs discrete {what}, not {shown(space)}; {hint} can number them.")


def _of_function(given: Any) -> States:
    """A user's function and the number of its states."""
    if not isinstance(given, tuple) or len(given) != 2 or not callable(given[0]):
        raise MonMDPError(
            "The discretizer must be monmdp.Bins, monmdp.Tiles, or a function observation → state and the number of "
            f"states, as in discretizer=(function, 100), not {shown(given)}."
        )
    function, n = given[0], check.whole(given[1], 1, "The number of states of the discretizer")

    def state(observation: Any) -> int:
        try:
            number = function(observation)
        except Exception as error:  # code of a user can raise anything
            raise check.raised(f"The discretizer, for observation {shown(observation)},", error) from error
        return check.whole(number, 0, f"The discretizer's state of observation {shown(observation)}", n - 1)

    return States(n, state, state)


def _grid(given: Bins | Tiles, space: Space[Any]) -> tuple[Floats, Floats, Floats]:
    """The lower limit, the size of a cell and the number of cells, each one per dimension."""
    name = type(given).__name__
    if not isinstance(space, Box):
        raise MonMDPError(f"{name} is for continuous observations, Box, not {shown(space)}; leave out the discretizer.")
    size = math.prod(space.shape)
    n = [check.whole(each, 1, f"n of {name}", check.LARGEST_SIZE) for each in _each(given.n, size, f"n of {name}")]
    limits: dict[str, list[Any]] = {}
    for end, bounds in (("low", space.low), ("high", space.high)):
        values = _each(getattr(given, end), size, f"{end} of {name}")
        known = [check.finite(value, f"{end} of {name}") if value is not None else None for value in values]
        limits[end] = [
            float(bound) if value is None else value for value, bound in zip(known, bounds.flat, strict=True)
        ]
    unknown = np.flatnonzero(~np.isfinite([limits["low"], limits["high"]]).all(0))
    if len(unknown):
        low_high = [[sign * 3 if i in unknown else None for i in range(min(size, LONGEST))] for sign in (-1, 1)]
        raise MonMDPError(
            f"{shown(space)} has no bounds in dimension {', '.join(map(str, unknown[:LONGEST]))}; choose limits, "
            f"as in monmdp.{name}({given.n}, low={low_high[0]}, high={low_high[1]})."
        )
    low, high = np.array(limits["low"]), np.array(limits["high"])
    if not (low < high).all():
        raise MonMDPError(f"{name} needs low < high in every dimension, not {limits['low']} and {limits['high']}.")
    return low, (high - low) / n, np.array(n, np.float64)


def _each(given: Any, size: int, what: str) -> list[Any]:
    """One value per dimension."""
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str):
        return [given] * size
    if len(given) != size:
        raise MonMDPError(f"{what} must be one number or {size}, one per dimension, not {shown(given)}.")
    return list(given)
