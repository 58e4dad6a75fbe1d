"""Nested named tuples of arrays and numbers as rows of 64-bit words, from which device code rebuilds the tuple.

An array takes one word for its address and one per dimension; a number takes one word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError

#: Largest number of dimensions of an array.
DIMENSIONS = 2


@dataclass(frozen=True)
class Leaf:
    """One array or number of a nested named tuple, and its first word in the row."""

    path: tuple[str, ...]
    word: int
    dtype: np.dtype[Any]
    ndim: int

    @property
    def is_array(self) -> bool:
        return self.ndim > 0

    @property
    def words(self) -> int:
        return 1 + self.ndim

    @property
    def name(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True)
class Schema:
    """The shape of a nested named tuple: its class and its fields, which are leaves or schemas."""

    kind: type
    fields: tuple[tuple[str, Any], ...]

    @cached_property
    def leaves(self) -> list[Leaf]:
        """All leaves, in order."""
        leaves: list[Leaf] = []
        for _, field in self.fields:
            leaves += [field] if isinstance(field, Leaf) else field.leaves
        return leaves

    @property
    def words(self) -> int:
        return sum(leaf.words for leaf in self.leaves)


def schema_of(values: Any, path: tuple[str, ...] = (), word: int = 0) -> Schema:
    """The schema of a named tuple; raises if a field is neither an array, a number nor such a tuple."""
    fields: list[tuple[str, Any]] = []
    for name, value in zip(values._fields, values, strict=True):
        here = (*path, name)
        field: Any
        if hasattr(value, "_fields"):
            field = schema_of(value, here, word)
        elif isinstance(value, np.ndarray) and 1 <= value.ndim <= DIMENSIONS and value.dtype.kind in "biuf":
            field = Leaf(here, word, value.dtype, value.ndim)
        elif isinstance(value, (bool, int, float, np.generic)) and np.asarray(value).dtype.kind in "biuf":
            field = Leaf(here, word, np.asarray(value).dtype, 0)
        else:
            raise MonMDPError(
                f"The field {'.'.join(here)!r} cannot be copied to a GPU: it must be a number, an array of one or two "
                f"dimensions, or a named tuple of those, not {type(value).__name__}."
            )
        fields.append((name, field))
        word += field.words
    return Schema(type(values), tuple(fields))


def leaf_values(values: Any) -> Iterator[Any]:
    """The values of a nested named tuple, in the order of its schema's leaves."""
    for value in values:
        if hasattr(value, "_fields"):
            yield from leaf_values(value)
        else:
            yield value


def number_word(leaf: Leaf, value: Any) -> int:
    """The word of a number; a float is converted to float64 and stored by its bits."""
    if leaf.dtype.kind == "f":
        return int(np.float64(value).view(np.int64))
    return int(np.asarray(value).astype(np.int64 if leaf.dtype.kind != "u" else np.uint64).view(np.int64))


def rebuild_source(schema: Schema) -> tuple[str, dict[str, Any]]:
    """Source of a device function rebuild(words, floats, onchip) that returns the tuple, and the names it needs.

    words and floats are the same row as integers and as floats. onchip is the address of the block's shared memory; a
    negative address -1 - offset refers to it.
    """
    names: dict[str, Any] = {"np": np}
    return f"def rebuild(words, floats, onchip):\n    return {_expression(schema, names)}\n", names


def _expression(field: Any, names: dict[str, Any]) -> str:
    if isinstance(field, Schema):
        label = f"kind_{len(names)}"
        names[label] = field.kind
        return f"{label}({', '.join(_expression(part, names) for _, part in field.fields)})"
    word = field.word
    if field.ndim == 0:
        if field.dtype.kind == "f":
            return f"np.{field.dtype.name}(floats[{word}])"
        return f"words[{word}] != 0" if field.dtype.kind == "b" else f"np.{field.dtype.name}(words[{word}])"
    dtype = "np.bool_" if field.dtype.kind == "b" else f"np.{field.dtype.name}"
    lengths = ", ".join(f"words[{word + 1 + axis}]" for axis in range(field.ndim))
    return f"{'vector_at' if field.ndim == 1 else 'matrix_at'}(located(words[{word}], onchip), {lengths}, {dtype})"
