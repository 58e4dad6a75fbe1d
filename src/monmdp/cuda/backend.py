"""Trains many runs on a GPU: waves that fit into its memory, one launch per agent and shape, results as they finish."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from monmdp.cuda.compiling import ADVICE, Program, UnsuitableError, evaluation_kernel, program_for, training_kernel
from monmdp.cuda.driver import SHARE, Device, MissingGPUError
from monmdp.cuda.packing import (
    Evaluated, Group, SharedArrays, aligned, first_state, onchip_bytes, pack, rows, unpack,
)  # fmt: skip
from monmdp.cuda.schedule import EVALUATING, ONCHIP_STEP, STATE_BYTES, Work, waves
from monmdp.cuda.views import schema_of
from monmdp.errors import MonMDPError
from monmdp.training.job import Finished, Job

#: Where training may run.
DEVICES = ("cpu", "cuda", "auto")
#: Largest size of the scratch memory for evaluations, in bytes.
SCRATCH_BYTES = 1 << 30
#: Seconds between two looks at the device, and between two calls of a watcher.
LOOK_EVERY, WATCH_EVERY = 0.002, 0.2

#: Called from time to time with the parts on the device whose results are not there yet, and for each of them the
#: steps and points done, [seeds, 2].
Watcher = Callable[[list[Work], list[np.ndarray]], None]


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
    """Whether a job's agent declares a device kernel."""
    return job.agent.device_kernel is not None


def check_suitable(job: Job) -> None:
    """Refuse an agent without a device kernel."""
    if not is_suitable(job):
        raise UnsuitableError(f"{type(job.agent).__name__} has no kernel for GPUs. {ADVICE}")


