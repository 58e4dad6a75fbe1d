"""Batches on a GPU: all that fit into its memory at once. Imported only if a GPU is asked for."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from monmdp.cuda.backend import train_on_gpu
from monmdp.cuda.schedule import Work
from monmdp.study.executors import Executor, Outcome, Tracker, Watch
from monmdp.study.plan import Batch
from monmdp.training.job import Finished


class GPU(Executor):
    """All batches that fit into the memory of a GPU at once, then the next; a batch is delivered when it is whole."""

    def outcomes(self, batches: Sequence[Batch], watch: Watch) -> Generator[list[Outcome]]:
        """Train all batches; watch is called meanwhile. Batches that are not whole when it is closed are dropped."""
        started = time.perf_counter()
        self.running = {number: Tracker(batch) for number, batch in enumerate(batches)}
        finished: list[dict[int, Finished]] = [{} for _ in batches]
        work = [Work(batch.job, batch.seeds, number) for number, batch in enumerate(batches)]
        training: Any = train_on_gpu(work, watcher=lambda progress: self._watch(progress, watch))
        with closing(training):
            for part, results in training:
                number, batch = part.number, batches[part.number]
                self._rows(part)[:, 0] = part.job.steps
                finished[number].update(zip(part.seeds, results, strict=True))
                if len(finished[number]) == len(batch.seeds):
                    self._finish(number)
                    ordered = [finished[number].pop(seed) for seed in batch.seeds]
                    yield [Outcome(batch, ordered, [], time.perf_counter() - started)]

    def _watch(self, progress: Iterable[tuple[Work, np.ndarray]], watch: Watch) -> None:
        for part, done in progress:
            self._rows(part)[:] = done
        watch()

    def _rows(self, part: Work) -> np.ndarray:
        """The progress of a part, which consists of consecutive seeds of its batch."""
        tracker = self.running[part.number]
        start = tracker.batch.seeds.index(part.seeds[0])
        rows: np.ndarray = tracker.progress[start : start + len(part.seeds)]
        return rows
