"""Trains many runs on a GPU: waves of groups, one launch an agent, the longest runs first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from monmdp.engine.cuda.driver import SHARE, Device
from monmdp.engine.cuda.packing import Group, SharedArrays, aligned, first_bytes, pack, rows, unpack
from monmdp.engine.cuda.schedule import Work, threads_for, waves
from monmdp.engine.cuda.scratch import WARP
from monmdp.engine.loop import Record

#: Runs of a block where a run is a warp.
WARPS = 1


@cache
def device() -> Device:
    """The GPU; asked for once."""
    return Device()


@dataclass
class Spent:
    """What a device was busy with: seconds in kernels by launch, seconds of whole waves, bytes at most."""

    waves: list[float] = field(default_factory=list)
    launches: list[tuple[str, int, float]] = field(default_factory=list)
    memory: int = 0


@dataclass
class _Launch:
    agent: Any
    groups: list[tuple[Group, int]] = field(default_factory=list)


def train_on_gpu(
    work: Sequence[Work], room: int | None = None, each: Callable[[], None] | None = None, spent: Spent | None = None
) -> Iterator[tuple[Work, list[tuple[Record, dict[str, Any]]]]]:
    """Train every part; yields it, in waves and maybe cut between its seeds, with what each seed leaves behind."""
    gpu = device()
    usable = int(gpu.free() * SHARE) if room is None else room
    for wave in waves(work, usable):
        yield from _wave(gpu, wave, each, spent or Spent())


def _wave(gpu: Device, wave: list[Work], each: Callable[[], None] | None, spent: Spent) -> Iterator[Any]:
    from monmdp.engine.cuda.kernels import compiled_for, works_together

    stop = np.zeros(1, np.int64)
    groups = [(part, pack(part.job, list(part.seeds), stop)) for part in wave]
    shared = SharedArrays()
    for _, group in groups:
        for values in group.shared.values():
            shared.add(values)
    places, size = [], shared.size
    for _, group in groups:
        places.append(size)
        size += group.size
    rows_at = size
    size += sum(aligned(len(group.seeds) * group.schema.words * 8) for _, group in groups)
    base = gpu.take(size)
    spent.memory = max(spent.memory, size)
    try:
        gpu.send(base, shared.content())
        addresses = {key: base + offset for key, offset in shared.offsets.items()}
        launches: dict[Any, list[np.ndarray]] = {}
        for (_, group), place in zip(groups, places, strict=True):
            gpu.send(base + place, first_bytes(group))
            for block in group.blocks:
                if block.filled is not None:
                    gpu.fill(base + place + block.offset, block.filled, block.each * len(group.seeds))
            kind = type(group.job.agent)
            threads = WARP * WARPS
            if works_together(kind):
                threads = threads_for(group.job.world.n_acting_states * group.job.world.n_actions)
            launches.setdefault((kind, group.schema, threads), []).append(rows(group, base + place, addresses))
        started = []
        at = base + rows_at
        for (kind, schema, threads), parts in launches.items():
            table = np.concatenate(parts)
            gpu.send(at, table)
            made = compiled_for(kind, schema, gpu.capability, threads)
            started.append((kind, threads, gpu.function(made.ptx, made.entry), at, table.shape))
            at += aligned(table.nbytes)
        events = []
        for kind, threads, function, place, (runs, words) in started:
            stream = gpu.stream()
            first = gpu.event(stream)
            blocks = runs if works_together(kind) else -(-runs // WARPS)
            gpu.launch(function, blocks, threads, stream, (place, words, runs))
            events.append((kind.__name__, runs, first, gpu.event(stream)))
        gpu.wait([last for *_, last in events], each)
        spent.launches += [(name, runs, gpu.seconds(first, last)) for name, runs, first, last in events]
        begins = events[0][2]
        spent.waves.append(max(gpu.seconds(begins, last) for *_, last in events))
        for (part, group), place in zip(groups, places, strict=True):
            content = np.empty(group.output_bytes, np.uint8)
            gpu.fetch(base + place, content)
            yield part, [_finished(found) for found in unpack(group, content)]
    finally:
        gpu.give_back(base)


def _finished(found: dict[str, np.ndarray]) -> tuple[Record, dict[str, Any]]:
    record = Record(*(found[f"record.{name}"] for name in Record._fields))
    known = found.get("memory.reward_model", np.zeros(0))
    return record, {"visits": found["memory.visits"], "q": found["memory.q"], "reward_model": known}
