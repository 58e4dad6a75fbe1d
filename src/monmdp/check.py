"""Checks of numbers, options, labels and outcomes; each error names the value and the rule that it breaks.

An option is checked by its annotation: `p: Probability = 0.5` in the dataclass of an environment, monitor or agent.
"""

import dataclasses
import math
import operator
import traceback
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import islice
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from monmdp.errors import LONGEST, MonMDPError, nearest, shown
from monmdp.machine import check_memory

#: The sum of a probability distribution may differ from one by this rounding error.
PROBABILITY_TOLERANCE = 1e-9
#: The largest absolute value of a reward or any other real number: sums, squares and values of policies stay finite.
LARGEST = 1e100
#: The largest whole number, unless a smaller one is given; the longest training or episode; the largest size option.
LARGEST_WHOLE, MOST_STEPS, LARGEST_SIZE = 2**63 - 1, 10**15, 10**6
#: Bytes that a label of a state or action needs at least while a problem is built.
LABEL_BYTES = 200


def finite(value: Any, what: str, least: float = -LARGEST, most: float = LARGEST) -> float:
    """`value` as a float that is neither NaN nor infinite, from `least` to `most`."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise MonMDPError(f"{what} must be a number, not {shown(value)}.") from None
    if not math.isfinite(number):
        raise MonMDPError(f"{what} must be finite, not {shown(value)}.")
    if not least <= number <= most:
        one_sided = most == LARGEST and number < least > -LARGEST
        limits = f"at least {least:g}" if one_sided else f"between {least:g} and {most:g}"
        raise MonMDPError(f"{what} must be {limits}, not {shown(value)}.")
    return number + 0.0  # turns -0.0 into 0.0, so that equal problems have equal digests


#: `value` as a float between zero and one.
probability = partial(finite, least=0.0, most=1.0)


def distribution(total: float, what: str) -> None:
    """Raise an error unless probabilities with this total sum to one."""
    if not abs(total - 1.0) <= PROBABILITY_TOLERANCE:
        raise MonMDPError(f"The probabilities of {what} sum to {total:.12g}, not to 1.")


def whole(value: Any, least: int, what: str, most: int = LARGEST_WHOLE) -> int:
    """`value` as an integer from `least` to `most`."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise MonMDPError(f"{what} must be a whole number of at least {least}, not {shown(value)}.")
    if number > most:
        raise MonMDPError(f"{what} must be at most {most:,}, not {shown(value)}.")
    return number


#: A number of steps, at least one.
steps = partial(whole, least=1, most=MOST_STEPS)


def instance(value: Any, kind: Any, what: str) -> Any:
    """`value`, which must be of a class; what: a sentence such as `The problem must be made by monmdp.make`."""
    if not isinstance(value, kind):
        raise MonMDPError(f"{what}, not {shown(value)}.")
    return value


def path(value: Any, what: str) -> Path:
    """`value`, text or a path, as a path."""
    return Path(instance(value, (str, PathLike), f"{what} must be a path"))


def numbers(given: Any, what: str) -> Any:
    """`given` as a contiguous array of numbers."""
    try:
        return np.ascontiguousarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise MonMDPError(f"{what} must be an array of numbers, not {shown(given)}.") from None


@contextmanager
def user_code(owner: Any) -> Iterator[None]:
    """Turn any exception inside the class of `owner` into an error that names the class and the method."""
    try:
        yield
    except MonMDPError:
        raise
    except Exception as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        methods = [frame.f_code.co_name for frame in frames if frame.f_locals.get("self") is owner]
        raise raised(f"{type(owner).__name__}.{methods[-1]}" if methods else type(owner).__name__, error) from error


def raised(where: str, error: Exception) -> MonMDPError:
    """The error that says where a class of a user raised an exception."""
    message = "".join(str(error).strip().splitlines()[:1])[:LONGEST].rstrip(".")
    return MonMDPError(f"{where} raised {type(error).__name__}{': ' if message else ''}{message}.")


def seed(value: Any, what: str = "A seed") -> int:
    """`value` as a seed, an integer from 0 to 2⁶³ - 1; larger ones would repeat the random streams of smaller ones."""
    return whole(value, 0, what)


def discount(value: Any, what: str = "The discount") -> float:
    """`value` as a float in [0, 1)."""
    number = finite(value, what)
    if not 0.0 <= number < 1.0:
        raise MonMDPError(f"{what} must be at least 0 and below 1, not {shown(value)}.")
    return number


