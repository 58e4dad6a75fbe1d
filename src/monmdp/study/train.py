"""Many seeds of one agent in one problem, in parallel on all cores or on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.base import Agent
from monmdp.paper.protocol import paper_job
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.training.curves import Curves
from monmdp.training.job import Finished, Job, as_seeds
from monmdp.training.metrics import new_record


class Status(NamedTuple):
    """Progress of each seed, [seed]: steps done, and its last recorded return and number of observed rewards."""

    done: Integers
    steps: int
    returns: Floats
    observed: Integers


#: Called about ten times per second while seeds train.
Progress = Callable[[Status], None]


def train(
    problem: MonMDP,
    agent: Agent | str = "Directed",
    seeds: int | Iterable[int] = 1,
    steps: int | None = None,
    points: int | None = None,
    evaluation: str = "exact",
    threads: int | None = None,
    progress: Progress | None = None,
    device: str = "cpu",
) -> Curves:
    """Train an agent, one run per seed, and evaluate its greedy policy at evenly spaced points and at the end.

    seeds: their number, or a list. steps: by default the paper's, for its problems. points: by default 1,000, at most
    one per step. evaluation: "exact", "sampled" as in the paper, or "none". device: "cpu", "cuda" for a GPU, or "auto"
    for a GPU if there is one that can run the agent. The same seed gives the same result, whatever the threads, the
    other seeds, the points and the device.
    """
    chosen = as_seeds(seeds)
    job = paper_job(problem, agent, steps, points, evaluation)
    if device != "cpu":
        from monmdp.cuda.backend import chosen as chosen_device
        from monmdp.cuda.backend import is_suitable

        if chosen_device(device) == "cuda" and (device == "cuda" or is_suitable(job)):
            return _on_gpu(job, chosen, progress)
    workers = min(len(chosen), job.workers(threads))
    started = time.perf_counter()
    finished = _in_parallel(job, chosen, workers, progress)
    return job.collect(job.run_settings, chosen, finished, time.perf_counter() - started)


def _in_parallel(job: Job, seeds: list[int], workers: int, progress: Progress | None) -> list[Finished]:
    """Run all seeds on threads (the loop holds no lock); an interrupt stops them at their next point."""
    done, stop = np.zeros((len(seeds), 2), np.int64), np.zeros(1, np.int64)
    records = [new_record(len(job.point_steps)) for _ in seeds]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(job.run, seed, records[i], done[i], stop) for i, seed in enumerate(seeds)]
        try:
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()  # raises what went wrong at once
                if progress is not None:
                    progress(_status(job, records, done))
        except BaseException:
            stop[0] = 1
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _on_gpu(job: Job, seeds: list[int], progress: Progress | None) -> Curves:
    """All seeds on a GPU, at once or in waves."""
    from monmdp.cuda.backend import train_on_gpu
    from monmdp.cuda.schedule import Work

    done = dict.fromkeys(seeds, 0)
    unknown = np.full(len(seeds), np.nan)

    def report(parts: list[Work], steps: list[np.ndarray]) -> None:
        for part, part_steps in zip(parts, steps, strict=True):
            done.update(zip(part.seeds, part_steps[:, 0].tolist(), strict=True))
        if progress is not None:
            progress(Status(np.array(list(done.values())), job.steps, unknown, np.zeros(len(seeds), np.int64)))

    started = time.perf_counter()
    finished: dict[int, Finished] = {}
    for part, results in train_on_gpu([Work(job, tuple(seeds))], watcher=report):
        finished.update(zip(part.seeds, results, strict=True))
    ordered = [finished[seed] for seed in seeds]
    return job.collect(job.run_settings, seeds, ordered, time.perf_counter() - started)


def _status(job: Job, records: list[Any], done: Integers) -> Status:
    last = [max(int(points) - 1, 0) for points in done[:, 1]]
    return Status(
        done=done[:, 0].copy(),
        steps=job.steps,
        returns=np.array([record.returns[point] for record, point in zip(records, last, strict=True)]),
        observed=np.array([record.observed[point] for record, point in zip(records, last, strict=True)]),
    )
