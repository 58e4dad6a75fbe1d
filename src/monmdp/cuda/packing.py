"""The layout of runs in device memory. Nothing here needs a GPU.

A group is a set of seeds of one job. Arrays that no kernel writes (the world, schedules) are stored once for all runs.
The others form three sections of a group:
  results   written by kernels and copied back; contiguous per run
  state     copied to the device and back; contiguous per run, the smallest arrays first
  rest      large arrays that are filled with a constant or left uninitialised; contiguous per array
While a block of threads trains a run, the first part of the run's state is in the block's on-chip (shared) memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.base import HasSeededMemory
from monmdp.cuda.views import Schema, leaf_values, number_word, schema_of
from monmdp.problem import Floats, Integers
from monmdp.training.job import Finished, Job
from monmdp.training.loop import Cursor, Keys, new_cursor, stream_keys
from monmdp.training.metrics import METRICS, Record, Tally, new_record
from monmdp.world import World

#: Sections begin at multiples of ALIGNMENT bytes, arrays of a run at multiples of UNIT bytes.
ALIGNMENT, UNIT = 256, 16
#: Constant arrays from this number of bytes per run are filled on the device, not copied; larger than on-chip memory.
FILLED_FROM = 16 << 10
#: Actions per word of a kept policy.
BITS = 32
#: Arrays of the memory that are copied back in any case.
TABLES = ("memory.visits", "memory.q", "memory.reward_model")


class Snapshots(NamedTuple):
    """The distinct greedy policies of a run in order, kept by the training kernel and evaluated afterwards.

    policies [S * words, points]: one bit per greedy action; kept [1]: number of policies; versions [points]: the
    policy of each recording point; values [points]: the return of each policy.
    """

    policies: Integers
    kept: Integers
    versions: Integers
    values: Floats


class Evaluated(NamedTuple):
    """What an evaluation reads and writes."""

    snapshots: Snapshots
    world: World
    episodes: int


class Run(NamedTuple):
    """Everything that one run reads and writes; it begins like `Evaluated`, so that both can read the same rows.

    progress [2], stop [1] and episodes as in `training.loop`; test_clock [1] counts the draws of sampled evaluations.
    """

    snapshots: Snapshots
    world: World
    episodes: int
    point_steps: Integers
    stop: Integers
    cursor: Cursor
    keys: Keys
    tally: Tally
    progress: Integers
    test_clock: Integers
    record: Any
    memory: Any


def words_per_state(world: World) -> int:
    """Words of a kept policy per state."""
    return -(-world.n_actions // BITS)


def new_run(job: Job, seed: int, stop: Integers) -> Run:
    """A run before its first step; without exact evaluation, there is no space for policies."""
    points, exact, world = len(job.point_steps), job.episodes == 0, job.world
    room, keys = points if exact else 1, stream_keys(seed)
    return Run(
        snapshots=Snapshots(
            policies=np.zeros((world.n_states * words_per_state(world) if exact else 1, room), np.uint32),
            kept=np.zeros(1, np.int32),
            versions=np.zeros(room, np.int32),
            values=np.zeros(room),
        ),
        world=world,
        episodes=job.episodes,
        point_steps=job.point_steps,
        stop=stop,
        cursor=new_cursor(world, keys),
        keys=keys,
        tally=Tally(),
        progress=np.zeros(2, np.int64),
        test_clock=np.zeros(1, np.int64),
        record=new_record(points),
        memory=job.agent.memory(world, job.steps, seed),
    )


def aligned(size: int, unit: int = ALIGNMENT) -> int:
    """The next multiple of a unit."""
    return -(-size // unit) * unit


class Field(NamedTuple):
    """One array of all runs of a group: that of run i begins at byte offset + i * stride of the group.

    template: its first value; word: the four bytes to fill it with, None if it is copied or left uninitialised.
    """

    template: np.ndarray
    offset: int
    stride: int
    word: int | None = None

    def of_runs(self, content: np.ndarray, runs: int, begin: int = 0) -> np.ndarray:
        """The array of all runs, [runs, ...], as a view of the group's bytes from `begin` on."""
        shape, strides = self.template.shape, self.template.strides
        return np.ndarray((runs, *shape), self.template.dtype, content, self.offset - begin, (self.stride, *strides))


