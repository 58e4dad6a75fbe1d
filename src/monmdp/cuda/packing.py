"""The layout of runs in device memory. Nothing here needs a GPU.

A group is a set of seeds of one job. Arrays that no kernel writes (the world, schedules) are stored once for all runs.
The others form three sections of a group:
  results   written by kernels and copied back; contiguous per run
  state     copied to the device and back; contiguous per run, the smallest arrays first
  rest      large arrays that are filled with a constant or left uninitialised; contiguous per array
While a block of threads trains a run, the first part of the run's state is in the block's on-chip (shared) memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.base import HasSeededMemory
from monmdp.cuda.views import Schema, leaf_values, number_word, schema_of
from monmdp.problem import Floats, Integers
from monmdp.training.job import Finished, Job
from monmdp.training.loop import Cursor, Keys, new_cursor, stream_keys
from monmdp.training.metrics import Record, Tally, new_record
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

    word: the four bytes to fill it with, None if it is copied or left uninitialised.
    """

    name: str
    template: np.ndarray
    offset: int
    stride: int
    word: int | None = None

    def of_runs(self, content: np.ndarray, runs: int, begin: int = 0) -> np.ndarray:
        """The array of all runs, [runs, ...], as a view of the group's bytes from `begin` on."""
        shape, strides = self.template.shape, self.template.strides
        return np.ndarray((runs, *shape), self.template.dtype, content, self.offset - begin, (self.stride, *strides))


@dataclass
class Group:
    """Some seeds of a job on the device; results end at state_start, and state at copied_back."""

    job: Job
    seeds: list[int]
    schema: Schema
    template: Run
    shared: dict[str, np.ndarray]
    results: list[Field]
    state: list[Field]
    rest: list[Field]
    state_start: int
    copied_back: int
    size: int
    seeds_differ: bool

    @property
    def row_words(self) -> int:
        """Words per row: those of the schema, and the address and length of what is on-chip."""
        return self.schema.words + 2


def pack(job: Job, seeds: list[int], stop: Integers) -> Group:
    """Lay out the runs of some seeds."""
    template = new_run(job, seeds[0], stop)
    schema = schema_of(template)
    shared: dict[str, np.ndarray] = {}
    results, state, rest = {}, {}, {}
    for leaf, value in zip(schema.leaves, leaf_values(template), strict=True):
        if not leaf.is_array:
            continue
        root, name = leaf.path[0], leaf.name
        if root in ("world", "point_steps", "stop") or not value.flags.writeable:
            shared[name] = value
        elif name in ("progress", "snapshots.policies"):
            rest[name] = value
        elif root in ("record", "snapshots"):
            results[name] = value
        elif name in TABLES or constant_word(value) is None:
            state[name] = value
        else:
            rest[name] = value
    by_size = dict(sorted(state.items(), key=lambda item: item[1].nbytes))
    result_fields, state_start = _per_run(results, 0, len(seeds))
    state_fields, copied_back = _per_run(by_size, state_start, len(seeds))
    rest_fields, size = [], copied_back
    for name, value in rest.items():
        word = 0 if name == "progress" else constant_word(value)
        rest_fields.append(Field(name, value, size, aligned(value.nbytes, UNIT), word))
        size += aligned(aligned(value.nbytes, UNIT) * len(seeds))
    return Group(
        job, seeds, schema, template, shared, result_fields, state_fields, rest_fields, state_start, copied_back, size,
        _seeds_differ(job, seeds, template),
    )  # fmt: skip


def _per_run(arrays: dict[str, np.ndarray], start: int, runs: int) -> tuple[list[Field], int]:
    """Fields of a section whose arrays are contiguous per run, and where the section ends."""
    stride = sum(aligned(value.nbytes, UNIT) for value in arrays.values())
    fields, offset = [], start
    for name, value in arrays.items():
        fields.append(Field(name, np.ascontiguousarray(value), offset, stride))
        offset += aligned(value.nbytes, UNIT)
    return fields, start + aligned(stride * runs)


def constant_word(values: np.ndarray) -> int | None:
    """The four bytes that a large array repeats, as a number; None for other arrays and small ones."""
    if values.nbytes < FILLED_FROM or values.nbytes % 4:
        return None
    words = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
    return int(words[0]) if (words == words[0]).all() else None


def _seeds_differ(job: Job, seeds: list[int], template: Run) -> bool:
    """Whether the memories of the first and the last seed differ in more than the fields that the agent declares."""
    if not isinstance(job.agent, HasSeededMemory):
        return True
    declared = job.agent.seeded(job.world, seeds[0])
    other = job.agent.memory(job.world, job.steps, seeds[-1]) if len(seeds) > 1 else template.memory
    return any(
        leaf.path[0] not in declared and not np.array_equal(one, two, equal_nan=leaf.dtype.kind == "f")
        for leaf, one, two in zip(
            schema_of(template.memory).leaves, leaf_values(template.memory), leaf_values(other), strict=True
        )
    )


