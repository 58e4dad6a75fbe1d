"""Nested named tuples of arrays and numbers as rows of 64-bit words, from which device code rebuilds the tuple.

An array takes one word for its address and one per dimension; a number takes one word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from monmdp.errors import MonMDPError


class Leaf(NamedTuple):
    """An array or a number (ndim 0) of a nested named tuple: its name with dots, and its first word in the row."""

    name: str
    word: int
    dtype: np.dtype[Any]
    ndim: int

    @property
    def root(self) -> str:
        """The field of the outermost tuple that contains the leaf."""
        return self.name.split(".", 1)[0]


class Schema(NamedTuple):
    """The shape of a nested named tuple: its leaves in order, its classes and record types, and how to rebuild it.

    The Python expression uses kinds[i] as kind_i; words and floats, the same row as integers and as floats; and
    onchip, the address of on-chip memory, to which negative addresses -1 - offset refer.
    """

    leaves: tuple[Leaf, ...]
    kinds: tuple[Any, ...]
    expression: str

    @property
    def words(self) -> int:
        return sum(1 + leaf.ndim for leaf in self.leaves)


def schema_of(values: Any) -> Schema:
    """The schema of a named tuple; raises if a field is neither an array, a number nor such a tuple."""
    leaves: list[Leaf] = []
    kinds: list[Any] = []
    expression = _describe(values, "", leaves, kinds)
    return Schema(tuple(leaves), tuple(kinds), expression)


def _describe(value: Any, name: str, leaves: list[Leaf], kinds: list[Any]) -> str:
    """Add the leaves and classes of a value; returns the expression that rebuilds it."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        kinds.append(type(value))
        kind, prefix = f"kind_{len(kinds) - 1}", f"{name}." if name else ""
        parts = [
            _describe(part, prefix + field, leaves, kinds) for field, part in zip(value._fields, value, strict=True)
        ]
        return f"{kind}({', '.join(parts)})"
    dtype, ndim = np.asarray(value).dtype, np.ndim(value)
    if isinstance(value, np.ndarray):
        supported = ndim in (1, 2) and dtype.kind in "biufV"
    else:
        supported = isinstance(value, (int, float, np.generic)) and dtype.kind in "biuf"
    if not supported:
        raise MonMDPError(
            f"The field {name!r} cannot be copied to a GPU: it must be a number, an array of one or two dimensions, "
            f"or a named tuple of those, not {type(value).__name__}."
        )
    word = leaves[-1].word + 1 + leaves[-1].ndim if leaves else 0
    leaves.append(Leaf(name, word, dtype, ndim))
    scalar = "np.bool_" if dtype.kind == "b" else f"np.{dtype.type.__name__}"
    if dtype.kind == "V":
        kinds.append(dtype)
        scalar = f"kind_{len(kinds) - 1}"
    if ndim:
        lengths = "".join(f"words[{word + axis}], " for axis in range(1, 1 + ndim))
        return f"array_at(located(words[{word}], onchip), ({lengths}), {scalar})"
    if dtype.kind == "b":
        return f"words[{word}] != 0"
    return f"{scalar}({'floats' if dtype.kind == 'f' else 'words'}[{word}])"


def leaf_values(values: Any) -> Iterator[Any]:
    """The values of a nested named tuple, in the order of its schema's leaves."""
    for value in values:
        if isinstance(value, tuple):
            yield from leaf_values(value)
        else:
            yield value


def number_word(leaf: Leaf, value: Any) -> int:
    """The word of a number; a float is converted to float64 and stored by its bits."""
    wide = {"f": np.float64, "u": np.uint64}.get(leaf.dtype.kind, np.int64)
    return int(np.asarray(value, wide).view(np.int64))
