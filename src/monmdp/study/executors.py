"""Executors train batches: the interface, the one loop that drives it, and the executor on threads of this process.

Other executors: `monmdp.study.ray_cluster` and `monmdp.study.gpu`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from typing import NamedTuple

import numpy as np

from monmdp import check
from monmdp.machine import SHARE, available_bytes, n_cores
from monmdp.study.sweep import Batch
from monmdp.training.curves import Curves
from monmdp.training.job import Finished, Job
from monmdp.training.metrics import new_record

#: Seconds between two reports of progress.
WATCH_EVERY = 0.1
#: Called by the driving thread a few times per second.
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


class Executor(ABC):
    """Trains one list of batches and updates their progress; `drive` runs it."""

    @abstractmethod
    def outcomes(self, batches: Sequence[Batch], watch: Watch) -> Generator[list[Outcome]]:
        """Train batches, longest first; yields new outcomes, or an empty list a few times per second.

        Raises an error at the start if a batch can never run; releases all resources when it is closed. watch is for
        executors that cannot yield for a longer time.
        """

    def stop(self) -> list[Outcome]:
        """End training soon; returns the finished seeds of stopped batches, by default none."""
        return []


def drive(executor: Executor, batches: Sequence[Batch], deliver: Callable[[Outcome], None], watch: Watch) -> None:
    """Train batches; `deliver` gets every outcome.

    An error or an interrupt ends training soon, and is raised after the finished seeds were delivered.
    """
    if not batches:
        return
    watched = 0.0
    try:
        with closing(executor.outcomes(batches, watch)) as training:
            for outcomes in training:
                for outcome in outcomes:
                    deliver(outcome)
                if time.monotonic() - watched >= WATCH_EVERY:
                    watch()
                    watched = time.monotonic()
    finally:
        for outcome in executor.stop():
            deliver(outcome)
    watch()


class Threads(Executor):
    """Batches side by side on threads, limited by cores and memory; the compiled loop does not hold Python's lock.

    fail_fast: raise the first error of a seed instead of reporting it as a failure and continuing.
    """

    def __init__(self, threads: int | None = None, fail_fast: bool = False) -> None:
        self.threads = n_cores() if threads is None else check.whole(threads, 1, "The number of threads")
        self._fail_fast = fail_fast
        self._stop = np.zeros(1, np.int64)
        self._pool = ThreadPoolExecutor(self.threads)
        self._running: dict[Future[Outcome], Batch] = {}

    def outcomes(self, batches: Sequence[Batch], watch: Watch) -> Generator[list[Outcome]]:
        """Keep all threads busy while there is memory."""
        max(batches, key=lambda batch: batch.memory).job.workers(1)  # raises an error if a seed needs too much memory
        waiting, room = deque(batches), int(available_bytes() * SHARE)
        while waiting or self._running:
            used = sum(batch.memory for batch in self._running.values())
            while waiting and len(self._running) < self.threads:
                if self._running and used + waiting[0].memory > room:
                    break
                batch = waiting.popleft()
                used += batch.memory
                self._running[self._pool.submit(train_batch, batch, self._stop, self._fail_fast)] = batch
            finished, _ = wait(self._running, timeout=WATCH_EVERY, return_when=FIRST_COMPLETED)
            yield [self._outcome(future) for future in finished]

    def stop(self) -> list[Outcome]:
        """Stop every seed within milliseconds."""
        self._stop[0] = 1
        self._pool.shutdown(wait=True)
        return [self._outcome(future) for future in list(self._running) if future.exception() is None]

    def _outcome(self, future: Future[Outcome]) -> Outcome:
        del self._running[future]
        return future.result()


def train_batch(batch: Batch, stop: np.ndarray, fail_fast: bool = False) -> Outcome:
    """Train the seeds of a batch one after the other; a failing seed does not stop the others, unless `fail_fast`."""
    job, started = batch.job, time.perf_counter()
    finished: dict[int, Finished] = {}
    failures: list[str] = []
    for seed, progress in zip(batch.seeds, batch.progress, strict=True):
        if stop[0]:
            break
        try:
            result = job.run(seed, new_record(len(job.point_steps)), progress, stop)
        except Exception as error:
            if fail_fast:
                raise
            failures.append(f"{batch}, seed {seed}: {type(error).__name__}: {error}")
            continue
        if progress[0] == job.steps:
            finished[seed] = result
    seconds = time.perf_counter() - started
    return Outcome(Batch(job, tuple(finished)), list(finished.values()), failures, seconds)


def uses_gpu(device: str) -> bool:
    """Whether "cpu", "cuda" or "auto" means a GPU on this machine; an error if "cuda" cannot be used."""
    if device == "cpu":
        return False
    from monmdp.cuda.backend import chosen

    return chosen(device) == "cuda"


def runs_on_gpu(job: Job, device: str) -> bool:
    """Whether a GPU runs a job: with "cuda" always, or an error; with "auto" if there is one that can."""
    if not uses_gpu(device):
        return False
    if device == "cuda":
        from monmdp.cuda.backend import check_suitable

        check_suitable(job)
    return job.agent.device_kernel is not None
