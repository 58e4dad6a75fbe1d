"""Schedules over training steps, and tables of logarithms."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.problem import Floats


def schedule(given: Any, steps: int, what: str) -> Floats:
    """One number per step, [steps], read-only; (first, last) is linear from t = 0 to t = steps - 1."""
    values = schedule_values(given, what)
    if values.ndim == 0 or (values.shape == (2,) and steps != 2):
        return line(float(values.flat[0]), float(values.flat[-1]), steps)
    if values.shape != (steps,):
        raise MonMDPError(f"{what} must be a number, (first, last), or {steps} numbers, one per step.")
    return read_only(values)


@lru_cache(maxsize=64)
def line(first: float, last: float, steps: int) -> Floats:
    """Numbers from the first step to the last, [steps], read-only; jobs with the same schedule share them."""
    return read_only(first + (last - first) * (np.arange(steps) / max(steps - 1, 1)))


def schedule_values(given: Any, what: str) -> Floats:
    """The numbers of a schedule, checked as far as possible before the number of steps is known."""
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise MonMDPError(f"{what} must be a number, (first, last), or one number per step, not {given!r}.") from None
    if values.ndim > 1 or given is None:
        raise MonMDPError(f"{what} must be a number, (first, last), or one number per step.")
    if not np.all((values >= 0) & (values <= 1)):
        raise MonMDPError(f"{what} must be between 0 and 1 at every step.")
    return values


#: A constant, (first, last) for a line from the first step to the last, or one number per step.
Schedule = Annotated[float | Sequence[float], schedule_values]


def read_only(values: np.ndarray) -> np.ndarray:
    """A view that cannot be written, so that all seeds may share it."""
    view = values.view()
    view.flags.writeable = False
    return view


#: The longest table of logarithms so far; shorter ones are its beginning.
_longest = np.array([-math.inf])


@lru_cache(maxsize=64)
def logarithms(largest: int) -> Floats:
    """log 0, log 1, … log `largest` from the C library, so that every backend reads the same numbers."""
    global _longest
    table = _longest
    if len(table) <= largest:
        more = np.fromiter(map(math.log, range(len(table), largest + 1)), np.float64)
        table = _longest = np.concatenate([table, more])
    return read_only(table[: largest + 1])
