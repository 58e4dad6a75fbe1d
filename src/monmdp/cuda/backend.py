"""Trains many runs on a GPU: waves that fit into its memory, one launch per agent and shape, results as they finish."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from monmdp.cuda.compiling import ADVICE, UnsuitableError, compiled
from monmdp.cuda.driver import SHARE, Device, MissingGPUError
from monmdp.cuda.packing import ALIGNMENT, Evaluated, Group, aligned, first_values, pack, row_words, schema_of, unpack
from monmdp.cuda.schedule import EVALUATION, MESSAGE_BYTES, ONCHIP_STEP, STATE_BYTES, Program, Work, program_for, waves
from monmdp.errors import MonMDPError
from monmdp.training.job import Finished, Job

#: Where training may run.
DEVICES = ("cpu", "cuda", "auto")
#: Largest size of the scratch memory for evaluations, in bytes.
SCRATCH_BYTES = 1 << 30
#: Seconds between two looks at the device, and between two calls of a watcher.
LOOK_EVERY, WATCH_EVERY = 0.002, 0.5

#: Called from time to time with the parts on the device whose results are not there yet, each with the steps and points
#: done, [seeds, 2].
Watcher = Callable[[Iterable[tuple[Work, np.ndarray]]], None]


@cache
def device() -> Device:
    """The GPU, opened once."""
    return Device()


@dataclass
class Spent:
    """Device time: seconds per wave, (name, runs, seconds) per launch; and the largest memory taken, in bytes."""

    waves: list[float] = field(default_factory=list)
    launches: list[tuple[str, int, float]] = field(default_factory=list)
    memory: int = 0


def chosen(name: str) -> str:
    """`cpu` or `cuda`; without a usable GPU, `cuda` raises an error and `auto` means the CPU."""
    if name not in DEVICES:
        raise MonMDPError(f"The device is one of {', '.join(DEVICES)}, not {name!r}.")
    if name != "cpu":
        try:
            device()
            return "cuda"
        except MissingGPUError:
            if name == "cuda":
                raise
    return "cpu"


def check_suitable(job: Job) -> None:
    """Refuse an agent without a device kernel."""
    if job.agent.device_kernel is None:
        raise UnsuitableError(f"{type(job.agent).__name__} has no kernel for GPUs. {ADVICE}")


def train_on_gpu(
    work: Sequence[Work], watcher: Watcher | None = None, spent: Spent | None = None
) -> Iterator[tuple[Work, list[Finished]]]:
    """Train all work; yields each part with the results of its seeds while others still train.

    Work that does not fit into memory is cut into parts with the same number. A caller should return quickly from
    a result, for example by saving it in another thread, since evaluations are started between results.
    """
    gpu = device()
    usable = int(gpu.free() * SHARE)
    scratch = min(SCRATCH_BYTES, usable // 4)
    for wave in waves(work, usable - scratch):
        yield from _wave(gpu, wave, scratch, watcher, spent if spent is not None else Spent())


@dataclass(eq=False)
class Launch:
    """Runs that one kernel trains, and their memory: `size` bytes from `base` on, then the table of rows.

    At the beginning is the counter of evaluations. shared: arrays that no kernel writes and their offsets, by id;
    groups: with their parts and offsets. events: start and end of training, then of evaluation. sent: arrays on the
    host that copies may still read.
    """

    program: Program
    onchip: int
    shared: dict[int, tuple[np.ndarray, int]] = field(default_factory=dict)
    groups: list[tuple[Group, list[Work], int]] = field(default_factory=list)
    size: int = ALIGNMENT
    runs: int = 0
    base: int = 0
    function: Any = None
    evaluation: Any = None
    events: list[Any] = field(default_factory=list)
    sent: list[np.ndarray] = field(default_factory=list)

    def add(self, group: Group, parts: list[Work]) -> None:
        """Add a group and the arrays it shares with others."""
        for values in group.shared.values():
            if id(values) not in self.shared:
                self.shared[id(values)] = values, self.size
                self.size += aligned(values.nbytes)
        self.groups.append((group, parts, self.size))
        self.size += group.size
        self.runs += len(group.seeds)

    @property
    def table_bytes(self) -> int:
        return aligned(8 * self.runs * row_words(self.program.schema))

    def start(self, gpu: Device) -> None:
        """Copy the first values of all runs to the device and start their training.

        All copies come before the first fill: a fill may wait until kernels of other launches end, and a copy behind
        it in the stream would make the host wait too.
        """
        stream, tables = gpu.stream(), []

        def send(offset: int, values: np.ndarray) -> None:
            self.sent.append(np.ascontiguousarray(values))
            gpu.send(self.base + offset, self.sent[-1], stream)

        for values, offset in self.shared.values():
            send(offset, values)
        addresses = {key: self.base + offset for key, (_, offset) in self.shared.items()}
        for group, _, offset in self.groups:
            table, state = first_values(group, self.base + offset, addresses, self.program.shape.onchip)
            tables.append(table)
            send(offset + group.state_start, state)
        send(self.size, np.concatenate(tables))
        gpu.fill(self.base, 0, ALIGNMENT, stream)
        for group, _, offset in self.groups:
            for name, word in group.filled.items():
                place, stride = group.places[name]
                gpu.fill(self.base + offset + place, word, stride * len(group.seeds), stream)
        begin, arguments = gpu.event(stream), (self.base + self.size, row_words(self.program.schema))
        gpu.launch(self.function, self.runs, self.program.shape.threads, stream, arguments, MESSAGE_BYTES + self.onchip)
        self.events = [begin, gpu.event(stream)]

    def is_finished(self, gpu: Device, evaluator: Evaluator | None) -> bool:
        """Whether all runs are trained and evaluated; starts their evaluation once they are trained."""
        if not gpu.is_over(self.events[-1]):
            return False
        self.sent.clear()
        if self.evaluation is None or evaluator is None or len(self.events) > 2:
            return True
        begin = gpu.event(evaluator.stream)
        parts = max(-(-len(group.job.point_steps) // 32) for group, *_ in self.groups)
        rows = (self.base + self.size, row_words(self.program.schema), self.runs, parts)
        arguments = (*rows, self.base, evaluator.scratch, evaluator.warp_bytes)
        gpu.launch(self.evaluation, evaluator.warps, EVALUATION.threads, evaluator.stream, arguments)
        self.events += [begin, gpu.event(evaluator.stream)]
        return False

    def results(self, gpu: Device) -> Iterator[tuple[Work, list[Finished]]]:
        """The results of all runs, part by part."""
        for group, parts, offset in self.groups:
            content = np.empty(group.copied_back, np.uint8)
            gpu.fetch(self.base + offset, content)
            finished = iter(unpack(group, content))
            for part in parts:
                yield part, [next(finished) for _ in part.seeds]

    def progress(self, gpu: Device) -> Iterator[tuple[Work, np.ndarray]]:
        """The parts, and the steps and points that their seeds have done."""
        for group, parts, offset in self.groups:
            done = np.zeros((len(group.seeds), 2), np.int64)
            gpu.fetch(self.base + offset + group.places["progress"][0], done)
            start = 0
            for part in parts:
                yield part, done[start : start + len(part.seeds)]
                start += len(part.seeds)


class Evaluator(NamedTuple):
    """What evaluations share, one after the other: zeroed scratch memory, a stream, warps, and bytes per warp."""

    scratch: int
    stream: Any
    warps: int
    warp_bytes: int


def _wave(
    gpu: Device, work: list[Work], scratch: int, watcher: Watcher | None, spent: Spent
) -> Iterator[tuple[Work, list[Finished]]]:
    """Train work that is on the device together; scratch: bytes for evaluations."""
    stop, watched = np.zeros(1, np.int64), time.monotonic()
    taken: list[int] = []
    launches = _launches(work, stop)
    waiting = list(launches)
    try:
        evaluator = _prepare(gpu, launches, scratch, taken)
        spent.memory = max(spent.memory, sum(launch.size for launch in launches))
        for launch in launches:
            launch.start(gpu)
        while waiting:
            finished = [launch for launch in waiting if launch.is_finished(gpu, evaluator)]
            for launch in finished:
                for result in launch.results(gpu):
                    yield result
                    for other in waiting:
                        other.is_finished(gpu, evaluator)
                waiting.remove(launch)
            if not finished:
                time.sleep(LOOK_EVERY)
            if watcher is not None and waiting and time.monotonic() - watched > WATCH_EVERY:
                watcher(pair for launch in waiting for pair in launch.progress(gpu))
                watched = time.monotonic()
    except BaseException:
        with contextlib.suppress(MonMDPError):
            for launch in waiting if taken else []:
                gpu.send(launch.base + launch.shared[id(stop)][1], np.ones(1, np.int64))
        raise
    finally:
        for address in taken:
            gpu.give_back(address)
    for launch in launches:
        names = (launch.program.agent.__name__, "evaluation")
        for name, begin, end in zip(names, launch.events[::2], launch.events[1::2], strict=False):
            spent.launches.append((name, launch.runs, gpu.seconds(begin, end)))
    spent.waves.append(max(gpu.seconds(launches[0].events[0], launch.events[-1]) for launch in launches))


def _launches(work: list[Work], stop: np.ndarray) -> list[Launch]:
    """One launch for all runs of the same agent class, shape and on-chip memory; one group per job."""
    jobs: dict[int, list[Work]] = {}
    for part in work:
        jobs.setdefault(id(part.job), []).append(part)

    def packed(parts: list[Work]) -> Group:
        return pack(parts[0].job, [seed for part in parts for seed in part.seeds], stop)

    launches: dict[tuple[Program, int], Launch] = {}
    with ThreadPoolExecutor() as pool:
        for group, parts in zip(pool.map(packed, jobs.values()), jobs.values(), strict=True):
            program = program_for(group.job, group.schema)
            onchip = aligned(group.onchip_bytes(program.shape.onchip), ONCHIP_STEP)
            launches.setdefault((program, onchip), Launch(program, onchip)).add(group, parts)
    return list(launches.values())


def _prepare(gpu: Device, launches: list[Launch], scratch: int, taken: list[int]) -> Evaluator | None:
    """Load all kernels and allocate all memory, since neither can happen while kernels run."""
    capability = gpu.capability
    for launch in launches:
        launch.function = gpu.function(compiled(launch.program, capability))
        if any(group.job.episodes == 0 for group, *_ in launch.groups):
            schema = schema_of(Evaluated(*launch.groups[0][0].run[:3]))
            launch.evaluation = gpu.function(compiled(Program(None, schema, EVALUATION, False), capability))
    taken.append(gpu.take(sum(launch.size + launch.table_bytes for launch in launches)))
    place = taken[0]
    for launch in launches:
        launch.base = place
        place += launch.size + launch.table_bytes
    if not any(launch.evaluation for launch in launches):
        return None
    warp_bytes = aligned(STATE_BYTES * max(g.job.world.n_states for launch in launches for g, *_ in launch.groups))
    warps = max(1, min(gpu.attribute("MULTIPROCESSOR_COUNT") * EVALUATION.blocks, scratch // warp_bytes))
    taken.append(gpu.take(warps * warp_bytes))
    evaluator = Evaluator(taken[-1], gpu.stream(urgent=True), warps, warp_bytes)
    gpu.fill(evaluator.scratch, 0, warps * warp_bytes, evaluator.stream)
    return evaluator