def labels(given: Sequence[Any], what: str, owner: str) -> tuple[Any, ...]:
    """Check labels of states or actions: at least one, without duplicates."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Collection):
        raise MonMDPError(f"The {what}s of {owner} must be a list of labels, not {shown(given)}.")
    if not len(given):
        raise MonMDPError(f"{owner} needs at least one {what}.")
    check_memory(LABEL_BYTES * len(given), f"{owner} with {len(given):,} {what}s", f"declare fewer {what}s")
    if len(set(given)) < len(given):
        raise MonMDPError(f"{owner} has a duplicate {what}; every {what} needs its own label.")
    return tuple(given)


def as_label(given: Any) -> Any:
    """Lists, as in TOML and JSON, as tuples, and NumPy numbers as plain numbers."""
    given = given.tolist() if hasattr(given, "tolist") else given
    return tuple(as_label(part) for part in given) if isinstance(given, (list, tuple)) else given


def find(label: Hashable, labels: Sequence[Hashable], what: str, owner: str) -> int:
    """The index of a label. An index is accepted too, and upper and lower case of text are the same."""
    if label in labels:
        return labels.index(label)
    if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(labels):
        return label
    texts = [str(known) for known in labels]
    folded = [text.casefold() for text in texts]
    if str(label).casefold() in folded:
        return folded.index(str(label).casefold())
    raise MonMDPError(f"{owner} has no {what} {shown(label)}. {nearest(str(label), texts)}")


def outcomes(
    produce: Callable[[], Any], kind: Any, where: str, index: Mapping[Hashable, int], here: Hashable = None
) -> list[tuple[Any, ...]]:
    """Outcomes that a user's function yields or returns, checked, as rows for `as_columns`.

    kind: Step or Outcome. index: state → number. here: the state that a next_state of None stands for.
    """
    try:
        given = produce()
        if isinstance(given, kind) or not isinstance(given, Iterable):
            raise MonMDPError(
                f"The outcomes of {where} must yield {kind.__name__} objects or list them, not {shown(given)}."
            )
        listed = list(islice(given, LARGEST_SIZE + 1))
    except MonMDPError:
        raise
    except Exception as error:  # code of a user can raise anything
        raise raised(f"outcomes, for {where},", error) from error
    if len(listed) > LARGEST_SIZE:
        raise MonMDPError(f"The outcomes of {where} must be at most {LARGEST_SIZE:,}, and there are more.")
    rows = []
    for outcome in listed:
        if not isinstance(outcome, kind):
            raise MonMDPError(f"The outcomes of {where} must be {kind.__name__} objects, not {shown(outcome)}.")
        after = here if outcome.next_state is None else outcome.next_state
        try:
            known = after in index
        except TypeError:  # not hashable
            known = False
        if not known:
            hint = nearest(str(after), map(str, index))
            raise MonMDPError(f"An outcome of {where} leads to {shown(after)}, which is not one of its states. {hint}")
        chance = probability(outcome.probability, f"The probability of an outcome of {where}")
        reward = finite(outcome.reward, f"The reward of {where}")
        row: tuple[Any, ...] = (chance, index[after], reward, bool(outcome.terminated))
        if hasattr(outcome, "observed"):
            row += (probability(outcome.observed, f"The observation probability of {where}"),)
        rows.append(row)
    distribution(sum(row[0] for row in rows), where)
    return rows


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


def start_probabilities(starts: Any, states: Sequence[Hashable], owner: str) -> list[float]:
    """The probability of each state to be the first of an episode, from any form that `start_weights` accepts."""
    weights = start_weights(starts, states)
    for state in weights:
        if state not in states:
            raise MonMDPError(f"{owner} cannot start in {shown(state)}; choose among its states.")
    what = f"A start probability of {owner}"
    chances = [probability(weights.get(state, 0.0), what) for state in states]
    distribution(sum(chances), f"the start states of {owner}")
    return chances


def one_of(value: Any, choices: Sequence[Any], what: str) -> Any:
    """`value`, which must be one of the choices."""
    if value not in choices:
        raise MonMDPError(f"{what} must be one of {', '.join(map(repr, choices))}, not {shown(value)}.")
    return value


def boolean(value: Any, what: str) -> bool:
    """`value`, which must be True or False."""
    if not isinstance(value, bool):
        raise MonMDPError(f"{what} must be True or False, not {shown(value)}.")
    return value


#: Annotations of options with their checks.
Probability = Annotated[float, probability]
Discount = Annotated[float, discount]
NonNegative = Annotated[float, partial(finite, least=0.0)]
Whole = Annotated[int, partial(whole, least=0)]
Count = Annotated[int, partial(whole, least=1)]
Seed = Annotated[int, seed]
#: The number of rows, levels or other parts of a problem.
Size = Annotated[int, partial(whole, least=1, most=LARGEST_SIZE)]
CHECKS: dict[Any, Callable[..., Any]] = {float: finite, bool: boolean}


def options(instance: Any) -> None:
    """Check the options of a dataclass by their annotations; None is valid where the annotation allows it."""
    rules = _rules(type(instance))  # type: ignore[arg-type]
    for field in dataclasses.fields(instance):
        value, (check, optional) = getattr(instance, field.name), rules.get(field.name, (None, True))
        if check is not None and (value is not None or not optional):
            check(value, what=f"The option {field.name!r} of {type(instance).__name__}")


@cache
def _rules(kind: type) -> dict[str, tuple[Any, bool]]:
    """For each option the check of its annotation, such as `Probability | None`, and whether None is valid."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):  # annotations that refer to names that do not exist at run time
        return {}
    rules = {}
    for name, hint in hints.items():
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        checked = [part for part in kinds if part is not type(None)]
        if len(checked) == 1:
            check = getattr(checked[0], "__metadata__", (CHECKS.get(checked[0]),))[0]
            if get_origin(checked[0]) is Literal:
                check = partial(one_of, choices=get_args(checked[0]))
            rules[name] = check, len(kinds) > 1
    return rules