@dataclass(frozen=True, eq=False)
class Group:
    """Some seeds of a job on the device: arrays that their runs share by name, and fields by name.

    In a group of `size` bytes, results end at state_start, and the state ends at copied_back.
    """

    job: Job
    seeds: list[int]
    schema: Schema
    template: Run
    shared: dict[str, np.ndarray]
    fields: dict[str, Field]
    state_start: int
    copied_back: int
    size: int
    seeds_differ: bool

    @property
    def state(self) -> dict[str, Field]:
        """The fields that are copied to the device."""
        return {n: field for n, field in self.fields.items() if self.state_start <= field.offset < self.copied_back}

    def onchip_bytes(self, room: int) -> int:
        """The size of the arrays at the beginning of a run's state that fit into `room` bytes."""
        ends = [field.offset - self.state_start + aligned(field.template.nbytes, UNIT) for field in self.state.values()]
        return max((end for end in ends if end <= room), default=0)


def pack(job: Job, seeds: list[int], stop: Integers) -> Group:
    """Lay out the runs of some seeds."""
    template = new_run(job, seeds[0], stop)
    schema = schema_of(template)
    shared: dict[str, np.ndarray] = {}
    results: dict[str, np.ndarray] = {}
    state: dict[str, np.ndarray] = {}
    rest: dict[str, tuple[np.ndarray, int | None]] = {}
    for leaf, value in zip(schema.leaves, leaf_values(template), strict=True):
        if not leaf.ndim:
            continue
        if leaf.root in ("world", "point_steps", "stop") or not value.flags.writeable:
            shared[leaf.name] = value
        elif leaf.name == "progress":
            rest[leaf.name] = (value, 0)
        elif leaf.name == "snapshots.policies":
            rest[leaf.name] = (value, None)
        elif leaf.root in ("record", "snapshots"):
            results[leaf.name] = value
        elif leaf.name in TABLES or (word := constant_word(value)) is None:
            state[leaf.name] = value
        else:
            rest[leaf.name] = (value, word)
    fields: dict[str, Field] = {}
    state_start = _add_per_run(fields, results, 0, len(seeds))
    by_size = dict(sorted(state.items(), key=lambda item: item[1].nbytes))
    size = copied_back = _add_per_run(fields, by_size, state_start, len(seeds))
    for name, (value, word) in rest.items():
        fields[name] = Field(value, size, aligned(value.nbytes, UNIT), word)
        size += aligned(fields[name].stride * len(seeds))
    differ = _seeds_differ(job, seeds, template)
    return Group(job, seeds, schema, template, shared, fields, state_start, copied_back, size, differ)


def _add_per_run(fields: dict[str, Field], arrays: dict[str, np.ndarray], start: int, runs: int) -> int:
    """Add a section whose arrays are contiguous per run; returns where it ends."""
    stride, offset = sum(aligned(value.nbytes, UNIT) for value in arrays.values()), start
    for name, value in arrays.items():
        fields[name] = Field(np.ascontiguousarray(value), offset, stride)
        offset += aligned(value.nbytes, UNIT)
    return start + aligned(stride * runs)


def constant_word(values: np.ndarray) -> int | None:
    """The four bytes that a large array repeats, as a number; None for other arrays and small ones."""
    if values.nbytes < FILLED_FROM or values.nbytes % 4:
        return None
    words = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
    return int(words[0]) if (words == words[0]).all() else None


def _seeds_differ(job: Job, seeds: list[int], template: Run) -> bool:
    """Whether the memories of the first and the last seed differ in more than the fields that the agent declares.

    Read-only arrays are the same for all seeds by definition.
    """
    if not isinstance(job.agent, HasSeededMemory):
        return True
    declared = job.agent.seeded(job.world, seeds[0])
    other = job.agent.memory(job.world, job.steps, seeds[-1]) if len(seeds) > 1 else template.memory
    leaves = schema_of(other).leaves
    for leaf, one, two in zip(leaves, leaf_values(template.memory), leaf_values(other), strict=True):
        fixed = leaf.ndim > 0 and not one.flags.writeable
        if leaf.root not in declared and not fixed and np.asarray(one).tobytes() != np.asarray(two).tobytes():
            return True
    return False


