"""Trains many runs on a GPU: waves that fit its memory, one launch an agent and shape, then all evaluations."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.cuda.driver import SHARE, Device, MissingGPUError
from monmdp.cuda.launches import Launch, can_compile, check_suitable, compiled, launch_of
from monmdp.cuda.packing import (
    Group,
    SharedArrays,
    aligned,
    first_bytes,
    near_bytes,
    pack,
    rows,
    some_words,
    unpack,
)
from monmdp.cuda.schedule import NEAR_STEP, Work, waves
from monmdp.cuda.snapshots import Evaluated
from monmdp.cuda.views import schema_of
from monmdp.errors import MonMDPError
from monmdp.training.metrics import Record

if TYPE_CHECKING:
    from monmdp.training.job import Job

#: Where training may run.
DEVICES = ("cpu", "cuda", "auto")
#: Bytes of scratch space for all evaluations together, at most.
EVALUATION_BYTES = 1 << 30

#: What a seed leaves behind: its curve, and its final tables by name.
Finished = tuple[Record, dict[str, Any]]


@cache
def device() -> Device:
    """The GPU; asked for once."""
    return Device()


@dataclass
class Spent:
    """What a device was busy with: seconds of waves, of launches by name and runs, and the most bytes taken."""

    waves: list[float] = field(default_factory=list)
    launches: list[tuple[str, int, float]] = field(default_factory=list)
    memory: int = 0


#: Told now and then: the parts that are on the device, and for each the steps and points done by seed, [seeds, 2].
Watcher = Callable[[list[Work], list[np.ndarray]], None]


def chosen(name: str) -> str:
    """`cpu` or `cuda`, the latter only if there is a GPU: `cuda` says what is missing, `auto` takes the CPU."""
    if name not in DEVICES:
        raise MonMDPError(f"The device is one of {', '.join(DEVICES)}, not {name!r}.")
    if name == "cpu":
        return name
    try:
        device()
    except MissingGPUError:
        if name == "cuda":
            raise
        return "cpu"
    return "cuda"


def is_suitable(job: Job) -> bool:
    """Whether the GPU can run a job's agent."""
    return can_compile(job, device().capability)


