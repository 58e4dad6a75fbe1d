"""The layout of runs in device memory: nothing overlaps, every run has its own first values, and results come back."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import monmdp
from monmdp.agents.base import HasSeededMemory
from monmdp.agents.q_learning import QLearner
from monmdp.cuda.packing import ALIGNMENT, UNIT, Group, first_values, new_run, pack, unpack
from monmdp.cuda.views import leaf_values, number_word
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


@pytest.mark.parametrize("agent", list(monmdp.AGENTS))
def test_fields_do_not_overlap_and_are_aligned(agent: str) -> None:
    group = pack(job_of(agent), SEEDS, STOP)
    used = np.zeros(group.size, bool)
    for field in group.fields.values():
        assert field.offset % UNIT == 0
        for i in range(len(SEEDS)):
            start = field.offset + i * field.stride
            assert not used[start : start + field.template.nbytes].any()
            used[start : start + field.template.nbytes] = True
    assert group.state_start % ALIGNMENT == group.copied_back % ALIGNMENT == group.size % ALIGNMENT == 0


@pytest.mark.parametrize("agent", [*monmdp.AGENTS, Lucky()])
def test_first_values_are_those_of_each_seed(agent: Any) -> None:
    job = job_of(agent)
    group = pack(job, SEEDS, STOP)
    table, state = first_values(group, 0, addresses_of(group), 0)
    content = np.zeros(group.size, np.uint8)
    content[group.state_start : group.copied_back] = state
    for field in group.fields.values():
        if field.word is not None:
            content[field.offset : field.offset + field.stride * len(SEEDS)].view(np.uint32)[:] = field.word
    for i, seed in enumerate(SEEDS):
        run = new_run(job, seed, STOP)
        for leaf, value in zip(group.schema.leaves, leaf_values(run), strict=True):
            if not leaf.ndim:
                assert table[i, leaf.word] == number_word(leaf, value), leaf.name
            elif leaf.root in ("memory", "progress", "test_clock") and leaf.name not in group.shared:
                found = group.fields[leaf.name].of_runs(content, len(SEEDS))[i]
                assert np.array_equal(found, value, equal_nan=leaf.dtype.kind == "f"), leaf.name
    assert group.seeds_differ == (isinstance(agent, Lucky) or not isinstance(job.agent, HasSeededMemory))


@pytest.mark.parametrize("evaluation", ["exact", "sampled"])
def test_results_come_back_by_name_and_seed(evaluation: str) -> None:
    group = pack(Job(monmdp.make("Loop", "Ask"), "QCounts", 60, 6, evaluation), SEEDS, STOP)
    content = np.zeros(group.copied_back, np.uint8)
    returned = {name: field for name, field in group.fields.items() if field.offset < group.copied_back}
    for number, (name, field) in enumerate(returned.items()):
        for i in range(len(SEEDS)):
            field.of_runs(content, len(SEEDS))[i] = i if name == "snapshots.versions" else 10 * number + i
    names = list(returned)
    for i, (record, tables) in enumerate(unpack(group, content)):
        for metric in METRICS:
            source = f"record.{metric.attribute}"
            if metric.attribute == "returns" and evaluation == "exact":
                source = "snapshots.values"
            assert (getattr(record, metric.attribute) == 10 * names.index(source) + i).all()
        for name in ("q", "visits", "reward_model"):
            assert tables[name].shape == group.fields[f"memory.{name}"].template.shape
            assert (tables[name] == 10 * names.index(f"memory.{name}") + i).all()


def test_rows_refer_to_fields_shared_arrays_and_onchip_memory() -> None:
    group = pack(job_of("Directed"), SEEDS, STOP)
    addresses = addresses_of(group)
    base, onchip = 5_000_000, group.onchip_bytes(600)
    assert 0 < onchip <= 600
    table, _ = first_values(group, base, addresses, 600)
    near = 0
    for leaf, value in zip(group.schema.leaves, leaf_values(group.template), strict=True):
        if not leaf.ndim:
            continue
        assert (table[:, leaf.word + 1 : leaf.word + 1 + leaf.ndim] == value.shape).all()
        place = table[:, leaf.word]
        if leaf.name in group.shared:
            assert (place == addresses[id(value)]).all()
            continue
        field = group.fields[leaf.name]
        if (place < 0).all():
            near += 1
            assert (-1 - place == field.offset - group.state_start).all()
            assert (-1 - place + value.nbytes <= onchip).all()
        else:
            assert place.tolist() == [base + field.offset + i * field.stride for i in range(len(SEEDS))]
    assert near > 3
    first = min(field.offset for field in group.state.values())
    stride = max(field.stride for field in group.state.values())
    assert table[:, -2].tolist() == [base + first + i * stride for i in range(len(SEEDS))]
    assert (table[:, -1] == onchip // 8).all()


def test_arrays_that_no_kernel_writes_are_shared() -> None:
    group = pack(job_of("UCB"), SEEDS, STOP)
    shared = {"world.offsets", "memory.alpha", "memory.epsilon", "memory.logs", "point_steps", "stop"}
    assert shared <= set(group.shared)
    assert {"memory.q", "memory.visits", "memory.bounds", "record.returns"} <= set(group.fields)
