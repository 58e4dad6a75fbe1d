"""Executors train batches: the interface, the one loop that drives it, and the executor on threads of this process.

Other executors: `monmdp.study.ray_cluster` and `monmdp.study.gpu`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from monmdp import check
from monmdp.machine import SHARE, available_bytes, n_cores
from monmdp.study.plan import Batch
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


class Tracker:
    """A batch in training: progress [seed, 2] is the number of steps and of points done; one record per seed."""

    def __init__(self, batch: Batch, points: int = 0) -> None:
        """points: the length of the records, where training fills them in place; otherwise they stay empty."""
        self.batch = batch
        self.progress = np.zeros((len(batch.seeds), 2), np.int64)
        self.records = [new_record(points) for _ in batch.seeds] if points else [new_record(1)] * len(batch.seeds)

    @property
    def done(self) -> tuple[int, float]:
        """Training steps done, and the estimated seconds that they take on one core."""
        steps = int(self.progress[:, 0].sum())
        return steps, self.batch.seconds * steps / self.batch.steps

    def latest(self) -> Iterator[tuple[int, float, int]]:
        """The steps done, the last recorded return and the number of observed rewards of each seed."""
        for (steps, points), record in zip(self.progress.tolist(), self.records, strict=True):
            last = min(max(points - 1, 0), len(record.returns) - 1)
            yield steps, record.returns[last], record.observed[last]


class Executor(ABC):
    """Trains one list of batches; `drive` runs it.

    running: the trackers of batches in training, by a key of the executor's choice.
    """

    def __init__(self) -> None:
        self.running: dict[Any, Tracker] = {}
        self._done = 0, 0.0

    @abstractmethod
    def outcomes(self, batches: Sequence[Batch], watch: Watch) -> Generator[list[Outcome]]:
        """Train batches, longest first; yields new outcomes, or an empty list a few times per second.

        Raises an error at the start if a batch can never run; releases all resources when it is closed. watch is for
        executors that cannot yield for a longer time.
        """

    def stop(self) -> list[Outcome]:
        """End training soon; returns the finished seeds of stopped batches, by default none."""
        return []

    def done(self) -> tuple[int, float]:
        """Training steps done so far, and the estimated seconds that they take on one core."""
        steps, seconds = zip(self._done, *(tracker.done for tracker in self.running.values()), strict=True)
        return sum(steps), sum(seconds)

    def _finish(self, key: Any) -> None:
        """Move a batch from the running ones to the totals."""
        steps, seconds = self.running.pop(key).done
        self._done = self._done[0] + steps, self._done[1] + seconds


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
        super().__init__()
        self.threads = n_cores() if threads is None else check.whole(threads, 1, "The number of threads")
        self._fail_fast = fail_fast
        self._stop = np.zeros(1, np.int64)
        self._pool = ThreadPoolExecutor(self.threads)

    def outcomes(self, batches: Sequence[Batch], watch: Watch) -> Generator[list[Outcome]]:
        """Keep all threads busy while there is memory."""
        max(batches, key=lambda batch: batch.memory).job.workers(1)  # raises an error if a seed needs too much memory
        waiting, room = deque(batches), int(available_bytes() * SHARE)
        while waiting or self.running:
            used = sum(tracker.batch.memory for tracker in self.running.values())
            while waiting and len(self.running) < self.threads:
                if self.running and used + waiting[0].memory > room:
                    break
                batch = waiting.popleft()
                used += batch.memory
                tracker = Tracker(batch, len(batch.job.point_steps))
                self.running[self._pool.submit(train_batch, tracker, self._stop, self._fail_fast)] = tracker
            finished, _ = wait(self.running, timeout=WATCH_EVERY, return_when=FIRST_COMPLETED)
            yield [self._outcome(future) for future in finished]

    def stop(self) -> list[Outcome]:
        """Stop every seed within milliseconds."""
        self._stop[0] = 1
        self._pool.shutdown(wait=True)
        return [self._outcome(future) for future in list(self.running) if future.exception() is None]

    def _outcome(self, future: Future[Outcome]) -> Outcome:
        self._finish(future)
        return future.result()


def train_batch(tracker: Tracker, stop: np.ndarray, fail_fast: bool = False) -> Outcome:
    """Train the seeds of a batch one after the other; a failing seed does not stop the others, unless `fail_fast`."""
    batch, job = tracker.batch, tracker.batch.job
    started = time.perf_counter()
    finished: dict[int, Finished] = {}
    failures: list[str] = []
    for seed, record, progress in zip(batch.seeds, tracker.records, tracker.progress, strict=True):
        if stop[0]:
            break
        try:
            result = job.run(seed, record, progress, stop)
        except Exception as error:
            if fail_fast:
                raise
            failures.append(f"{batch}, seed {seed}: {type(error).__name__}: {error}")
            continue
        if progress[0] == job.steps:
            finished[seed] = result
    seconds = time.perf_counter() - started
    return Outcome(Batch(job, tuple(finished)), list(finished.values()), failures, seconds)


def gpu_filter(device: str, jobs: Iterable[Job]) -> Callable[[Job], bool]:
    """Which jobs to run on a GPU: with "cuda" all, or an error; with "auto" those that a GPU, if any, can run."""
    if device != "cpu":
        from monmdp.cuda.backend import check_suitable, chosen

        if chosen(device) == "cuda":
            for job in jobs if device == "cuda" else ():
                check_suitable(job)
            return lambda job: job.agent.device_kernel is not None
    return lambda job: False
