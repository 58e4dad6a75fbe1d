"""The layout of runs in device memory: nothing overlaps, every run has its own first values, and results come back."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest
from gpu import DEVICE_AGENTS

import monmdp
from monmdp.agents.q_learning import QLearner
from monmdp.cuda import packing
from monmdp.cuda.packing import (
    ALIGNMENT,
    FILLED_FROM,
    UNIT,
    Group,
    constant_word,
    first_values,
    leaf_values,
    new_run,
    number_word,
    pack,
    unpack,
)
from monmdp.training.job import Job
from monmdp.training.metrics import METRICS

SEEDS = [3, 1, 4]
STOP = np.zeros(1, np.int64)


def job_of(agent: Any, monitor: str = "Ask") -> Job:
    return Job(monmdp.make("Loop", monitor), agent, 60, 6)


class LuckyMemory(NamedTuple):
    q: Any
    visits: Any
    luck: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lucky(QLearner):
    """An agent whose first Q and a number depend on the seed, which it does not declare."""

    def memory(self, world: Any, steps: int, seed: int) -> Any:
        memory = self.common(world, steps, seed)
        return LuckyMemory(np.full_like(memory.q, seed), memory.visits, 100 + seed)


def addresses_of(group: Group) -> dict[int, int]:
    return {id(values): 10**9 + number for number, values in enumerate(group.shared.values())}


def arrays_of(group: Group) -> dict[str, np.ndarray]:
    """The arrays of the first run that are not shared, by name."""
    leaves = zip(group.schema.leaves, leaf_values(group.run), strict=True)
    return {leaf.name: value for leaf, value in leaves if leaf.ndim and leaf.name not in group.shared}


@pytest.mark.parametrize("agent", DEVICE_AGENTS)
def test_arrays_do_not_overlap_and_are_aligned(agent: str) -> None:
    group = pack(job_of(agent), SEEDS, STOP)
    used = np.zeros(group.size, bool)
    for name, value in arrays_of(group).items():
        offset, stride = group.places[name]
        assert offset % UNIT == stride % UNIT == 0
        for i in range(len(SEEDS)):
            part = used[offset + i * stride : offset + i * stride + value.nbytes]
            assert len(part) == value.nbytes
            assert not part.any()
            part[:] = True
    assert group.state_start % ALIGNMENT == group.copied_back % ALIGNMENT == group.size % ALIGNMENT == 0


@pytest.mark.parametrize("seeds", [SEEDS, [7]], ids=str)
@pytest.mark.parametrize("agent", [*DEVICE_AGENTS, Lucky()])
def test_first_values_are_those_of_each_seed(agent: Any, seeds: list[int]) -> None:
    job = job_of(agent)
    group = pack(job, seeds, STOP)
    table, state = first_values(group, 0, addresses_of(group), 0)
    assert table.shape == (len(seeds), group.schema.words + 2)
    for i, seed in enumerate(seeds):
        run = new_run(job, seed, STOP)
        for leaf, value in zip(group.schema.leaves, leaf_values(run), strict=True):
            if not leaf.ndim:
                assert table[i, leaf.word] == number_word(leaf, value), leaf.name
            elif leaf.name in state.dtype.names:
                assert np.array_equal(state[leaf.name][i], value, equal_nan=leaf.dtype.kind == "f"), leaf.name
            elif leaf.name in group.filled:
                assert (value.reshape(-1).view(np.uint32) == group.filled[leaf.name]).all(), leaf.name


@pytest.mark.parametrize("evaluation", ["exact", "sampled"])
def test_results_come_back_by_name_and_seed(evaluation: str) -> None:
    group = pack(Job(monmdp.make("Loop", "Ask"), "QCounts", 60, 6, evaluation), SEEDS, STOP)
    results, state = np.zeros(len(SEEDS), group.results), np.zeros(len(SEEDS), group.state)
    names = [*group.results.names, *group.state.names]
    for number, name in enumerate(names):
        for i in range(len(SEEDS)):
            section = results if name in group.results.names else state
            section[name][i] = i if name == "snapshots.versions" else 10 * number + i
    content = np.zeros(group.copied_back, np.uint8)
    content[: results.nbytes] = results.view(np.uint8)
    content[group.state_start : group.state_start + state.nbytes] = state.view(np.uint8)
    for i, (record, tables) in enumerate(unpack(group, content)):
        for metric in METRICS:
            source = f"record.{metric.attribute}"
            if metric.attribute == "returns" and evaluation == "exact":
                source = "snapshots.values"
            assert (getattr(record, metric.attribute) == 10 * names.index(source) + i).all()
        for name in ("q", "visits", "reward_model"):
            assert tables[name].shape == arrays_of(group)[f"memory.{name}"].shape
            assert (tables[name] == 10 * names.index(f"memory.{name}") + i).all()


def test_rows_refer_to_arrays_and_onchip_memory() -> None:
    group = pack(job_of("Directed"), SEEDS, STOP)
    addresses = addresses_of(group)
    base, onchip = 5_000_000, group.onchip_bytes(600)
    assert 0 < onchip <= 600
    table, _ = first_values(group, base, addresses, 600)
    near = 0
    for leaf, value in zip(group.schema.leaves, leaf_values(group.run), strict=True):
        if not leaf.ndim:
            continue
        assert (table[:, leaf.word + 1 : leaf.word + 1 + leaf.ndim] == value.shape).all()
        place = table[:, leaf.word]
        if leaf.name in group.shared:
            assert (place == addresses[id(value)]).all()
            continue
        offset, stride = group.places[leaf.name]
        if (place < 0).all():
            near += 1
            assert (-1 - place == offset - group.state_start).all()
            assert (-1 - place + value.nbytes <= onchip).all()
        else:
            assert place.tolist() == [base + offset + i * stride for i in range(len(SEEDS))]
    assert near > 3
    start = base + group.state_start
    assert table[:, -2].tolist() == [start + i * group.state.itemsize for i in range(len(SEEDS))]
    assert (table[:, -1] == onchip // 8).all()


def test_only_arrays_of_one_word_are_filled_on_the_device() -> None:
    """A single other element anywhere, and the array is copied."""
    n = FILLED_FROM // 8
    for values, word in ((np.zeros(n), 0), (np.zeros((n, 2), np.int64), 0), (np.full(2 * n, 7, np.int32), 7)):
        assert constant_word(values) == word
        for place in (0, 1, values.size // 2 - 1, values.size // 2, -2, -1):
            other = values.copy()
            other.reshape(-1)[place] = 1
            assert constant_word(other) is None
    assert constant_word(np.full(n, -1)) == 2**32 - 1
    assert constant_word(np.ones(n)) is None  # two different words
    assert constant_word(np.zeros(n - 1)) is None  # too small


def test_keys_of_a_seed_are_computed_once() -> None:
    """A sweep has the same seeds in every cell, and deriving keys takes longer than copying them."""
    seeds = [70_001, 70_002]
    before = packing._keys_of.cache_info().misses
    for agent in ("Naive", "UCB"):
        group = pack(job_of(agent), seeds, STOP)
        first_values(group, 0, addresses_of(group), 0)
    assert packing._keys_of.cache_info().misses - before == len(seeds)


def test_arrays_that_no_kernel_writes_are_shared() -> None:
    group = pack(job_of("UCB"), SEEDS, STOP)
    shared = {"world.offsets", "memory.alpha", "memory.epsilon", "memory.logs", "point_steps", "stop"}
    assert shared <= set(group.shared)
    assert {"memory.q", "memory.visits", "memory.bounds", "record.returns"} <= set(arrays_of(group))