def first_state(group: Group) -> np.ndarray:
    """The bytes of a group's state before the first step."""
    content = np.zeros(group.copied_back - group.state_start, np.uint8)
    views = {field.name: field.of_runs(content, len(group.seeds), group.state_start) for field in group.state}
    for field in group.state:
        views[field.name][:] = field.template
    for i, seed in enumerate(group.seeds):
        for name, value in _of_seed(group, seed).items():
            if name in views:
                views[name][i] = value
    return content


def _of_seed(group: Group, seed: int) -> dict[str, Any]:
    """The arrays and numbers of the memory that depend on the seed, by name."""
    if group.seeds_differ:
        memory = group.job.agent.memory(group.job.world, group.job.steps, seed)
        return dict(zip((leaf.name for leaf in _memory_leaves(group)), leaf_values(memory), strict=True))
    agent: Any = group.job.agent
    return {f"memory.{name}": value for name, value in agent.seeded(group.job.world, seed).items()}


def _memory_leaves(group: Group) -> list[Any]:
    return [leaf for leaf in group.schema.leaves if leaf.path[0] == "memory"]


def onchip_fields(group: Group, room: int) -> list[Field]:
    """The arrays of the state that fit into `room` bytes of on-chip memory, smallest first."""
    return [
        field for field in group.state
        if field.offset + aligned(field.template.nbytes, UNIT) - group.state_start <= room
    ]  # fmt: skip


def onchip_bytes(group: Group, room: int) -> int:
    """Bytes of on-chip memory that a run takes."""
    return sum(aligned(field.template.nbytes, UNIT) for field in onchip_fields(group, room))


_keys_of = lru_cache(maxsize=1 << 16)(stream_keys)


def rows(group: Group, base: int, addresses: dict[int, int], room: int) -> np.ndarray:
    """The rows of a group's runs: base is its address, addresses those of shared arrays by id.

    The last two words are the address of the run's state and the number of its words that are on-chip.
    """
    number = np.arange(len(group.seeds), dtype=np.int64)
    table = np.zeros((len(group.seeds), group.row_words), np.int64)
    fields = {field.name: field for field in (*group.results, *group.state, *group.rest)}
    onchip = {field.name for field in onchip_fields(group, room)}
    for leaf, value in zip(group.schema.leaves, leaf_values(group.template), strict=True):
        if not leaf.is_array:
            table[:, leaf.word] = number_word(leaf, value)
            continue
        if leaf.name in onchip:
            table[:, leaf.word] = -1 - (fields[leaf.name].offset - group.state_start)
        elif leaf.name in group.shared:
            table[:, leaf.word] = addresses[id(value)]
        else:
            table[:, leaf.word] = base + fields[leaf.name].offset + number * fields[leaf.name].stride
        table[:, leaf.word + 1 : leaf.word + 1 + leaf.ndim] = value.shape
    keys = [_keys_of(seed) for seed in group.seeds]
    cursors = [new_cursor(group.job.world, key) for key in keys]
    for name, values in (("keys", np.array(keys, np.uint64).view(np.int64)), ("cursor", np.array(cursors, np.int64))):
        first = next(leaf.word for leaf in group.schema.leaves if leaf.path[0] == name)
        table[:, first : first + values.shape[1]] = values
    if group.seeds_differ:
        numbers = [leaf for leaf in _memory_leaves(group) if not leaf.is_array]
        for i, seed in enumerate(group.seeds if numbers else []):
            own = _of_seed(group, seed)
            for leaf in numbers:
                table[i, leaf.word] = number_word(leaf, own[leaf.name])
    if group.state:
        table[:, -2] = base + group.state_start + number * group.state[0].stride
    table[:, -1] = onchip_bytes(group, room) // 8
    return table


def unpack(group: Group, content: np.ndarray) -> list[Finished]:
    """The record and the final tables of every run, from the bytes of results and state."""
    runs = len(group.seeds)
    arrays = {field.name: field.of_runs(content, runs) for field in (*group.results, *group.state)}
    recorded = [arrays[f"record.{name}"] for name in Record._fields]
    if group.job.episodes == 0:
        versions = arrays["snapshots.versions"].astype(np.int64)
        recorded[Record._fields.index("returns")] = np.take_along_axis(arrays["snapshots.values"], versions, 1)
    visits, q = arrays["memory.visits"], arrays["memory.q"]
    model = arrays.get("memory.reward_model", np.zeros((runs, 0)))
    return [
        (
            Record(*(values[i] for values in recorded)),
            {"visits": visits[i], "q": q[i], "reward_model": model[i], "remarks": []},
        )
        for i in range(runs)
    ]


@dataclass
class SharedArrays:
    """Arrays that runs share, each once, one after the other."""

    offsets: dict[int, int] = field(default_factory=dict)
    arrays: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, values: np.ndarray) -> None:
        """Append an array that is not there yet."""
        if id(values) not in self.offsets:
            self.offsets[id(values)] = self.size
            self.arrays.append(values)
            self.size += aligned(max(values.nbytes, 1))

    def content(self) -> np.ndarray:
        """The bytes of all arrays."""
        content = np.zeros(self.size, np.uint8)
        for values in self.arrays:
            at = self.offsets[id(values)]
            content[at : at + values.nbytes] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        return content
