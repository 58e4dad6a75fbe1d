"""The layout of runs in device memory. Nothing here needs a GPU.

A group is a set of seeds of one job. Arrays that no kernel writes (the world, schedules) are stored once for all runs.
The others form three sections of a group:
  results   written by kernels and copied back; contiguous per run
  state     copied to the device and back; contiguous per run, the smallest arrays first
  rest      large arrays that are filled with a constant or left uninitialised; contiguous per array
While a block of threads trains a run, the first part of the run's state is in the block's on-chip (shared) memory.

Kernels get one row of 64-bit words per run, from which they rebuild the nested named tuple `Run`. An array takes one
word for its address and one per dimension; a number takes one word.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.base import HasSeededMemory, new_memory
from monmdp.agents.schedules import is_line, logarithms, tabulated
from monmdp.errors import MonMDPError
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
#: Arrays of the memory that are always copied back.
TABLES = ("memory.visits", "memory.q", "memory.reward_model")


class Leaf(NamedTuple):
    """An array or a number (ndim 0) of a nested named tuple: its name with dots, and its first word in the row."""

    name: str
    word: int
    dtype: np.dtype[Any]
    ndim: int

    @property
    def root(self) -> str:
        """The field of the outermost tuple that contains the leaf."""
        return self.name.split(".", 1)[0]


class Schema(NamedTuple):
    """The shape of a nested named tuple: its leaves in order, its classes and record types, and how to rebuild it.

    The Python expression uses kinds[i] as kind_i; words and floats, the same row as integers and as floats; and
    onchip, the address of on-chip memory, to which negative addresses -1 - offset refer.
    """

    leaves: tuple[Leaf, ...]
    kinds: tuple[Any, ...]
    expression: str

    @property
    def words(self) -> int:
        return sum(1 + leaf.ndim for leaf in self.leaves)


def schema_of(values: Any) -> Schema:
    """The schema of a named tuple; raises if a field is neither an array, a number nor such a tuple."""
    leaves: list[Leaf] = []
    kinds: list[Any] = []
    expression = _describe(values, "", leaves, kinds)
    return Schema(tuple(leaves), tuple(kinds), expression)


def _describe(value: Any, name: str, leaves: list[Leaf], kinds: list[Any]) -> str:
    """Add the leaves and classes of a value; returns the expression that rebuilds it."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        kinds.append(type(value))
        kind, prefix = f"kind_{len(kinds) - 1}", f"{name}." if name else ""
        parts = [
            _describe(part, prefix + field, leaves, kinds) for field, part in zip(value._fields, value, strict=True)
        ]
        return f"{kind}({', '.join(parts)})"
    dtype, ndim = np.asarray(value).dtype, np.ndim(value)
    if isinstance(value, np.ndarray):
        supported = ndim in (1, 2) and dtype.kind in "biufV"
    else:
        supported = isinstance(value, (int, float, np.generic)) and dtype.kind in "biuf"
    if not supported:
        raise MonMDPError(
            f"The field {name!r} cannot be copied to a GPU: it must be a number, an array of one or two dimensions, "
            f"or a named tuple of those, not {type(value).__name__}."
        )
    word = leaves[-1].word + 1 + leaves[-1].ndim if leaves else 0
    leaves.append(Leaf(name, word, dtype, ndim))
    scalar = "np.bool_" if dtype.kind == "b" else f"np.{dtype.type.__name__}"
    if dtype.kind == "V":
        kinds.append(dtype)
        scalar = f"kind_{len(kinds) - 1}"
    if ndim:
        lengths = "".join(f"words[{word + axis}], " for axis in range(1, 1 + ndim))
        return f"array_at(located(words[{word}], onchip), ({lengths}), {scalar})"
    if dtype.kind == "b":
        return f"words[{word}] != 0"
    return f"{scalar}({'floats' if dtype.kind == 'f' else 'words'}[{word}])"


def leaf_values(values: Any) -> Iterator[Any]:
    """The values of a nested named tuple, in the order of its schema's leaves."""
    for value in values:
        if isinstance(value, tuple):
            yield from leaf_values(value)
        else:
            yield value


def number_word(leaf: Leaf, value: Any) -> int:
    """The word of a number; a float is converted to float64 and stored by its bits."""
    wide = {"f": np.float64, "u": np.uint64}.get(leaf.dtype.kind, np.int64)
    return int(np.asarray(value, wide).view(np.int64))


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
        memory=with_tables(new_memory(job.agent, world, job.steps, seed), job.steps),
    )


