"""Many seeds of one agent in one problem, in parallel on all cores or on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from monmdp.agents.base import Agent
from monmdp.problem import MonMDP
from monmdp.protocol import paper_job
from monmdp.study.executors import Executor, Outcome, Threads, drive, gpu_filter
from monmdp.study.plan import Batch, cut
from monmdp.training.curves import Curves
from monmdp.training.job import Finished, as_seeds

#: Batches per thread: enough for all threads to end at about the same time.
BATCHES_PER_THREAD = 8


#: Called about ten times per second with the number of training steps done and of all, over all seeds.
Progress = Callable[[int, int], None]


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
    everything = Batch(paper_job(problem, agent, steps, points, evaluation), tuple(as_seeds(seeds)))
    job = everything.job
    executor: Executor = (cpu := Threads(threads, fail_fast=True))
    batches = cut(everything, max(1, len(everything.seeds) // (BATCHES_PER_THREAD * cpu.threads)))
    if gpu_filter(device, [job])(job):
        from monmdp.study.gpu import GPU

        executor, batches = GPU(), [everything]
    started = time.perf_counter()
    finished: dict[int, Finished] = {}

    def deliver(outcome: Outcome) -> None:
        finished.update(zip(outcome.batch.seeds, outcome.finished, strict=True))

    def watch() -> None:
        if progress is not None:
            progress(sum(batch.steps_done for batch in batches), everything.steps)

    drive(executor, batches, deliver, watch)
    ordered = [finished[seed] for seed in everything.seeds]
    return job.collect(job.run_settings, list(everything.seeds), ordered, time.perf_counter() - started)
