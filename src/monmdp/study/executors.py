"""Executors train batches: the interface, and the executor on threads of this process.

Other executors: `monmdp.study.ray_cluster` and `monmdp.study.gpu`.
"""

import contextlib
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import NamedTuple

import numpy as np

from monmdp import check
from monmdp.agents.base import HasJob
from monmdp.errors import MonMDPError
from monmdp.machine import SHARE, available_bytes, n_cores
from monmdp.study.processes import NotSentError, called_apart
from monmdp.study.sweep import Batch
from monmdp.training.curves import Curves
from monmdp.training.job import Finished, Job

#: Seconds between two reports of progress.
WATCH_EVERY = 0.1
Watch = Callable[[], None]


class Outcome(NamedTuple):
    """A trained batch with only its finished seeds, their results, one message per failed seed, and the seconds."""

    batch: Batch
    finished: list[Finished]
    failures: list[str]
    seconds: float

    def curves(self) -> Curves:
        """The curves of the finished seeds."""
        job = self.batch.job
        return job.collect(job.run_settings, list(self.batch.seeds), self.finished, self.seconds)


Deliver = Callable[[Outcome], None]


class Executor(ABC):
    """Trains batches and updates their progress; state: what it does until the first steps are done."""

    state = "compiling kernels"

    @abstractmethod
    def train(self, batches: Sequence[Batch], deliver: Deliver, watch: Watch) -> None:
        """Train batches, longest first; deliver gets every outcome, and watch is called several times per second.

        Raises an error at the start if a batch can never run. An error or an interrupt ends training soon.
        """


def throttled(watch: Watch) -> Watch:
    """The same function, which does nothing if it is called again too soon."""
    last = 0.0

    def call() -> None:
        nonlocal last
        if time.monotonic() - last >= WATCH_EVERY:
            watch()
            last = time.monotonic()

    return call


class Threads(Executor):
    """Batches side by side on threads, limited by cores and memory; the compiled loop does not hold Python's lock, and
    jobs that do have processes.

    fail_fast: raise the first error of a seed instead of reporting it as a failure and continuing.
    """

    def __init__(self, threads: int | None = None, fail_fast: bool = False) -> None:
        self.threads = n_cores() if threads is None else check.whole(threads, 1, "The number of threads")
        self._fail_fast = fail_fast

    def train(self, batches: Sequence[Batch], deliver: Deliver, watch: Watch) -> None:
        """Keep all threads busy while there is memory; at an error, stop every seed and deliver the finished ones."""
        max(batches, key=lambda batch: batch.memory).job.workers(1)  # raises an error if a seed needs too much memory
        waiting, room = deque(together(batches)), int(available_bytes() * SHARE)
        running: dict[Future[list[Outcome]], list[Batch]] = {}
        pool, stop = ThreadPoolExecutor(self.threads), np.zeros(1, np.int64)
        try:
            while waiting or running:
                used = sum(_memory(group) for group in running.values())
                while waiting and len(running) < self.threads:
                    if running and used + _memory(waiting[0]) > room:
                        break
                    group = waiting.popleft()
                    used += _memory(group)
                    train = train_apart if self.threads > 1 and group[0].job.own_process else train_group
                    running[pool.submit(train, group, stop, self._fail_fast)] = group
                finished, _ = wait(running, timeout=WATCH_EVERY, return_when=FIRST_COMPLETED)
                for future in finished:
                    del running[future]
                    for outcome in future.result():
                        deliver(outcome)
                watch()
        finally:
            stop[0] = 1
            pool.shutdown(wait=True)
            for future in running:
                if future.exception() is None:
                    for outcome in future.result():
                        deliver(outcome)


def together(batches: Iterable[Batch]) -> list[list[Batch]]:
    """Batches in groups: those of one program together, as many seeds as it has lanes, and others alone."""
    groups: list[list[Batch]] = []
    filling: dict[Hashable, list[list[Batch]]] = {}
    for batch in batches:
        job, size = batch.job, len(batch.seeds)
        open_groups = filling.setdefault(job.program, []) if job.program is not None else []
        fitting = (group for group in open_groups if sum(len(other.seeds) for other in group) + size <= job.lanes)
        group = next(fitting, None)
        if group is None:
            groups.append(group := [])
            open_groups.append(group)
        group.append(batch)
    return groups


def _memory(group: list[Batch]) -> int:
    """Estimated bytes of a group of batches while it runs."""
    return sum(batch.memory for batch in group)


def train_group(group: Sequence[Batch], stop: np.ndarray, fail_fast: bool = False) -> list[Outcome]:
    """Train the seeds of batches with one program, as many at once as it can; a failing seed does not stop the others,
    unless `fail_fast`."""
    job = group[0].job
    with contextlib.suppress(Exception):  # the first seed raises it again
        job.prepare()
    started = time.perf_counter()
    runs = [(number, seed) for number, batch in enumerate(group) for seed in batch.seeds]
    progress = [own for batch in group for own in batch.progress]
    finished: list[dict[int, Finished]] = [{} for _ in group]
    failures: list[list[str]] = [[] for _ in group]
    for start in range(0, len(runs), job.lanes):
        if stop[0]:
            break
        part, steps = runs[start : start + job.lanes], progress[start : start + job.lanes]
        results = job.run_together([(group[number].job, seed) for number, seed in part], steps, stop)
        for (number, seed), own, result in zip(part, steps, results, strict=True):
            if isinstance(result, Exception):
                if fail_fast:
                    raise result
                failures[number].append(f"{group[number]}, seed {seed}: {type(result).__name__}: {result}")
            elif own[0] == group[number].job.steps:
                finished[number][seed] = result
    seconds = (time.perf_counter() - started) / len(group)
    return [
        Outcome(Batch(batch.job, tuple(finished[number])), list(finished[number].values()), failures[number], seconds)
        for number, batch in enumerate(group)
    ]


def train_apart(group: Sequence[Batch], stop: np.ndarray, fail_fast: bool = False) -> list[Outcome]:
    """As `train_group`, in a process of its own, or in this one if it cannot be sent there, as from a notebook."""
    call = partial(train_group, group, np.zeros(1, np.int64), fail_fast)
    try:
        return called_apart(call, [batch.progress for batch in group], stop) or []
    except NotSentError:
        return train_group(group, stop, fail_fast)
    except MonMDPError as error:  # the process was killed
        if fail_fast:
            raise
        return [Outcome(Batch(batch.job, ()), [], [f"{batch}, seeds {batch.seeds}: {error}"], 0.0) for batch in group]


def uses_gpu(device: str) -> bool:
    """Whether "cpu", "cuda" or "auto" means a GPU on this machine; an error if "cuda" cannot be used."""
    if device == "cpu":
        return False
    from monmdp.cuda.backend import chosen

    return chosen(device) == "cuda"


def runs_on_gpu(job: Job, device: str) -> bool:
    """Whether a GPU runs a job: with "cuda" always, or an error; with "auto" if there is one that can."""
    if isinstance(job.agent, HasJob):
        job.agent.check_device(device)
        return False
    if not uses_gpu(device):
        return False
    if device == "cuda":
        from monmdp.cuda.backend import check_suitable

        check_suitable(job)
    return job.agent.device_kernel is not None