def train_on_gpu(
    work: Sequence[Work], watcher: Watcher | None = None, spent: Spent | None = None
) -> Iterator[tuple[Work, list[Finished]]]:
    """Train every part; yields it, in waves and maybe cut between its seeds, with what each seed leaves behind."""
    for part in work:
        check_suitable(part.job)
    gpu = device()
    usable = int(gpu.free() * SHARE)
    scratch = min(EVALUATION_BYTES, usable // 4)
    for wave in waves(work, usable - scratch):
        yield from Wave(gpu, wave, scratch, spent if spent is not None else Spent()).results(watcher)


class Wave:
    """Runs that are on the device together."""

    def __init__(self, gpu: Device, work: list[Work], scratch: int, spent: Spent) -> None:
        """scratch: bytes for evaluations."""
        self._gpu, self._spent, self._work, self._scratch = gpu, spent, work, scratch
        self._stop = np.zeros(1, np.int64)
        self._groups = [pack(part.job, list(part.seeds), self._stop) for part in work]
        self._shared = SharedArrays()
        for group in self._groups:
            for values in group.shared.values():
                self._shared.add(values)
        self._places, self._size = [], self._shared.size
        for group in self._groups:
            self._places.append(self._size)
            self._size += group.size

    def results(self, watcher: Watcher | None) -> Iterator[tuple[Work, list[Finished]]]:
        """Train, evaluate, and bring back."""
        gpu = self._gpu
        taken: list[int] = []
        try:
            taken.append(gpu.take(self._size))
            self._spent.memory = max(self._spent.memory, self._size)
            base = taken[0]
            self._begin(base)
            tables = [self._rows(group, base + place) for group, place in zip(self._groups, self._places, strict=True)]
            evaluations = self._evaluations(tables, taken)
            events = self._train(tables, taken)
            trained = [end for *_, end in events]
            events += [self._launch(trained, *evaluation) for evaluation in evaluations]
            try:
                told = None if watcher is None else lambda: watcher(self._work, self._progress(base))
                gpu.wait([end for *_, end in events], told)
            except BaseException:
                with contextlib.suppress(MonMDPError):
                    gpu.send(self._addresses[id(self._stop)], np.ones(1, np.int64))
                raise
            self._spent.launches += [(name, runs, gpu.seconds(start, end)) for name, runs, start, end in events]
            self._spent.waves.append(max(gpu.seconds(events[0][2], end) for *_, end in events))
            for part, group, place in zip(self._work, self._groups, self._places, strict=True):
                content = np.empty(group.output_bytes, np.uint8)
                gpu.fetch(base + place, content)
                yield part, [finished(found, group.job.episodes == 0) for found in unpack(group, content)]
        finally:
            for address in taken:
                gpu.give_back(address)

    def _progress(self, base: int) -> list[np.ndarray]:
        """Steps and points done, by group and seed."""
        found = []
        for group, place in zip(self._groups, self._places, strict=True):
            block = next(block for block in group.blocks if block.leaf.name == "progress")
            found.append(np.zeros((len(group.seeds), 2), np.int64))
            self._gpu.fetch(base + place + block.offset, found[-1])
        return found

    def _begin(self, base: int) -> None:
        """Everything as it is before the first step."""
        self._gpu.send(base, self._shared.content())
        for group, place in zip(self._groups, self._places, strict=True):
            self._gpu.send(base + place, first_bytes(group))
            for block in group.blocks:
                if block.filled is not None:
                    self._gpu.fill(base + place + block.offset, block.filled, block.each * len(group.seeds))
        self._addresses = {key: base + offset for key, offset in self._shared.offsets.items()}

    def _rows(self, group: Group, place: int) -> np.ndarray:
        return rows(group, place, self._addresses, launch_of(group.job, group.schema).shape.near)

    def _launch(
        self, after: Sequence[Any], name: str, runs: int, function: Any, blocks: int, threads: int,
        given: Sequence[int], near: int = 0,
    ) -> tuple[str, int, Any, Any]:  # fmt: skip
        """Start a kernel on a stream of its own, after some events; its name and runs, and events around it."""
        stream = self._gpu.stream()
        for event in after:
            self._gpu.follow(stream, event)
        first = self._gpu.event(stream)
        self._gpu.launch(function, blocks, threads, stream, given, near)
        return name, runs, first, self._gpu.event(stream)

    def _train(self, tables: list[np.ndarray], taken: list[int]) -> list[Any]:
        """One launch for all runs of the same agent class, shape and own memory."""
        gpu = self._gpu
        launches: dict[tuple[Launch, int], list[np.ndarray]] = {}
        for group, table in zip(self._groups, tables, strict=True):
            launch = launch_of(group.job, group.schema)
            near = -(-near_bytes(group, launch.shape.near) // NEAR_STEP) * NEAR_STEP
            launches.setdefault((launch, near), []).append(table)
        ready = []
        for (launch, near), parts in launches.items():
            kernel = compiled(launch, gpu.capability)
            function = gpu.function(kernel.ptx, kernel.entry)
            table = np.concatenate(parts)
            taken.append(gpu.take(table.nbytes))
            gpu.send(taken[-1], table)
            runs, words = table.shape
            threads = launch.shape.threads
            ready.append((launch.kind.__name__, runs, function, runs, threads, (taken[-1], words), near))
        return [self._launch([], *given) for given in ready]

    def _evaluations(self, tables: list[np.ndarray], taken: list[int]) -> list[Any]:
        """What to launch to evaluate every policy that was kept, 32 versions a warp."""
        gpu = self._gpu
        exact = [i for i, group in enumerate(self._groups) if group.job.episodes == 0]
        if not exact:
            return []
        from monmdp.cuda.evaluation import EVALUATING, STATE_BYTES, compiled_evaluation

        parts: dict[Any, list[np.ndarray]] = {}
        for i in exact:
            group = self._groups[i]
            schema = schema_of(Evaluated(group.template.snapshots, group.template.world))
            parts.setdefault(schema, []).append(some_words(group, tables[i], schema))
        most_states = max(self._groups[i].job.world.n_states for i in exact)
        most_parts = max(-(-len(self._groups[i].job.point_steps) // 32) for i in exact)
        each_bytes = aligned(most_states * STATE_BYTES)
        warps = max(1, min(gpu.attribute("MULTIPROCESSOR_COUNT") * EVALUATING, self._scratch // each_bytes))
        ready = []
        for schema, found in parts.items():
            taken.append(gpu.take(warps * each_bytes))
            scratch = taken[-1]
            gpu.fill(scratch, 0, warps * each_bytes)
            table = np.concatenate(found)
            taken.append(gpu.take(table.nbytes + 256))
            counter = taken[-1]
            gpu.fill(counter, 0, 256)
            gpu.send(counter + 256, table)
            kernel = compiled_evaluation(schema, gpu.capability)
            function = gpu.function(kernel.ptx, kernel.entry)
            given = (counter + 256, table.shape[1], len(table), most_parts, counter, scratch, each_bytes)
            ready.append(("evaluation", len(table), function, warps, 32, given))
        return ready


def finished(found: dict[str, np.ndarray], exact: bool) -> Finished:
    """What a seed leaves behind, from what came back."""
    record = Record(*(found[f"record.{name}"] for name in Record._fields))
    if exact:
        record.returns[:] = found["snapshots.values"][found["snapshots.versions"]]
    known = found.get("memory.reward_model", np.zeros(0))
    return record, {"visits": found["memory.visits"], "q": found["memory.q"], "reward_model": known, "remarks": []}