def with_tables(memory: Any, steps: int) -> Any:
    """A memory with tables of schedules and logarithms: a GPU divides slowly, and its own logarithms may differ."""
    lines = {name: value for name, value in memory._asdict().items() if is_line(value, steps)}
    tables = {name: tabulated(*line.tolist(), steps) for name, line in lines.items()}
    if hasattr(memory, "logs"):
        tables["logs"] = logarithms(steps + 2)
    return memory._replace(**tables)


def aligned(size: int, unit: int = ALIGNMENT) -> int:
    """The next multiple of a unit."""
    return -(-size // unit) * unit


@dataclass(frozen=True, eq=False)
class Group:
    """Some seeds of a job on the device.

    run: the run of the first seed. shared: arrays that no kernel writes, by name. results and state: the arrays of a
    run in these sections, as a structured type. places: for every array that is not shared, where that of the first run
    begins in the group, and the distance between runs. filled: arrays to fill with a word of four bytes, by name.
    """

    job: Job
    seeds: list[int]
    schema: Schema
    run: Run
    shared: dict[str, np.ndarray]
    results: Any
    state: Any
    places: dict[str, tuple[int, int]]
    filled: dict[str, int]
    size: int

    @property
    def state_start(self) -> int:
        return aligned(self.results.itemsize * len(self.seeds))

    @property
    def copied_back(self) -> int:
        """Where the state ends, and with it what is copied back."""
        return self.state_start + aligned(self.state.itemsize * len(self.seeds))

    def onchip_bytes(self, room: int) -> int:
        """The size of the arrays at the beginning of a run's state that fit into `room` bytes."""
        ends = [offset for _, offset, *_ in self.state.fields.values()] + [self.state.itemsize]
        return int(max(end for end in ends if end <= room))


def pack(job: Job, seeds: list[int], stop: Integers) -> Group:
    """Lay out the runs of some seeds."""
    run = new_run(job, seeds[0], stop)
    schema = schema_of(run)
    shared: dict[str, np.ndarray] = {}
    results: dict[str, np.ndarray] = {}
    state: dict[str, np.ndarray] = {}
    rest: dict[str, np.ndarray] = {}
    filled = {"progress": 0}
    for leaf, value in zip(schema.leaves, leaf_values(run), strict=True):
        if not leaf.ndim:
            continue
        if leaf.root in ("world", "point_steps", "stop") or not value.flags.writeable:
            section = shared
        elif leaf.name in ("progress", "snapshots.policies"):
            section = rest
        elif leaf.root in ("record", "snapshots"):
            section = results
        elif leaf.name in TABLES or (word := constant_word(value)) is None:
            section = state
        else:
            section, filled[leaf.name] = rest, word
        section[leaf.name] = value
    places: dict[str, tuple[int, int]] = {}
    size = 0
    per_run = _per_run(results), _per_run(dict(sorted(state.items(), key=lambda item: item[1].nbytes)))
    for arrays in per_run:
        places |= {name: (size + offset, arrays.itemsize) for name, (_, offset, *_) in arrays.fields.items()}
        size += aligned(arrays.itemsize * len(seeds))
    for name, value in rest.items():
        places[name] = size, aligned(value.nbytes, UNIT)
        size += aligned(places[name][1] * len(seeds))
    return Group(job, seeds, schema, run, shared, *per_run, places, filled, size)


def _per_run(arrays: dict[str, np.ndarray]) -> Any:
    """The structured type of some arrays, one after the other."""
    ends = np.cumsum([0, *(aligned(value.nbytes, UNIT) for value in arrays.values())]).tolist()
    formats = [(value.dtype, value.shape) for value in arrays.values()]
    return np.dtype({"names": [*arrays], "formats": formats, "offsets": ends[:-1], "itemsize": ends[-1]})


def constant_word(values: np.ndarray) -> int | None:
    """The four bytes that a large array repeats, as a number; None for other arrays and small ones."""
    if values.nbytes < FILLED_FROM or values.nbytes % 4:
        return None
    words = np.ascontiguousarray(values).reshape(-1).view(np.uint32)
    return int(words[0]) if (words == words[0]).all() else None


def _seeded(group: Group) -> Iterator[dict[str, Any]]:
    """For each seed, the arrays and numbers of its memory that depend on the seed, by name.

    They are those that the agent declares or, if the last seed's memory differs from the first one's in others, all.
    """
    agent, world, steps = group.job.agent, group.job.world, group.job.steps
    names = [leaf.name for leaf in group.schema.leaves if leaf.root == "memory"]

    def declared(seed: int) -> dict[str, Any]:
        return {f"memory.{name}": value for name, value in agent.seeded(world, seed).items()}  # type: ignore[attr-defined]

    def everything(seed: int) -> dict[str, Any]:
        return dict(zip(names, leaf_values(new_memory(agent, world, steps, seed)), strict=True))

    if isinstance(agent, HasSeededMemory):
        first, last = leaf_values(group.run.memory), everything(group.seeds[-1])
        known = {*group.shared, *declared(group.seeds[0])}
        pairs = [(value, last[name]) for name, value in zip(names, first, strict=True) if name not in known]
        if all(np.asarray(one).tobytes() == np.asarray(other).tobytes() for one, other in pairs):
            return map(declared, group.seeds)
    return map(everything, group.seeds)


_keys_of = lru_cache(maxsize=1 << 16)(stream_keys)


def row_words(schema: Schema) -> int:
    """Words per row: those of the schema, the address of the run's state, and the number of its words on-chip."""
    return schema.words + 2


def first_values(group: Group, base: int, addresses: dict[int, int], room: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a group's runs, and their state before the first step.

    base: the group's address; addresses: those of shared arrays, by id; room: bytes of on-chip memory.
    """
    onchip, number = group.onchip_bytes(room), np.arange(len(group.seeds), dtype=np.int64)
    table = np.zeros((len(group.seeds), row_words(group.schema)), np.int64)
    state = np.zeros(len(group.seeds), group.state)
    numbers = {leaf.name: leaf for leaf in group.schema.leaves if not leaf.ndim}
    for leaf, value in zip(group.schema.leaves, leaf_values(group.run), strict=True):
        name = leaf.name
        if not leaf.ndim:
            table[:, leaf.word] = number_word(leaf, value)
            continue
        table[:, leaf.word + 1 : leaf.word + 1 + leaf.ndim] = value.shape
        if name in group.shared:
            table[:, leaf.word] = addresses[id(value)]
            continue
        offset, stride = group.places[name]
        table[:, leaf.word] = base + offset + number * stride
        if name in group.state.names:
            state[name] = value
            if offset - group.state_start < onchip:
                table[:, leaf.word] = -1 - (offset - group.state_start)
    keys = [_keys_of(seed) for seed in group.seeds]
    cursors = [new_cursor(group.job.world, key) for key in keys]
    for name, values in (("keys", np.array(keys, np.uint64).view(np.int64)), ("cursor", np.array(cursors, np.int64))):
        first = next(leaf.word for leaf in group.schema.leaves if leaf.root == name)
        table[:, first : first + values.shape[1]] = values
    for i, own in enumerate(_seeded(group)):
        for name, value in own.items():
            if name in group.state.names:
                state[name][i] = value
            elif name in numbers:
                table[i, numbers[name].word] = number_word(numbers[name], value)
    table[:, -2] = base + group.state_start + number * state.itemsize
    table[:, -1] = onchip // 8
    return table, state


def unpack(group: Group, content: np.ndarray) -> list[Finished]:
    """The record and the final tables of every run, from the bytes of results and state."""
    runs, start = len(group.seeds), group.state_start
    results = content[: runs * group.results.itemsize].view(group.results)
    state = content[start : start + runs * group.state.itemsize].view(group.state)
    recorded = [results[f"record.{metric.attribute}"] for metric in METRICS]
    if group.job.episodes == 0:
        versions = results["snapshots.versions"].astype(np.int64)
        returns = np.take_along_axis(results["snapshots.values"], versions, 1)
        recorded[Record._fields.index("returns")] = returns
    none = np.zeros((runs, 0))
    tables = {name.removeprefix("memory."): state[name] if name in group.state.names else none for name in TABLES}
    records = (Record(*values) for values in zip(*recorded, strict=True))
    finals = (dict(zip(tables, values, strict=True), remarks=[]) for values in zip(*tables.values(), strict=True))
    return list(zip(records, finals, strict=True))
