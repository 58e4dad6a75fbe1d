"""Batches on a GPU: all that fit into its memory at once. Imported only if a GPU is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from monmdp.cuda.backend import check_suitable, chosen, train_on_gpu
from monmdp.cuda.schedule import Work
from monmdp.study.executors import Executor, Outcome, Tracker, Watch
from monmdp.study.plan import Batch
from monmdp.training.job import Finished, Job


def gpu_filter(device: str, jobs: Iterable[Job]) -> Callable[[Job], bool]:
    """Which jobs to run on the GPU: with "cuda" all, or an error; with "auto" those that a GPU, if any, can run."""
    if chosen(device) != "cuda":
        return lambda job: False
    if device == "cuda":
        for job in jobs:
            check_suitable(job)
        return lambda job: True
    return lambda job: job.agent.device_kernel is not None


class GPU(Executor):
    """All batches that fit into the memory of a GPU at once, then the next; a batch is delivered when it is whole."""

    def __init__(self) -> None:
        super().__init__()
        self._results: Any = None
        self._finished: dict[int, dict[int, Finished]] = {}

    def start(self, batches: Sequence[Batch]) -> None:
        """Accept all batches."""
        self.running = {number: Tracker(batch) for number, batch in enumerate(batches)}
        self._started = time.perf_counter()

    def poll(self, watch: Watch) -> list[Outcome] | None:
        """Wait for the next whole batch; watch is called meanwhile."""
        if self._results is None:
            work = [Work(tracker.batch.job, tracker.batch.seeds, number) for number, tracker in self.running.items()]
            self._results = train_on_gpu(work, watcher=lambda parts, steps: self._watch(parts, steps, watch))
        for part, results in self._results:
            number, tracker = part.number, self.running[part.number]
            self._rows(part)[:, 0] = part.job.steps
            finished = self._finished.setdefault(number, {})
            finished.update(zip(part.seeds, results, strict=True))
            if len(finished) == len(tracker.batch.seeds):
                self._finish(number)
                ordered = [finished[seed] for seed in tracker.batch.seeds]
                del self._finished[number]
                return [Outcome(tracker.batch, ordered, [], time.perf_counter() - self._started)]
        return None

    def stop(self) -> list[Outcome]:
        """End training; batches that are not whole are dropped."""
        if self._results is not None:
            self._results.close()
        return []

    def _watch(self, parts: list[Work], steps: list[np.ndarray], watch: Watch) -> None:
        for part, done in zip(parts, steps, strict=True):
            if part.number in self.running:
                rows = self._rows(part)
                np.maximum(rows, done, out=rows)
        watch()

    def _rows(self, part: Work) -> np.ndarray:
        """The progress of a part, which consists of consecutive seeds of its batch."""
        tracker = self.running[part.number]
        start = tracker.batch.seeds.index(part.seeds[0])
        rows: np.ndarray = tracker.progress[start : start + len(part.seeds)]
        return rows
