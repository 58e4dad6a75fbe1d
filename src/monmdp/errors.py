"""The error for bad input: its message says what was wrong, what was expected and what to do."""

import difflib
from collections.abc import Iterable


class MonMDPError(ValueError):
    """Bad input, described in one sentence."""


class InvalidActionError(MonMDPError):
    """An agent returned an action that does not exist."""


class MonMDPWarning(UserWarning):
    """Something that does not stop the work, described in one sentence."""


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return a hint such as `Did you mean 'Empty'?`, or the list of valid names if none is similar."""
    names = list(valid)
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
    if close:
        return f"Did you mean {folded[close[0]]!r}?"
    return f"Choose one of: {', '.join(names)}."
