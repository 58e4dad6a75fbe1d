"""Training on all cores or a GPU: seeds of one agent, and sweeps, which save each batch as soon as it is finished."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monmdp import check
from monmdp.agents.base import AGENTS, Agent
from monmdp.errors import MonMDPError, MonMDPWarning, plural
from monmdp.files import WriteError
from monmdp.machine import check_memory, n_cores
from monmdp.problem import MonMDP
from monmdp.progress import print_message, progress_bar
from monmdp.protocol import paper_job
from monmdp.registry import construct
from monmdp.study.executors import Executor, Outcome, Threads, runs_on_gpu, throttled
from monmdp.study.results import Results
from monmdp.study.store import Store
from monmdp.study.sweep import Batch, Sweep, cut, merged, remaining, requested
from monmdp.training.curves import Curves
from monmdp.training.job import Finished, as_seeds
from monmdp.training.metrics import METRICS

#: Batches per thread: enough for all threads to end at about the same time.
BATCHES_PER_THREAD = 8
#: Threads that write files, at most, and outcomes that wait for them: at most 5 MB each in the paper's sweep.
MOST_WRITERS, QUEUE = 32, 100
#: Called about ten times per second with the number of training steps done and of all, over all seeds.
Progress = Callable[[int, int], None]


def train(
    problem: MonMDP,
    agent: Any = "Directed",
    seeds: int | Iterable[int] = 1,
    steps: int | None = None,
    points: int | None = None,
    evaluation: str = "exact",
    threads: int | None = None,
    progress: Progress | bool | None = None,
    device: str = "cpu",
    observe: Any = None,
) -> Curves:
    """Train an agent, one run per seed, and evaluate its greedy policy at evenly spaced points and at the end.

    agent: a name with options, as in "Directed(beta_bar=0.1)", an agent, or a learner in plain Python, as in `record`.
    seeds: their number, or a list. steps: by default the paper's, for its problems. points: by default 1,000, at most
    one per step. evaluation: "exact", "sampled" as in the paper, or "none". device: "cpu", "cuda" for a GPU, or "auto"
    for a GPU if there is one that can run the agent. The same seed gives the same result, whatever the threads, the
    other seeds, the points and the device.
    progress: True shows a bar, and a line before an agent is compiled, which takes seconds; None only that line, on a
    terminal; False nothing. A function is called about ten times per second with the number of steps done and of all.
    The seconds of the result do not include compilation on a CPU.
    observe: for agents with networks, what they see: "pixels", "one-hot", "coordinates", "noisy pixels", or a function
    (problem, environment state) → array. They run where JAX runs.
    """
    if isinstance(agent, list | tuple):
        raise MonMDPError("train takes one agent; monmdp.compare trains several with the same seeds.")
    if observe is not None:
        agent = observing(agent, observe)
    everything = Batch(paper_job(problem, agent, steps, points, evaluation), tuple(as_seeds(seeds)))
    job, settings = everything.job, everything.job.run_settings
    job.keeps_policies = True
    each = 8 * len(METRICS) * len(job.point_steps) + 32 * problem.n_pairs
    what = f"A result of {plural(len(everything.seeds), 'seed')} and {plural(len(job.point_steps) - 1, 'point')}"
    check_memory(each * len(everything.seeds), what, "choose fewer seeds or points, or a sweep, which saves its runs")
    executor: Executor = (cpu := Threads(threads, fail_fast=True))
    batches = cut(everything, max(job.lanes, len(everything.seeds) // (BATCHES_PER_THREAD * cpu.threads)))
    on_gpu = runs_on_gpu(job, device)
    if on_gpu:
        from monmdp.study.gpu import GPU

        executor, batches = GPU(), [everything]
    finished: dict[int, Finished] = {}

    def deliver(outcome: Outcome) -> None:
        finished.update(zip(outcome.batch.seeds, outcome.finished, strict=True))

    with progress_bar(str(everything), print_message) if progress is True else nullcontext(progress) as show:

        def watch() -> None:
            if callable(show):
                show(sum(batch.steps_done for batch in batches), everything.steps)

        if not on_gpu:
            job.workers(1)  # raises an error if a seed needs too much memory
            explains = progress is True or (progress is None and sys.stderr.isatty())
            job.prepare(print_message if explains else None)
        started = time.perf_counter()
        executor.train(batches, deliver, throttled(watch))
        seconds = time.perf_counter() - started
        watch()
    ordered = [finished[seed] for seed in everything.seeds]
    return job.collect(settings, list(everything.seeds), ordered, seconds)


def observing(agent: Any, observe: Any) -> Any:
    """An agent with networks that sees this."""
    if isinstance(agent, Agent):
        return construct(type(agent), {**vars(agent), "observe": observe})
    return AGENTS.build(agent, observe=observe)


@dataclass
class Report:
    """What a sweep did: runs to do, done and skipped (they were in the folder), their steps, and what went wrong.

    requested: one batch per job, with all its seeds. state: what happens until the first steps are done.
    """

    folder: Path
    requested: list[Batch]
    runs: int = 0
    steps: int = 0
    skipped: int = 0
    skipped_steps: int = 0
    done: int = 0
    failures: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    seconds: float = 0.0
    state: str = ""

    def plan(self, results: Results | None, shard: tuple[int, int]) -> list[Batch]:
        """The batches that are not in the results yet; fills in the totals of this report."""
        done = {} if results is None else {cell.identity: set(cell.seeds) for cell in results.cells.values()}
        left = remaining(self.requested, done, shard)
        self.runs = sum(len(batch.seeds) for batch in left)
        self.steps = sum(batch.steps for batch in left)
        everything = remaining(self.requested, {}, shard)
        self.skipped = sum(len(batch.seeds) for batch in everything) - self.runs
        self.skipped_steps = sum(batch.steps for batch in everything) - self.steps
        return left


#: Called a few times per second with the report so far and the number of training steps done.
Watcher = Callable[[Report, int], None]


@contextmanager
def sweep_progress(log: Callable[[str], None]) -> Iterator[Watcher]:
    """Yields a function that shows a report as a bar, or as lines of text; runs from before count as done."""
    first: tuple[float, int] | None = None
    with progress_bar("preparing", log) as update:

        def show(report: Report, steps: int) -> None:
            nonlocal first
            first = (time.monotonic(), steps) if steps and first is None else first
            began, before = first or (0.0, 0)
            rate = (steps - before) / max(time.monotonic() - began, 1e-9)
            speed = f"{rate / 1e6:.2f} million steps/s" if rate >= 1e4 else f"{rate:,.0f} steps/s"
            runs = f"{report.skipped + report.done:,} of {plural(report.skipped + report.runs, 'run')}"
            total = report.skipped_steps + report.steps
            state = report.state if not steps else speed if steps > before else "training"
            update(report.skipped_steps + steps, total, f"{runs}, {state}")

        yield show


class Saver:
    """Saves outcomes on a few threads, so that training need not wait; the queue is short, so that memory is bounded.

    The first error of a thread is raised by the next call. Runs are counted when their files are on disk.
    """

    def __init__(self, pool: ThreadPoolExecutor, store: Store, report: Report) -> None:
        self._pool, self._store, self._report = pool, store, report
        self._saving: dict[Future[Any], int] = {}

    def save(self, outcome: Outcome) -> None:
        """Queue an outcome; waits while the queue is full."""
        self._report.failures += outcome.failures
        if outcome.finished:
            while len(self._saving) >= QUEUE:
                wait(self._saving, return_when=FIRST_COMPLETED)
                self.check()
            future = self._pool.submit(lambda: self._store.save(outcome.curves()))
            self._saving[future] = len(outcome.finished)

    def check(self) -> None:
        """Count the runs saved so far, or raise the error of a thread."""
        for future in [future for future in self._saving if future.done()]:
            runs = self._saving.pop(future)
            future.result()
            self._report.done += runs


def plan_sweep(
    sweeps: Sweep | Iterable[Sweep], folder: Path | str, shard: tuple[int, int] = (1, 1)
) -> tuple[Report, list[Batch]]:
    """What a sweep would do, without writing or moving anything."""
    report = Report(check.path(folder, "The results folder"), requested(sweeps))
    results = Results(folder, required=False) if os.path.exists(report.folder / "monmdp.json") else None
    return report, report.plan(results, shard)


def _report_other_code(requests: Iterable[Batch], results: Results) -> None:
    """Warn of runs of an agent of the same name whose code was different: an earlier version, or another class."""
    codes = {request.job.agent_name: request.job.agent_code for request in requests}
    other: dict[str, set[str]] = {}
    for cell in results.cells.values():
        name, code = cell.settings["agent"], cell.settings.get("agent_code")
        if code is not None and codes.get(name, code) not in (code, None):
            other.setdefault(name, set()).add(code)
    for name, earlier in other.items():
        message = (
            f"{results.folder} also has runs of {name} with other code: agent_code {', '.join(sorted(earlier))}; now"
        )
        warnings.warn(
            f"{message} it is {codes[name]}. Tables and figures list them apart.", MonMDPWarning, stacklevel=3
        )


def run_sweep(
    sweeps: Sweep | Iterable[Sweep],
    folder: Path | str,
    *,
    shard: tuple[int, int] = (1, 1),
    threads: int | None = None,
    watcher: Watcher | None = None,
    executor: Executor | None = None,
    device: str = "cpu",
    progress: bool = False,
) -> Report:
    """Train the runs of some sweeps that a folder does not have yet, and save them there.

    progress: whether to show a bar, or lines of text where there is neither a terminal nor a notebook.
    An interrupt stops within a second; finished seeds are saved. executor: by default threads of this process. device:
    "cpu", "cuda", or "auto" for a GPU if there is one; with "auto" the CPU trains the agents that no GPU can run.
    """
    if progress:
        with sweep_progress(print_message) as shown_by:
            return run_sweep(
                sweeps, folder, shard=shard, threads=threads, watcher=shown_by, executor=executor, device=device
            )
    requests = requested(sweeps)  # before anything is written: a sweep with an error leaves no trace
    on_gpu = {request.identity for request in requests if runs_on_gpu(request.job, device)}
    if device != "cpu" and executor is not None:
        raise MonMDPError("A sweep runs on a GPU of this machine or on a cluster, not both; choose the device 'cpu'.")
    cpu = Threads(threads) if executor is None else executor
    store = Store(folder, create=True)
    store.remove_leftovers()
    report, results = Report(store.folder, requests), Results(store.folder, required=False)
    for path, message in results.damage.items():
        report.damaged.append(f"{message} It is now {store.quarantine(path)}, and its runs are repeated.")
    _report_other_code(requests, results)
    left = report.plan(results, shard)
    assigned = [(cpu, [batch for batch in left if batch.identity not in on_gpu])]
    if on_gpu:
        from monmdp.study.gpu import GPU

        assigned.insert(0, (GPU(), merged(batch for batch in left if batch.identity in on_gpu)))
    started = time.perf_counter()

    current = cpu

    def watch() -> None:
        saver.check()
        report.state = current.state
        if watcher is not None:
            watcher(report, sum(batch.steps_done for _, batches in assigned for batch in batches))

    try:
        with ThreadPoolExecutor(min(2 * n_cores(), MOST_WRITERS)) as pool:  # waits for all files at its end
            saver = Saver(pool, store, report)
            for chosen, batches in assigned:
                if batches:
                    current = chosen
                    watch()
                    chosen.train(batches, saver.save, throttled(watch))
        watch()
    except WriteError as error:
        raise MonMDPError(f"{error} Finished runs are saved; start again to continue from there.") from None
    report.seconds = time.perf_counter() - started
    return report
