"""Memory of an accelerator: how many runs fit into one program, and programs that wait until there is room."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from threading import Condition

import jax

from monmdp.problem import Integers

#: Fraction of the accelerator's memory that runs may use.
SHARE = 0.9

_changed = Condition()
_used = 0.0


def accelerated() -> bool:
    """Whether programs run on an accelerator, which trains many runs as fast as one."""
    return jax.default_backend() != "cpu"


def room() -> float:
    """Bytes that runs may use on this accelerator, whatever uses it now; infinite if it does not say."""
    statistics = jax.devices()[0].memory_stats() or {}
    return SHARE * statistics.get("bytes_limit", inf)


def fitting(need: float, room: float, lanes: int) -> int:
    """The number of runs in one program: `lanes`, or a half, a quarter and so on of them that fits; 0 if none does."""
    while lanes and lanes * need > room:
        lanes //= 2
    return lanes


@contextmanager
def reserved(size: float, room: float, stop: Integers) -> Iterator[None]:
    """Wait until the programs of this process leave room for one of this size, or until stop [1] is not zero."""
    global _used
    with _changed:
        while _used and _used + size > room and not stop[0]:
            _changed.wait(1.0)
        _used += size
    try:
        yield
    finally:
        with _changed:
            _used -= size
            _changed.notify_all()
