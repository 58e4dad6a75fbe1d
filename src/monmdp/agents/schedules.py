"""Schedules and logarithms as functions of the training step, in memory that does not grow with the number of steps."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.kernels.compile import inlined
from monmdp.problem import Floats

#: A line is stored as three numbers: its first value, the last one minus the first, and the last step.
LINE = 3
#: Logarithms of smaller numbers are read from a table.
TABULATED = 1 << 16


def schedule(given: Any, steps: int, what: str) -> Floats:
    """A schedule for `value_at`, read-only: a line, from t = 0 to t = steps - 1, or one number per step."""
    values = schedule_values(given, what)
    if values.ndim == 0 or (values.shape == (2,) and steps != 2):
        return line(float(values.flat[0]), float(values.flat[-1]), steps)
    if values.shape != (steps,):
        raise MonMDPError(f"{what} must be a number, (first, last), or {steps} numbers, one per step.")
    if steps == LINE:
        values = np.append(values, np.nan)  # so that these numbers are not taken for a line
    return read_only(values)


@lru_cache(maxsize=64)
def line(first: float, last: float, steps: int) -> Floats:
    """A line from the first step to the last; jobs with the same schedule share it."""
    return read_only(np.array([first, last - first, max(steps - 1, 1)]))


@lru_cache(maxsize=64)
def tabulated(first: float, change: float, last_step: float, steps: int) -> Floats:
    """The values of a line at all steps, [steps]."""
    return read_only(first + change * (np.arange(steps) / last_step))


def is_line(value: Any, steps: int) -> bool:
    """Whether a field of a memory for this number of steps is a line."""
    if not isinstance(value, np.ndarray) or value.shape != (LINE,) or value.flags.writeable:
        return False
    return bool(value.dtype == np.float64 and value[-1] == max(steps - 1, 1))


@inlined
def value_at(values, step):
    """The value of a schedule at a step."""
    if len(values) == LINE:
        return values[0] + values[1] * (step / values[2])
    return values[step]


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


@lru_cache(maxsize=64)
def logarithms(largest: int) -> Floats:
    """log 0, log 1, … log `largest` for `log_of`, from the C library; a table for a GPU must have all numbers used."""
    return read_only(np.array([-math.inf, *map(math.log, range(1, largest + 1))]))


@inlined
def log_of(logs, number):
    """log `number`, from the table or, beyond it, from the C library, which gives the same value."""
    return logs[number] if number < len(logs) else math.log(number)
