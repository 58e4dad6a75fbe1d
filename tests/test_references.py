"""Named tuples that kernels get by reference: fields are read and written as in Python, and nothing leaks."""

import copy
import gc
import pickle
import sys
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

from monmdp.agents.arrays import array_tuple, zeros
from monmdp.kernels.compile import internal, kernel, on_compilation
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


def test_parts_of_arrays_are_arrays_of_the_same_numbers(outer):
    table = outer.inner.table
    table[:] = np.arange(12.0).reshape(4, 3)

    @kernel
    def parts(inner, column):
        inner.table[0] = inner.table[2]
        rows, (n_rows, n_columns) = inner.table[1:3], inner.table.shape
        return rows[:, column].sum(), inner.table[np.int32(3), column], n_rows * n_columns + len(inner.flags)

    transposed = outer.inner._replace(table=np.asfortranarray(table))  # not contiguous, so not read in the same way
    for inner in (outer.inner, transposed):
        assert parts(inner, 1) == (4.0 + 7.0, 10.0, 16)
        assert inner.table[0].tolist() == [6.0, 7.0, 8.0]


def test_copies_are_passed_as_what_they_are(outer):
    first = kernel(lambda outer: outer.inner.table[0, 0] + outer.rate, cache=False)
    assert first(outer) == 0.5
    for copied in (copy.deepcopy(outer), pickle.loads(pickle.dumps(outer)), outer._replace(rate=1.5)):
        copied.inner.table[0, 0] = 3.0
        assert first(copied) == 3.0 + copied.rate
    assert first(outer) == 3.5  # its tables are those of the last copy


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_waits_for_the_compiler_only(collects):
    compiled, before, during = kernel(lambda x: x + 1, cache=False), gc.isenabled(), []
    (gc.enable if collects else gc.disable)()
    try:
        with on_compilation(compiled, lambda: during.append(gc.isenabled())):
            assert compiled(1) == 2
        assert during == [False]
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
