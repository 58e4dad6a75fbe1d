"""Runs a sweep: batches on all cores, each saved as soon as it is finished; what is there already is skipped."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from monmdp import check
from monmdp.cuda.backend import chosen as chosen_device
from monmdp.cuda.backend import is_suitable, train_on_gpu
from monmdp.cuda.launches import check_suitable
from monmdp.cuda.schedule import Work
from monmdp.errors import MonMDPError
from monmdp.machine import SHARE, available_bytes, n_cores, readable
from monmdp.study.cells import Cell
from monmdp.study.plan import Batch, batches, wanted
from monmdp.study.store import DamagedFileError, Store, is_disk_full, is_results_folder
from monmdp.study.sweep import Sweep
from monmdp.training.curves import Curves
from monmdp.training.job import Finished
from monmdp.training.metrics import new_record

#: Told now and then: the report so far, and the steps done.
Watcher = Callable[["Report", int], None]


@dataclass
class Report:
    """What a sweep did; work and worked: about how many seconds of a core the runs done here take, and took so far."""

    folder: Path
    wishes: list[tuple[Cell, list[int]]]
    runs: int = 0
    steps: int = 0
    work: float = 0.0
    worked: float = 0.0
    skipped: int = 0
    done: int = 0
    failures: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Outcome(NamedTuple):
    """What a worker brings back: the batch of the seeds that were finished, their curves, and what failed."""

    batch: Batch
    curves: Curves | None
    failures: list[str]


class Control:
    """How a running batch is watched and stopped from outside."""

    def __init__(self) -> None:
        self.stop = np.zeros(1, np.int64)
        self.batches: list[tuple[Batch, np.ndarray]] = []

    def done(self) -> int:
        """Training steps done so far, over all batches."""
        return int(sum(steps.sum() for _, steps in list(self.batches)))

    def worked(self) -> float:
        """About how many seconds on one core these steps should have taken."""
        return float(sum(batch.seconds * steps.sum() / batch.steps for batch, steps in list(self.batches)))


def run_batch(batch: Batch, control: Control) -> Outcome:
    """Train the seeds of a batch one after the other; a seed that fails does not stop the others."""
    job = batch.cell.job
    progress = np.zeros((len(batch.seeds), 2), np.int64)
    control.batches.append((batch, progress[:, 0]))
    started = time.perf_counter()
    finished: list[Finished] = []
    seeds: list[int] = []
    failures: list[str] = []
    for seed, counter in zip(batch.seeds, progress, strict=True):
        if control.stop[0]:
            break
        try:
            result = job.run(seed, new_record(len(job.point_steps)), counter, control.stop)
        except Exception as error:  # whatever it is, it is reported and the sweep goes on
            failures.append(f"{batch.cell}, seed {seed}: {type(error).__name__}: {error}")
            continue
        if counter[0] == job.steps:
            finished.append(result)
            seeds.append(seed)
    if not seeds:
        return Outcome(batch, None, failures)
    curves = job.collect(job.run_settings, seeds, finished, time.perf_counter() - started)
    return Outcome(Batch(batch.cell, tuple(seeds)), curves, failures)


#: Trains a batch.
Trainer = Callable[[Batch, Control], Outcome]


def find_done(store: Store, report: Report, set_aside: bool) -> dict[str, set[int]]:
    """Seeds that are there already, by cell; files that cannot be trusted are named and moved out of the way."""
    done: dict[str, set[int]] = {}
    for entry in store.entries():
        if not isinstance(entry, DamagedFileError):
            done.setdefault(entry.identity, set()).update(entry.seeds)
        elif set_aside:
            aside = store.set_aside(entry.path)
            report.damaged.append(f"{entry} It is now {aside}, and what it held is done again.")
    return done


def plan_sweep(
    sweeps: Sweep | Iterable[Sweep], folder: Path | str, shard: tuple[int, int] = (1, 1)
) -> tuple[Report, list[Batch]]:
    """What would be done, with nothing written or moved."""
    report = Report(Path(folder), wanted(sweeps))
    done = find_done(Store(folder), report, set_aside=False) if is_results_folder(folder) else {}
    return report, _left(report, done, shard)


def _left(report: Report, done: dict[str, set[int]], shard: tuple[int, int]) -> list[Batch]:
    """The batches that are left, counted in the report."""
    left = batches(report.wishes, done, shard)
    report.runs = sum(len(batch.seeds) for batch in left)
    report.steps = sum(batch.steps for batch in left)
    everything = batches(report.wishes, {}, shard)
    report.skipped = sum(len(batch.seeds) for batch in everything) - report.runs
    return left


def run_sweep(
    sweeps: Sweep | Iterable[Sweep],
    folder: Path | str,
    *,
    shard: tuple[int, int] = (1, 1),
    threads: int | None = None,
    watcher: Watcher | None = None,
    cluster: Any = None,
    train: Trainer = run_batch,
    device: str = "cpu",
) -> Report:
    """Run what is left of some sweeps into a folder, here or on a cluster.

    An interrupt stops within a second; finished seeds are saved. train: how a batch is trained here. device: "cpu",
    "cuda", or "auto" for a GPU if there is one; a GPU takes all batches together, and with "auto" the CPU those whose
    agent no GPU can run.
    """
    on_gpu = chosen_device(device) == "cuda"
    if on_gpu and cluster is not None:
        raise MonMDPError("A sweep runs on a GPU here or on a cluster's cores, not both.")
    wishes = wanted(sweeps)  # before anything is written: a sweep that cannot be resolved leaves no trace
    if device == "cuda":
        for cell, _ in wishes:
            check_suitable(cell.job)
    store = Store(folder, create=True)
    report = Report(store.folder, wishes)
    left = _left(report, find_done(store, report, set_aside=True), shard)
    started = time.perf_counter()
    try:
        if on_gpu:
            kinds = {type(batch.cell.job.agent): batch.cell.job for batch in left}
            suited = [kind for kind, job in kinds.items() if device == "cuda" or is_suitable(job)]
            _run_on_gpu(store, report, [batch for batch in left if type(batch.cell.job.agent) in suited], watcher)
            left = [batch for batch in left if type(batch.cell.job.agent) not in suited]
        if left and cluster is None:
            _run_here(store, report, left, threads, watcher, train)
        elif left:
            cluster.run(store, report, left, watcher)
    except OSError as error:
        if is_disk_full(error):
            told = f"The disk of {store.folder} is full; {report.done} runs are saved. Make room and start again."
            raise MonMDPError(told) from None
        raise MonMDPError(f"{store.folder} cannot be written: {error.strerror}.") from None
    report.seconds = time.perf_counter() - started
    return report


def keep(store: Store, report: Report, outcome: Outcome) -> None:
    """Save what a worker brought back."""
    report.failures += outcome.failures
    if outcome.curves is not None:
        store.save(outcome.batch, outcome.curves)
        report.done += len(outcome.batch.seeds)


def _run_on_gpu(store: Store, report: Report, left: list[Batch], watcher: Watcher | None) -> None:
    """All batches that fit into the GPU's memory at once; each is saved whole as soon as all its seeds are there."""
    work = [Work(batch.cell.job, batch.seeds, number) for number, batch in enumerate(left)]
    found: dict[int, dict[int, Finished]] = {}
    started = time.perf_counter()
    before = most = 0  # steps of what came back, and all that were seen done

    def tell(parts: list[Work], steps: list[np.ndarray]) -> None:
        nonlocal most
        most = max(most, before + sum(int(done[:, 0].sum()) for done in steps))
        if watcher is not None:
            watcher(report, most)

    for part, results in train_on_gpu(work, watcher=tell):
        batch = left[part.number]
        here = found.setdefault(part.number, {})
        here.update(zip(part.seeds, results, strict=True))
        before += part.job.steps * len(part.seeds)
        if len(here) == len(batch.seeds):
            finished = [here[seed] for seed in batch.seeds]
            curves = batch.cell.job.collect(
                batch.cell.settings, list(batch.seeds), finished, time.perf_counter() - started
            )
            keep(store, report, Outcome(batch, curves, []))
            del found[part.number]
            if watcher is not None:
                watcher(report, max(most, before))


