"""Runs a sweep: trains what is not in the results folder yet, and saves each batch as soon as it is finished."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.machine import n_cores
from monmdp.study.executors import Executor, Outcome, Threads, drive, gpu_filter
from monmdp.study.plan import Batch, merged, remaining, requested
from monmdp.study.results import CellResults, Results
from monmdp.study.store import Store
from monmdp.study.sweep import Sweep

#: Threads that write files, at most, and outcomes that wait for them: at most 5 MB each in the paper's sweep.
MOST_WRITERS, QUEUE = 32, 100


@dataclass
class Report:
    """What a sweep did: runs to do, done and skipped (they were in the folder), their steps, and what went wrong.

    requested: one batch per job, with all its seeds. planned_seconds and done_seconds: estimated training time on one
    core of all runs to do, and of the steps done so far. earlier: the cells that were in the folder; solved: for the
    identity of every job with new runs, whether they ended with the target return.
    """

    folder: Path
    requested: list[Batch]
    runs: int = 0
    steps: int = 0
    planned_seconds: float = 0.0
    done_seconds: float = 0.0
    skipped: int = 0
    done: int = 0
    failures: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    seconds: float = 0.0
    earlier: list[CellResults] = field(default_factory=list)
    solved: dict[str, list[np.ndarray]] = field(default_factory=dict)

    def plan(self, results: Results | None, shard: tuple[int, int]) -> list[Batch]:
        """The batches that are not in the results yet; fills in the totals of this report."""
        self.earlier = [] if results is None else list(results.cells.values())
        left = remaining(self.requested, {cell.identity: set(cell.seeds) for cell in self.earlier}, shard)
        self.runs = sum(len(batch.seeds) for batch in left)
        self.steps = sum(batch.steps for batch in left)
        self.planned_seconds = sum(batch.seconds for batch in left)
        self.skipped = sum(len(batch.seeds) for batch in remaining(self.requested, {}, shard)) - self.runs
        return left


#: Called a few times per second with the report so far and the number of training steps done.
Watcher = Callable[[Report, int], None]


class Saver:
    """Saves outcomes on a few threads, so that training need not wait; the queue is short, so that memory is bounded.

    Leaving its context waits for all files; the first error of a thread is raised by the next call. Files are flushed
    to disk together, at the end: a file that a power failure damages does not fit the fingerprint in its name, and its
    runs are repeated.
    """

    def __init__(self, store: Store, report: Report) -> None:
        self._store, self._report = store, report
        self._pool = ThreadPoolExecutor(min(2 * n_cores(), MOST_WRITERS))
        self._saving: dict[Future[np.ndarray], str] = {}

    def __enter__(self) -> Saver:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.shutdown(wait=True)
        if hasattr(os, "sync"):
            os.sync()
        try:
            self.check()
        except OSError:
            if kind is None:
                raise

    def save(self, outcome: Outcome) -> None:
        """Queue an outcome; waits while the queue is full."""
        self._report.failures += outcome.failures
        if outcome.finished:
            while len(self._saving) >= QUEUE:
                wait(self._saving, return_when=FIRST_COMPLETED)
                self.check()
            self._saving[self._pool.submit(self._write, outcome)] = outcome.batch.identity

    def _write(self, outcome: Outcome) -> np.ndarray:
        curves = outcome.curves()
        self._store.save(curves, flush=False)
        return curves.solved

    def check(self) -> None:
        """Count the runs saved so far."""
        errors = []
        for future in [future for future in self._saving if future.done()]:
            identity, error = self._saving.pop(future), future.exception()
            if error is None:
                self._report.done += len(future.result())
                self._report.solved.setdefault(identity, []).append(future.result())
            else:
                errors.append(error)
        if errors:
            raise errors[0]


def plan_sweep(
    sweeps: Sweep | Iterable[Sweep], folder: Path | str, shard: tuple[int, int] = (1, 1)
) -> tuple[Report, list[Batch]]:
    """What a sweep would do, without writing or moving anything."""
    report = Report(Path(folder), requested(sweeps))
    results = Results(folder, required=False) if (report.folder / "monmdp.json").exists() else None
    return report, report.plan(results, shard)


def run_sweep(
    sweeps: Sweep | Iterable[Sweep],
    folder: Path | str,
    *,
    shard: tuple[int, int] = (1, 1),
    threads: int | None = None,
    watcher: Watcher | None = None,
    executor: Executor | None = None,
    device: str = "cpu",
) -> Report:
    """Train the runs of some sweeps that a folder does not have yet, and save them there.

    An interrupt stops within a second; finished seeds are saved. executor: by default threads of this process. device:
    "cpu", "cuda", or "auto" for a GPU if there is one; with "auto" the CPU trains the agents that no GPU can run.
    """
    requests = requested(sweeps)  # before anything is written: a sweep with an error leaves no trace
    runs_on_gpu = gpu_filter(device, [request.job for request in requests])
    if device != "cpu" and executor is not None:
        raise MonMDPError("A sweep runs on a GPU of this machine or on a cluster, not both; choose the device 'cpu'.")
    cpu = Threads(threads) if executor is None else executor
    store = Store(folder, create=True)
    report, results = Report(store.folder, requests), Results(store.folder, required=False)
    for path, message in results.damage.items():
        report.damaged.append(f"{message} It is now {store.quarantine(path)}, and its runs are repeated.")
    left = report.plan(results, shard)
    assigned = [(cpu, [batch for batch in left if not runs_on_gpu(batch.job)])]
    if device != "cpu":
        from monmdp.study.gpu import GPU

        assigned.insert(0, (GPU(), merged(batch for batch in left if runs_on_gpu(batch.job))))
    started = time.perf_counter()

    def watch() -> None:
        saver.check()
        steps, seconds = zip(*(executor.done() for executor, _ in assigned), strict=True)
        report.done_seconds = sum(seconds)
        if watcher is not None:
            watcher(report, sum(steps))

    try:
        with Saver(store, report) as saver:
            for chosen, batches in assigned:
                drive(chosen, batches, saver.save, watch)
        watch()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise MonMDPError(
                f"The disk of {store.folder} is full; {report.done} runs are saved. Free some space and start again."
            ) from None
        raise MonMDPError(f"{store.folder} cannot be written: {error.strerror}.") from None
    report.seconds = time.perf_counter() - started
    return report
