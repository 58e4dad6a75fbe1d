"""Where the arrays of runs lie in device memory: groups of runs of one cell, packed field by field.

A group is some seeds of a cell. Arrays that nobody writes (the world, schedules) are shared by all runs that have the
same ones; every other field of a group is one block, run after run. Nothing here needs a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.cuda.run import Run, new_run
from monmdp.cuda.views import Leaf, Schema, leaf_values, number_word, schema_of

if TYPE_CHECKING:
    from monmdp.problem import Integers
    from monmdp.training.job import Job

#: Every block begins at a multiple of this many bytes.
ALIGNMENT = 256
#: Every run's part of a block begins at a multiple of this many bytes.
UNIT = 16
#: Constant fields from this size on are filled on the device, not sent.
FILLED_FROM = 1 << 16
#: What is brought back.
OUTPUTS = (
    "record.",
    "memory.visits",
    "memory.q",
    "memory.reward_model",
    "progress",
    "snapshots.values",
    "snapshots.versions",
)


def aligned(size: int) -> int:
    """The next multiple of ALIGNMENT."""
    return -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Block:
    """One field of all runs of a group: where it begins in the group, and how one run's part begins."""

    leaf: Leaf
    offset: int
    template: np.ndarray
    filled: int | None

    @property
    def each(self) -> int:
        """Bytes between one run's part and the next one's."""
        return -(-int(self.template.nbytes) // UNIT) * UNIT


@dataclass
class Group:
    """Some seeds of a cell on the device: where its fields lie, and what they hold at first."""

    job: Job
    seeds: list[int]
    schema: Schema
    template: Run
    shared: dict[str, np.ndarray]
    blocks: list[Block]
    sent: int
    size: int
    alike: bool

    @property
    def outputs(self) -> list[Block]:
        return [block for block in self.blocks if is_output(block.leaf)]

    @property
    def output_bytes(self) -> int:
        return max((block.offset + block.each * len(self.seeds) for block in self.outputs), default=0)


def is_output(leaf: Leaf) -> bool:
    """Whether a field is brought back."""
    return any(leaf.name == name or (name.endswith(".") and leaf.name.startswith(name)) for name in OUTPUTS)


def is_shared(leaf: Leaf, value: np.ndarray) -> bool:
    """Whether nobody writes an array: those of the world, and those that say so."""
    return leaf.path[0] in ("world", "point_steps", "stop") or not value.flags.writeable


def constant_word(values: np.ndarray, runs: int) -> int | None:
    """The four bytes that an array repeats, as a number; None for others, and for what is small in all runs."""
    if values.nbytes * runs < FILLED_FROM or values.nbytes % 4:
        return None
    words = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
    return int(words[0]) if (words == words[0]).all() else None


def seeds_differ(job: Job, seeds: list[int], template: Run) -> bool:
    """Whether more than the fields that an agent names differs between seeds, by the first and the last one."""
    named = job.agent.seeded(job.world, seeds[0])
    if named is None:
        return True
    if len(seeds) == 1:
        return False
    other = new_run(job, seeds[-1], template.stop)
    schema = schema_of(template)
    for leaf, one, two in zip(schema.leaves, leaf_values(template), leaf_values(other), strict=True):
        if leaf.path[0] == "memory" and leaf.path[1] not in named:
            equal = np.array_equal(one, two, equal_nan=leaf.dtype.kind == "f") and np.shape(one) == np.shape(two)
            if not equal:
                return True
    return False


def pack(job: Job, seeds: list[int], stop: Integers) -> Group:
    """Lay out the runs of some seeds: outputs first, then what is sent, then what is filled."""
    template = new_run(job, seeds[0], stop)
    schema = schema_of(template)
    shared: dict[str, np.ndarray] = {}
    own: list[tuple[int, Leaf, np.ndarray, int | None]] = []
    for leaf, value in zip(schema.leaves, leaf_values(template), strict=True):
        if not leaf.is_array:
            continue
        if is_shared(leaf, value):
            shared[leaf.name] = value
        else:
            word = None if is_output(leaf) else constant_word(value, len(seeds))
            own.append((0 if is_output(leaf) else 1 if word is None else 2, leaf, value, word))
    blocks: list[Block] = []
    offset = sent = 0
    for rank, leaf, value, word in sorted(own, key=lambda entry: entry[0]):
        blocks.append(Block(leaf, offset, np.ascontiguousarray(value), word))
        offset += aligned(blocks[-1].each * len(seeds))
        sent = offset if rank < 2 else sent
    alike = not seeds_differ(job, seeds, template)
    return Group(job, seeds, schema, template, shared, blocks, sent, offset, alike)


def first_bytes(group: Group) -> np.ndarray:
    """What the sent part of a group holds before the first step, [sent] bytes."""
    content = np.zeros(group.sent, np.uint8)
    n = len(group.seeds)
    places = {}
    for block in group.blocks:
        if block.filled is None:
            part = content[block.offset : block.offset + block.each * n].reshape(n, block.each)
            part[:, : block.template.nbytes] = block.template.reshape(-1).view(np.uint8)
            places[block.leaf.name] = part[:, : block.template.nbytes]
    for i, seed in enumerate(group.seeds):
        for name, value in _of_seed(group, seed).items():
            if name in places:
                places[name][i] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    return content


def _of_seed(group: Group, seed: int) -> dict[str, np.ndarray]:
    """The arrays of a run that depend on its seed, by the names of their fields."""
    if not group.alike:
        run = new_run(group.job, seed, group.template.stop)
        return dict(zip((leaf.name for leaf in group.schema.leaves), leaf_values(run), strict=True))
    from monmdp.training.loop import new_cursor, stream_keys

    keys = stream_keys(seed)
    named = group.job.agent.seeded(group.job.world, seed) or {}
    found = {f"memory.{name}": np.asarray(value) for name, value in named.items()}
    return {**found, "keys": keys, "cursor": new_cursor(group.job.world, keys)}


#: Fields that are seldom looked at, or looked at from outside.
FAR = ("record", "snapshots", "progress")


def near_fields(group: Group, room: int) -> list[Block]:
    """The fields that a block of threads keeps in memory of its own: the smallest ones, as far as there is room."""
    found, used = [], 0
    for block in sorted(group.blocks, key=lambda block: block.each):
        if block.leaf.path[0] not in FAR and used + block.each <= room:
            found.append(block)
            used += block.each
    return found


def near_bytes(group: Group, room: int) -> int:
    """How much of its own memory a block of threads needs for a run."""
    return sum(block.each for block in near_fields(group, room))


def rows(group: Group, base: int, addresses: dict[int, int], room: int) -> np.ndarray:
    """The rows of a group's runs: base is its address, addresses those of shared arrays by id.

    After the words of the schema: how many fields are near, and for each its place in device memory, its words, and
    its offset in the memory of the block; zeros up to the length that all rows of a schema have.
    """
    blocks = {block.leaf.name: block for block in group.blocks}
    found = np.zeros((len(group.seeds), row_words(group.schema)), np.int64)
    near: dict[str, int] = {}
    offset, word = 0, group.schema.words
    fields = near_fields(group, room)
    found[:, word] = len(fields)
    for i, block in enumerate(fields):
        places = base + block.offset + np.arange(len(group.seeds), dtype=np.int64) * block.each
        found[:, word + 1 + 3 * i] = places
        found[:, word + 2 + 3 * i : word + 4 + 3 * i] = block.each // 8, offset
        near[block.leaf.name] = offset
        offset += block.each
    numbers = np.arange(len(group.seeds), dtype=np.int64)
    for leaf, value in zip(group.schema.leaves, leaf_values(group.template), strict=True):
        if not leaf.is_array:
            found[:, leaf.word] = number_word(leaf, value)
            continue
        if leaf.name in near:
            found[:, leaf.word] = -1 - near[leaf.name]
        elif leaf.name in group.shared:
            found[:, leaf.word] = addresses[id(value)]
        else:
            block = blocks[leaf.name]
            found[:, leaf.word] = base + block.offset + numbers * block.each
        found[:, leaf.word + 1 : leaf.word + 1 + leaf.ndim] = value.shape
    return found


def some_words(group: Group, found: np.ndarray, part: Schema) -> np.ndarray:
    """The rows of a part of the runs' tuple, whose fields have the same names, from the rows of the whole."""
    places = {leaf.name: leaf for leaf in group.schema.leaves}
    words = []
    for leaf in part.leaves:
        whole = places[leaf.name]
        words += list(range(whole.word, whole.word + whole.words))
    return found[:, words]


def row_words(schema: Schema) -> int:
    """The length of a row: the words of the schema, and of the list of near fields."""
    return schema.words + 1 + 3 * sum(leaf.is_array for leaf in schema.leaves)


def unpack(group: Group, content: np.ndarray) -> list[dict[str, np.ndarray]]:
    """The outputs of every run by the names of their fields, from the bytes that came back."""
    n = len(group.seeds)
    found: list[dict[str, np.ndarray]] = [{} for _ in group.seeds]
    for block in group.outputs:
        part = content[block.offset : block.offset + block.each * n].reshape(n, block.each)
        for i in range(n):
            values = part[i, : block.template.nbytes].view(block.template.dtype)
            found[i][block.leaf.name] = values.reshape(block.template.shape)
    return found


@dataclass
class SharedArrays:
    """Arrays that runs share, each once, one after the other."""

    offsets: dict[int, int] = field(default_factory=dict)
    arrays: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, values: np.ndarray) -> None:
        if id(values) not in self.offsets:
            self.offsets[id(values)] = self.size
            self.arrays.append(values)
            self.size += aligned(max(values.nbytes, 1))

    def content(self) -> np.ndarray:
        found = np.zeros(self.size, np.uint8)
        for values in self.arrays:
            at = self.offsets[id(values)]
            found[at : at + values.nbytes] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        return found


def needs(group: Group) -> int:
    """Bytes that a group takes on the device, shared arrays counted in full."""
    shared: dict[int, Any] = {id(values): values for values in group.shared.values()}
    words = len(group.seeds) * row_words(group.schema) * 8
    return group.size + aligned(words) + sum(aligned(values.nbytes) for values in shared.values())