def _run_here(
    store: Store,
    report: Report,
    left: list[Batch],
    threads: int | None,
    watcher: Watcher | None,
    train: Trainer,
) -> None:
    """Longest batches first, as many side by side as cores and memory allow."""
    control = Control()
    room = int(available_bytes() * SHARE)
    too_big = [batch for batch in left if batch.memory > room]
    if too_big:
        raise MonMDPError(
            f"{too_big[0].cell} needs {readable(too_big[0].memory)} of memory, and {readable(room)} can be used."
        )
    slots = n_cores() if threads is None else check.whole(threads, 1, "The number of threads")
    report.work = sum(batch.seconds for batch in left)
    waiting = list(left)
    running: dict[Future[None], Batch] = {}

    def work(batch: Batch) -> None:
        keep(store, report, train(batch, control))

    with ThreadPoolExecutor(slots) as pool:
        try:
            while waiting or running:
                used = sum(batch.memory for batch in running.values())
                while waiting and len(running) < slots and used + waiting[0].memory <= room:
                    batch = waiting.pop(0)
                    used += batch.memory
                    running[pool.submit(work, batch)] = batch
                finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    del running[future]
                    future.result()
                report.worked = control.worked()
                if watcher is not None:
                    watcher(report, control.done())
        except BaseException:
            control.stop[0] = 1
            wait(running)
            raise