def train_on_gpu(
    work: Sequence[Work], watcher: Watcher | None = None, spent: Spent | None = None
) -> Iterator[tuple[Work, list[Finished]]]:
    """Train all work; yields each part with the results of its seeds while others still train.

    Work that does not fit into memory is cut into parts with the same number. A caller should return quickly from
    a result, for example by saving it in another thread, since evaluations are started between results.
    """
    for part in work:
        check_suitable(part.job)
    gpu = device()
    usable = int(gpu.free() * SHARE)
    scratch = min(SCRATCH_BYTES, usable // 4)
    for wave in waves(work, usable - scratch):
        yield from Wave(gpu, wave, scratch, spent if spent is not None else Spent()).results(watcher)


@dataclass(eq=False)
class Launch:
    """Runs that one kernel trains: groups with their parts, where they are on the device, and events of their kernels.

    events: start and end of training, then of evaluation. sent: host memory that copies may still read.
    """

    program: Program
    onchip: int
    groups: list[tuple[Group, list[Work]]] = field(default_factory=list)
    shared: SharedArrays = field(default_factory=SharedArrays)
    function: Any = None
    evaluation: Any = None
    base: int = 0
    events: list[Any] = field(default_factory=list)
    sent: list[np.ndarray] = field(default_factory=list)

    @property
    def runs(self) -> int:
        return sum(len(group.seeds) for group, _ in self.groups)

    @property
    def row_words(self) -> int:
        return self.groups[0][0].row_words

    @property
    def table(self) -> int:
        """The address of the rows; the counter of evaluations is right before them."""
        return self.base + self.shared.size + aligned(8)

    @property
    def size(self) -> int:
        return self.table - self.base + aligned(8 * self.runs * self.row_words) + sum(g.size for g, _ in self.groups)

    def placed(self) -> Iterator[tuple[Group, list[Work], int]]:
        """The groups, their parts and their addresses."""
        place = self.table + aligned(8 * self.runs * self.row_words)
        for group, parts in self.groups:
            yield group, parts, place
            place += group.size


class Wave:
    """Runs that are on the device together."""

    def __init__(self, gpu: Device, work: list[Work], scratch: int, spent: Spent) -> None:
        """scratch: bytes for evaluations."""
        self._gpu, self._spent, self._scratch = gpu, spent, scratch
        self._stop = np.zeros(1, np.int64)
        parts: dict[int, list[Work]] = {}
        for part in work:
            parts.setdefault(id(part.job), []).append(part)
        launches: dict[tuple[Program, int], Launch] = {}
        for same_job in parts.values():
            seeds = [seed for part in same_job for seed in part.seeds]
            group = pack(same_job[0].job, seeds, self._stop)
            program = program_for(group.job, group.schema)
            onchip = aligned(onchip_bytes(group, program.shape.onchip), ONCHIP_STEP)
            launch = launches.setdefault((program, onchip), Launch(program, onchip))
            launch.groups.append((group, same_job))
            for values in group.shared.values():
                launch.shared.add(values)
        self._launches = list(launches.values())

    def results(self, watcher: Watcher | None) -> Iterator[tuple[Work, list[Finished]]]:
        """Train, evaluate and copy back, launch by launch."""
        taken: list[int] = []
        waiting, watched = list(self._launches), time.monotonic()
        try:
            self._prepare(taken)
            for launch in self._launches:
                self._start(launch)
            while waiting:
                finished = [launch for launch in waiting if self._is_finished(launch)]
                for launch in finished:
                    for result in self._fetched(launch):
                        yield result
                        for other in waiting:
                            self._is_finished(other)  # starts its evaluation once it is trained
                    waiting.remove(launch)
                if not finished:
                    time.sleep(LOOK_EVERY)
                if watcher is not None and waiting and time.monotonic() - watched > WATCH_EVERY:
                    watcher(*self._progress(waiting))
                    watched = time.monotonic()
        except BaseException:
            with contextlib.suppress(MonMDPError):
                for launch in waiting:
                    if launch.events:
                        gpu_stop = launch.base + launch.shared.offsets[id(self._stop)]
                        self._gpu.send(gpu_stop, np.ones(1, np.int64))
            raise
        finally:
            for address in taken:
                self._gpu.give_back(address)
        self._note_times()

    def _prepare(self, taken: list[int]) -> None:
        """Compile and load all kernels, and allocate memory; neither is possible while others run."""
        gpu = self._gpu
        for launch in self._launches:
            kernel = training_kernel(launch.program, gpu.capability)
            launch.function = gpu.function(kernel.ptx, kernel.entry)
            exact = [group for group, _ in launch.groups if group.job.episodes == 0]
            if exact:
                run = exact[0].template
                schema = schema_of(Evaluated(run.snapshots, run.world, run.episodes))
                kernel = evaluation_kernel(schema, gpu.capability)
                launch.evaluation = gpu.function(kernel.ptx, kernel.entry)
        total = sum(launch.size for launch in self._launches)
        taken.append(gpu.take(total))
        place = taken[0]
        for launch in self._launches:
            launch.base = place
            place += launch.size
        self._spent.memory = max(self._spent.memory, total)
        if any(launch.evaluation for launch in self._launches):
            states = max(group.job.world.n_states for launch in self._launches for group, _ in launch.groups)
            self._warp_bytes = aligned(states * STATE_BYTES)
            most = gpu.attribute("MULTIPROCESSOR_COUNT") * EVALUATING
            self._warps = max(1, min(most, self._scratch // self._warp_bytes))
            taken.append(gpu.take(self._warps * self._warp_bytes))
            self._scratch_address, self._evaluation_stream = taken[-1], gpu.stream(urgent=True)
            gpu.fill(taken[-1], 0, self._warps * self._warp_bytes, self._evaluation_stream)

    def _start(self, launch: Launch) -> None:
        """Copy the first values of all runs to the device and start their training."""
        gpu, stream = self._gpu, self._gpu.stream()

        def send(address: int, values: np.ndarray) -> None:
            launch.sent.append(values)
            gpu.send(address, values, stream)

        send(launch.base, launch.shared.content())
        addresses = {key: launch.base + offset for key, offset in launch.shared.offsets.items()}
        tables = []
        for group, _, place in launch.placed():
            send(place + group.state_start, first_state(group))
            for item in group.rest:
                if item.word is not None:
                    gpu.fill(place + item.offset, item.word, item.stride * len(group.seeds), stream)
            tables.append(rows(group, place, addresses, launch.program.shape.onchip))
        gpu.fill(launch.table - aligned(8), 0, 8, stream)
        send(launch.table, np.concatenate(tables))
        start, arguments = gpu.event(stream), (launch.table, launch.row_words)
        gpu.launch(launch.function, launch.runs, launch.program.shape.threads, stream, arguments, launch.onchip)
        launch.events = [start, gpu.event(stream)]

    def _is_finished(self, launch: Launch) -> bool:
        """Whether a launch is trained and evaluated; starts the evaluation when it is trained."""
        if not self._gpu.is_over(launch.events[-1]):
            return False
        launch.sent.clear()
        if launch.evaluation is None or len(launch.events) > 2:
            return True
        stream = self._evaluation_stream
        start = self._gpu.event(stream)
        parts = max(-(-len(group.job.point_steps) // 32) for group, _ in launch.groups)
        arguments = (
            launch.table, launch.row_words, launch.runs, parts, launch.table - aligned(8),
            self._scratch_address, self._warp_bytes,
        )  # fmt: skip
        self._gpu.launch(launch.evaluation, self._warps, 32, stream, arguments)
        launch.events += [start, self._gpu.event(stream)]
        return False

    def _fetched(self, launch: Launch) -> Iterator[tuple[Work, list[Finished]]]:
        """The results of a launch, part by part."""
        for group, parts, place in launch.placed():
            content = np.empty(group.copied_back, np.uint8)
            self._gpu.fetch(place, content)
            results = iter(unpack(group, content))
            for part in parts:
                yield part, [next(results) for _ in part.seeds]

    def _progress(self, launches: list[Launch]) -> tuple[list[Work], list[np.ndarray]]:
        """The parts of launches, and the steps and points that their seeds have done."""
        works: list[Work] = []
        done: list[np.ndarray] = []
        for launch in launches:
            for group, parts, place in launch.placed():
                offset = next(item.offset for item in group.rest if item.name == "progress")
                progress = np.zeros((len(group.seeds), 2), np.int64)
                self._gpu.fetch(place + offset, progress)
                works += parts
                done += np.split(progress, np.cumsum([len(part.seeds) for part in parts])[:-1])
        return works, done

    def _note_times(self) -> None:
        """Add the seconds of this wave's kernels to what was spent."""
        first = self._launches[0].events[0]
        for launch in self._launches:
            training, evaluation = launch.events[:2], launch.events[2:]
            self._spent.launches.append((launch.program.agent.__name__, launch.runs, self._gpu.seconds(*training)))
            if evaluation:
                self._spent.launches.append(("evaluation", launch.runs, self._gpu.seconds(*evaluation)))
        self._spent.waves.append(max(self._gpu.seconds(first, launch.events[-1]) for launch in self._launches))
