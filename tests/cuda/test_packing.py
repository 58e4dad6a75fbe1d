"""Where runs lie in device memory: nothing overlaps, every run gets its own first values, and all comes back."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from monmdp.cuda.run import new_run
from monmdp.cuda.snapshots import Evaluated

import monmdp
from monmdp.agents.base import QLearner, update_q_learner
from monmdp.agents.greedy import act_epsilon_greedy
from monmdp.cuda.packing import (
    ALIGNMENT,
    SharedArrays,
    first_bytes,
    near_bytes,
    near_fields,
    pack,
    rows,
    some_words,
    unpack,
)
from monmdp.cuda.views import leaf_values, schema_of
from monmdp.training.job import Job

SEEDS = [3, 1, 4]
STOP = np.zeros(1, np.int64)


def job_of(agent: Any, monitor: str = "Ask") -> Job:
    return Job(monmdp.make("Loop", monitor), agent, 60, 6)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lucky(QLearner):
    """An agent whose first Q depends on the seed, and which does not say so."""

    act = act_epsilon_greedy
    update = update_q_learner

    def memory(self, world: Any, steps: int, seed: int) -> Any:
        memory = self.common(world, steps, seed)
        memory.q[:] = seed
        return memory


@pytest.mark.parametrize("agent", list(monmdp.AGENTS))
def test_blocks_do_not_overlap_and_are_aligned(agent: str) -> None:
    group = pack(job_of(agent), SEEDS, STOP)
    end = 0
    for block in group.blocks:
        assert block.offset % ALIGNMENT == 0
        assert block.offset >= end
        end = block.offset + block.each * len(SEEDS)
    assert end <= group.size
    assert group.output_bytes <= group.sent <= group.size


@pytest.mark.parametrize("agent", [*monmdp.AGENTS, Lucky()])
def test_first_values_are_those_of_each_seed(agent: Any) -> None:
    job = job_of(agent)
    group = pack(job, SEEDS, STOP)
    content = np.zeros(group.size, np.uint8)
    content[: group.sent] = first_bytes(group)
    for block in group.blocks:
        if block.filled is not None:
            part = content[block.offset : block.offset + block.each * len(SEEDS)]
            part.view(np.uint32)[:] = block.filled
    for i, seed in enumerate(SEEDS):
        wanted = dict(
            zip((leaf.name for leaf in group.schema.leaves), leaf_values(new_run(job, seed, STOP)), strict=True)
        )
        for block in group.blocks:
            start = block.offset + i * block.each
            found = content[start : start + block.template.nbytes].view(block.template.dtype)
            assert np.array_equal(found, wanted[block.leaf.name].reshape(-1), equal_nan=True), block.leaf.name
    assert group.alike == (not isinstance(agent, Lucky) and job.agent.seeded(job.world, 0) is not None)


def test_outputs_come_back_by_name_and_seed() -> None:
    group = pack(job_of("QCounts"), SEEDS, STOP)
    content = np.zeros(group.output_bytes, np.uint8)
    for number, block in enumerate(group.outputs):
        for i in range(len(SEEDS)):
            start = block.offset + i * block.each
            part = content[start : start + block.template.nbytes].view(block.template.dtype)
            part[:] = 10 * number + i
    for i, found in enumerate(unpack(group, content)):
        for number, block in enumerate(group.outputs):
            assert found[block.leaf.name].shape == block.template.shape
            assert (found[block.leaf.name] == 10 * number + i).all()
    names = {block.leaf.name for block in group.outputs}
    assert {"record.beta", "memory.q", "memory.visits", "memory.reward_model", "snapshots.values", "progress"} <= names


def test_rows_point_at_blocks_shared_arrays_and_near_memory() -> None:
    group = pack(job_of("Directed"), SEEDS, STOP)
    shared = SharedArrays()
    for values in group.shared.values():
        shared.add(values)
    addresses = {key: 10**9 + offset for key, offset in shared.offsets.items()}
    table = rows(group, 5_000_000, addresses, room=600)
    blocks = {block.leaf.name: block for block in group.blocks}
    near = {block.leaf.name for block in near_fields(group, 600)}
    assert near
    assert near_bytes(group, 600) <= 600
    for leaf, value in zip(group.schema.leaves, leaf_values(group.template), strict=True):
        if not leaf.is_array:
            continue
        assert (table[:, leaf.word + 1 : leaf.word + 1 + leaf.ndim] == value.shape).all()
        place = table[:, leaf.word]
        if leaf.name in near:
            assert (place < 0).all()
        elif leaf.name in group.shared:
            assert (place == addresses[id(value)]).all()
        else:
            block = blocks[leaf.name]
            assert place.tolist() == [5_000_000 + block.offset + i * block.each for i in range(len(SEEDS))]
    assert (table[:, group.schema.words] == len(near)).all()


def test_what_nobody_writes_is_shared() -> None:
    one, other = pack(job_of("UCB"), SEEDS, STOP), pack(job_of("UCB"), [7], STOP)
    assert {"world.offsets", "memory.alpha", "memory.epsilon", "memory.logs", "point_steps", "stop"} <= set(one.shared)
    assert not {"memory.q", "memory.visits", "memory.bounds", "record.returns"} & set(one.shared)
    shared = SharedArrays()
    for values in (*one.shared.values(), *other.shared.values()):
        shared.add(values)
    assert shared.offsets[id(one.shared["memory.logs"])] == shared.offsets[id(other.shared["memory.logs"])]
    content = shared.content()
    for values in shared.arrays:
        at = shared.offsets[id(values)]
        assert content[at : at + values.nbytes].tobytes() == np.ascontiguousarray(values).tobytes()


def test_a_part_of_a_row_keeps_its_words() -> None:
    group = pack(job_of("Naive"), SEEDS, STOP)
    shared = {id(values): 1 for values in group.shared.values()}
    whole = rows(group, 0, shared, room=0)
    named = {leaf.name: leaf for leaf in group.schema.leaves}
    smaller = schema_of(Evaluated(group.template.snapshots, group.template.world))
    found = some_words(group, whole, smaller)
    for leaf in smaller.leaves:
        assert (found[:, leaf.word] == whole[:, named[leaf.name].word]).all()