def _of_seed(group: Group, seed: int) -> dict[str, Any]:
    """The arrays and numbers of the memory that depend on the seed, by name."""
    agent: Any = group.job.agent
    if not group.seeds_differ:
        return {f"memory.{name}": value for name, value in agent.seeded(group.job.world, seed).items()}
    names = [leaf.name for leaf in group.schema.leaves if leaf.root == "memory"]
    return dict(zip(names, leaf_values(agent.memory(group.job.world, group.job.steps, seed)), strict=True))


_keys_of = lru_cache(maxsize=1 << 16)(stream_keys)


def row_words(schema: Schema) -> int:
    """Words per row: those of the schema, the address of the run's state, and the number of its words on-chip."""
    return schema.words + 2


def first_values(group: Group, base: int, addresses: dict[int, int], room: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a group's runs, and the bytes of their state before the first step.

    base: the group's address; addresses: those of shared arrays, by id; room: bytes of on-chip memory.
    """
    runs, onchip, state = len(group.seeds), group.onchip_bytes(room), group.state
    table = np.zeros((runs, row_words(group.schema)), np.int64)
    number = np.arange(runs, dtype=np.int64)
    for leaf, value in zip(group.schema.leaves, leaf_values(group.template), strict=True):
        if not leaf.ndim:
            table[:, leaf.word] = number_word(leaf, value)
            continue
        table[:, leaf.word + 1 : leaf.word + 1 + leaf.ndim] = value.shape
        if leaf.name in group.shared:
            table[:, leaf.word] = addresses[id(value)]
            continue
        field = group.fields[leaf.name]
        is_onchip = leaf.name in state and field.offset - group.state_start < onchip
        place = group.state_start - field.offset - 1 if is_onchip else base + field.offset + number * field.stride
        table[:, leaf.word] = place
    keys = [_keys_of(seed) for seed in group.seeds]
    cursors = [new_cursor(group.job.world, key) for key in keys]
    for name, values in (("keys", np.array(keys, np.uint64).view(np.int64)), ("cursor", np.array(cursors, np.int64))):
        first = next(leaf.word for leaf in group.schema.leaves if leaf.root == name)
        table[:, first : first + values.shape[1]] = values
    table[:, -2] = base + group.state_start + number * max(field.stride for field in state.values())
    table[:, -1] = onchip // 8
    content = np.zeros(group.copied_back - group.state_start, np.uint8)
    views = {name: field.of_runs(content, runs, group.state_start) for name, field in state.items()}
    for name, field in state.items():
        views[name][:] = field.template
    numbers = {leaf.name: leaf for leaf in group.schema.leaves if not leaf.ndim}
    for i, seed in enumerate(group.seeds):
        for name, value in _of_seed(group, seed).items():
            if name in views:
                views[name][i] = value
            elif name in numbers:
                table[i, numbers[name].word] = number_word(numbers[name], value)
    return table, content


def unpack(group: Group, content: np.ndarray) -> list[Finished]:
    """The record and the final tables of every run, from the bytes of results and state."""
    runs = len(group.seeds)
    arrays = {
        name: field.of_runs(content, runs) for name, field in group.fields.items() if field.offset < group.copied_back
    }
    if group.job.episodes == 0:
        versions = arrays["snapshots.versions"].astype(np.int64)
        arrays["record.returns"] = np.take_along_axis(arrays["snapshots.values"], versions, 1)
    arrays.setdefault("memory.reward_model", np.zeros((runs, 0)))
    recorded = [arrays[f"record.{metric.attribute}"] for metric in METRICS]
    tables = {name.removeprefix("memory."): arrays[name] for name in TABLES}
    return [
        (
            Record(*(values[i] for values in recorded)),
            {**{name: table[i] for name, table in tables.items()}, "remarks": []},
        )
        for i in range(runs)
    ]
