"""Batches on a GPU: all that fit into its memory at once. Imported only if a GPU is asked for."""

import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from monmdp.cuda.backend import train_on_gpu
from monmdp.cuda.schedule import Work
from monmdp.study.executors import Deliver, Executor, Outcome, Watch
from monmdp.study.sweep import Batch
from monmdp.training.job import Finished


class GPU(Executor):
    """All batches that fit into the memory of a GPU at once, then the next; a batch is delivered when it is whole."""

    def train(self, batches: Sequence[Batch], deliver: Deliver, watch: Watch) -> None:
        """Train all batches; those that are not whole at an error are dropped."""
        started = time.perf_counter()
        finished: list[dict[int, Finished]] = [{} for _ in batches]
        work = [Work(batch.job, batch.seeds, number) for number, batch in enumerate(batches)]
        training: Any = train_on_gpu(work, watcher=lambda progress: _report(batches, progress, watch))
        with closing(training):
            for part, results in training:
                number, batch = part.number, batches[part.number]
                _progress(batch, part)[:, 0] = part.job.steps
                finished[number].update(zip(part.seeds, results, strict=True))
                if len(finished[number]) == len(batch.seeds):
                    ordered = [finished[number].pop(seed) for seed in batch.seeds]
                    deliver(Outcome(batch, ordered, [], time.perf_counter() - started))
                watch()


def _report(batches: Sequence[Batch], progress: Iterable[tuple[Work, np.ndarray]], watch: Watch) -> None:
    for part, done in progress:
        _progress(batches[part.number], part)[:] = done
    watch()


def _progress(batch: Batch, part: Work) -> np.ndarray:
    """The progress of a part, which consists of consecutive seeds of its batch."""
    start = batch.seeds.index(part.seeds[0])
    rows: np.ndarray = batch.progress[start : start + len(part.seeds)]
    return rows
