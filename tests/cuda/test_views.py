"""Named tuples as rows of numbers, and the source that rebuilds them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from monmdp.cuda.run import new_run

import monmdp
from monmdp.cuda.views import leaf_values, number_word, rebuilding, schema_of
from monmdp.training.job import Job


class Inner(NamedTuple):
    table: Any
    flag: bool


class Outer(NamedTuple):
    counts: Any
    inner: Inner
    rate: Any
    limit: int


def outer(**changes: Any) -> Outer:
    given = Outer(np.zeros(3, np.int64), Inner(np.zeros((2, 4), np.float32), True), np.float32(0.5), -7)
    return given._replace(**changes)


def test_every_leaf_has_its_own_words() -> None:
    schema = schema_of(outer())
    assert [(leaf.name, leaf.word, leaf.words) for leaf in schema.leaves] == [
        ("counts", 0, 2), ("inner.table", 2, 3), ("inner.flag", 5, 1), ("rate", 6, 1), ("limit", 7, 1),
    ]  # fmt: skip
    assert schema.words == 8
    assert [np.shape(value) for value in leaf_values(outer())] == [(3,), (2, 4), (), (), ()]


def test_the_source_rebuilds_the_tuple_from_its_row() -> None:
    source, names = rebuilding(schema_of(outer()))
    names |= {"located": lambda address, near: address if address >= 0 else near - 1 - address}
    names |= {"vector_at": lambda *given: ("vector", *given), "matrix_at": lambda *given: ("matrix", *given)}
    exec(source, names)
    leaves = schema_of(outer()).leaves
    words = np.array([4096, 3, -17, 2, 4, 1, number_word(leaves[3], 0.5), -7], np.int64)
    made = names["rebuild"](words, words.view(np.float64), 1000)
    assert made.counts == ("vector", 4096, 3, np.int64)
    assert made.inner == Inner(("matrix", 1016, 2, 4, np.float32), True)
    assert (made.rate, type(made.rate), made.limit) == (0.5, np.float32, -7)


@pytest.mark.parametrize("bad", ["text", np.zeros((2, 2, 2)), np.zeros(2, complex), [1, 2], None])
def test_what_no_device_can_hold_is_named(bad: Any) -> None:
    with pytest.raises(monmdp.MonMDPError, match=r"field 'inner\.table' cannot go to a GPU"):
        schema_of(outer(inner=Inner(bad, True)))


@pytest.mark.parametrize("agent", list(monmdp.AGENTS))
def test_every_agent_can_be_laid_out(agent: str) -> None:
    job = Job(monmdp.make("Loop", "Ask"), agent, 40, 4)
    schema = schema_of(new_run(job, 0, job.stop))
    assert {"memory.q", "memory.visits", "record.returns", "world.offsets"} <= {leaf.name for leaf in schema.leaves}
    assert schema == schema_of(new_run(Job(monmdp.make("Empty", "Level"), agent, 90, 9), 3, job.stop))
