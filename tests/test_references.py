"""Named tuples that kernels get by reference: fields are read and written as in Python, and nothing leaks."""

import sys
from typing import Any, NamedTuple

import numba
import pytest

from monmdp.agents.arrays import array_tuple, zeros
from monmdp.kernels.compile import internal, kernel
from monmdp.kernels.references import by_reference

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="plain Python passes everything by reference")

Inner: Any = array_tuple(__name__, "Inner", "", table="float rows 3", flags="bool rows")
Outer: Any = array_tuple(__name__, "Outer", "", inner=Inner, status={"count": "int", "low": "float"}, rate=float)


@by_reference
class Other(NamedTuple):
    """Another class with the fields of Inner."""

    table: Any
    flags: Any


@internal
def add_row(inner, row, rate):
    """Add rate · column to a row that is flagged; returns the sum of the row."""
    if inner.flags[row]:
        for column in range(inner.table.shape[1]):
            inner.table[row, column] += rate * column
    return inner.table[row, 0] + inner.table[row, 1] + inner.table[row, 2]


def add_rows(outer):
    """Add to all rows, by calls that pass part of the tuple on."""
    status, total = outer.status[0], 0.0
    for row in range(len(outer.inner.flags)):
        total += add_row(outer.inner, row, outer.rate)
        status.count += outer.inner.flags[row]
    status.low = min(status.low, -total)
    return total


@pytest.fixture
def outer() -> Any:
    made = zeros(Outer, {"rows": 4}, rate=0.5)
    made.inner.flags[1:3] = True
    return made


def test_kernels_read_and_write_fields_and_keep_no_references(outer):
    arrays = [outer.inner.table, outer.inner.flags, outer.status]
    before = [sys.getrefcount(array) for array in arrays]
    assert kernel(add_rows)(outer) == 3.0
    assert [sys.getrefcount(array) for array in arrays] == before
    assert outer.inner.table.tolist() == [[0, 0, 0], [0, 0.5, 1], [0, 0.5, 1], [0, 0, 0]]
    assert outer.status["count"] == 2
    assert outer.status["low"] == -3.0


def test_types_differ_by_class_and_by_fields(outer):
    inner = outer.inner
    kinds = [numba.typeof(value) for value in (
        inner, Other(*inner), inner._replace(flags=inner.table), inner._replace(table=inner.table.T),
    )]  # fmt: skip
    assert len(set(kinds)) == 4
    assert numba.typeof(Inner(*inner)) == kinds[0]
    with pytest.raises(numba.TypingError, match="Unknown attribute 'missing'"):
        kernel(lambda outer: outer.missing, cache=False)(outer)
