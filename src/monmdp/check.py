"""Checks of single values; each error message names the value and the rule that it breaks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from monmdp.errors import MonMDPError

#: The sum of a probability distribution may differ from one by this rounding error.
PROBABILITY_TOLERANCE = 1e-9


def finite(value: Any, what: str) -> float:
    """`value` as a float that is neither NaN nor infinite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise MonMDPError(f"{what} must be a number, not {value!r}.") from None
    if not math.isfinite(number):
        raise MonMDPError(f"{what} must be finite, not {value!r}.")
    return number + 0.0  # turns -0.0 into 0.0, so that equal problems have equal digests


def at_least(value: Any, least: float, what: str) -> float:
    """`value` as a finite float that is not below `least`."""
    number = finite(value, what)
    if number < least:
        raise MonMDPError(f"{what} must be at least {least:g}, not {value!r}.")
    return number


def probability(value: Any, what: str) -> float:
    """`value` as a float between zero and one."""
    number = finite(value, what)
    if not 0.0 <= number <= 1.0:
        raise MonMDPError(f"{what} must be between 0 and 1, not {value!r}.")
    return number


def distribution(total: float, what: str) -> None:
    """Raise an error unless probabilities with this total sum to one."""
    if not abs(total - 1.0) <= PROBABILITY_TOLERANCE:
        raise MonMDPError(f"The probabilities of {what} sum to {total:.12g}, not to 1.")


def whole(value: Any, least: int, what: str) -> int:
    """`value` as an integer that is not below `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < least:
        raise MonMDPError(f"{what} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def discount(value: Any, default: float, what: str) -> float:
    """`value`, or the default if it is None, as a float in [0, 1)."""
    number = default if value is None else finite(value, what)
    if not 0.0 <= number < 1.0:
        raise MonMDPError(f"{what} must be at least 0 and below 1, not {value!r}.")
    return number


def labels(given: Sequence[Any], what: str, owner: str) -> tuple[Any, ...]:
    """Check labels of states or actions: at least one, without duplicates."""
    if not given:
        raise MonMDPError(f"{owner} needs at least one {what}.")
    if len(set(given)) < len(given):
        raise MonMDPError(f"{owner} has a duplicate {what}; every {what} needs its own label.")
    return tuple(given)


def options(instance: Any) -> None:
    """Check the options of a dataclass whose annotation is float or bool."""
    for field in dataclasses.fields(instance):
        value, kind = getattr(instance, field.name), str(field.type)
        what = f"The option {field.name!r} of {type(instance).__name__}"
        if value is None and kind.endswith("| None"):
            continue
        match kind.removesuffix(" | None"):
            case "float":
                finite(value, what)
            case "bool":
                if not isinstance(value, bool):
                    raise MonMDPError(f"{what} must be True or False, not {value!r}.")
