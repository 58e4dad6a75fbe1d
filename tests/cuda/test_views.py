"""Named tuples as rows of words, and the expression that rebuilds them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from gpu import DEVICE_AGENTS

import monmdp
from monmdp.cuda.packing import Evaluated, leaf_values, new_run, number_word, schema_of
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
    assert [(leaf.name, leaf.word, leaf.ndim) for leaf in schema.leaves] == [
        ("counts", 0, 1), ("inner.table", 2, 2), ("inner.flag", 5, 0), ("rate", 6, 0), ("limit", 7, 0),
    ]  # fmt: skip
    assert schema.words == 8
    assert [np.shape(value) for value in leaf_values(outer())] == [(3,), (2, 4), (), (), ()]


def test_expression_rebuilds_the_tuple_from_its_row() -> None:
    schema = schema_of(outer())
    words = np.array([4096, 3, -17, 2, 4, 1, number_word(schema.leaves[3], 0.5), -7], np.int64)
    names: dict[str, Any] = {f"kind_{i}": kind for i, kind in enumerate(schema.kinds)}
    names |= {"np": np, "words": words, "floats": words.view(np.float64), "onchip": 1000}
    names |= {"located": lambda address, onchip: address if address >= 0 else onchip - 1 - address}
    names |= {"array_at": lambda *given: given}
    rebuilt = eval(schema.expression, names)
    assert rebuilt.counts == (4096, (3,), np.int64)
    assert rebuilt.inner == Inner((1016, (2, 4), np.float32), True)
    assert (rebuilt.rate, type(rebuilt.rate), rebuilt.limit) == (0.5, np.float32, -7)


@pytest.mark.parametrize("bad", ["text", np.zeros((2, 2, 2)), np.zeros(2, complex), [1, 2], None])
def test_unsupported_field_is_named(bad: Any) -> None:
    with pytest.raises(monmdp.MonMDPError, match=r"field 'inner\.table' cannot be copied to a GPU"):
        schema_of(outer(inner=Inner(bad, True)))


@pytest.mark.parametrize("agent", DEVICE_AGENTS)
def test_schema_is_the_same_for_all_problems(agent: str) -> None:
    stop = np.zeros(1, np.int64)
    schema = schema_of(new_run(Job(monmdp.make("Loop", "Ask"), agent, 40, 4), 0, stop))
    assert {"memory.q", "memory.visits", "record.returns", "world.offsets"} <= {leaf.name for leaf in schema.leaves}
    assert schema == schema_of(new_run(Job(monmdp.make("Empty", "Level"), agent, 90, 9), 3, stop))


def test_rows_of_runs_begin_like_rows_of_evaluations() -> None:
    run = new_run(Job(monmdp.make("Loop", "Ask"), "Naive", 40, 4), 0, np.zeros(1, np.int64))
    evaluated = schema_of(Evaluated(run.snapshots, run.world, run.episodes))
    assert schema_of(run).leaves[: len(evaluated.leaves)] == evaluated.leaves
