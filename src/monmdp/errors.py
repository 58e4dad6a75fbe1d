"""The error for bad input: its message says what was wrong, what was expected and what to do."""

import difflib
from collections.abc import Iterable
from itertools import islice
from typing import Any

#: Letters of a value, and names in a list, that a message shows at most; names that are compared to find a similar one.
LONGEST, MOST_NAMES, MOST_COMPARED = 200, 100, 2000


class MonMDPError(ValueError):
    """Bad input, described in one sentence."""


class NoTableError(MonMDPError):
    """A Gymnasium environment has no transition table; the message shows how to monitor it without one."""

    def __init__(self, reason: str, env: str, monitor: str = "Ask") -> None:
        super().__init__(reason, env, monitor)  # the arguments, so that the error can be pickled

    def __str__(self) -> str:
        reason, env, monitor = self.args
        return f"{reason}; monitor it without a table: monmdp.monitored({env}, {monitor!r})."


class InvalidActionError(MonMDPError):
    """An agent returned an action that does not exist."""


class MonMDPWarning(UserWarning):
    """Something that does not stop the work, described in one sentence."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a hint such as `Did you mean 'Empty'?`, or the list of valid names if none is similar."""
    names = list(islice(valid, MOST_COMPARED))
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name[:LONGEST].casefold(), folded, n=1, cutoff=0.5)
    if close:
        return f"Did you mean {folded[close[0]]!r}?"
    return f"Choose one of: {', '.join([*names[:MOST_NAMES], *['…'] * (len(names) > MOST_NAMES)])}."


def plural(count: int, noun: str) -> str:
    """A number with its noun: `1 run`, `2,000 runs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shown(value: Any) -> str:
    """A value as text on one line of a message, cut if it is long."""
    try:
        text = " ".join(repr(value).splitlines())
    except Exception:  # a class of a user, or a whole number with thousands of digits
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
