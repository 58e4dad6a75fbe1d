"""Recording learners written in plain Python, on one thread."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.problem import MonMDP
from monmdp.training.curves import Curves
from monmdp.training.job import PlainJob, as_seeds
from monmdp.training.learner import PlainAgent, is_plain

#: Called after every recording point with the seed, and the steps done.
Progress = Callable[[int, int], None]


def record(
    problem: MonMDP,
    learner: Any,
    steps: int,
    seeds: int | Iterable[int] = 1,
    points: int | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Curves:
    """Train a plain Python learner, one fresh object per seed, and evaluate its greedy policy exactly.

    learner: a class or function called with (problem, seed), or an object with start(problem, seed). name: its name in
    results, by default its own. A seed has the same random draws of the world as compiled agents have with this seed.
    """
    if not is_plain(learner):
        raise MonMDPError("record needs a class or function that makes a learner from (problem, seed).")
    job = PlainJob(problem, PlainAgent(learner, name), steps, points)
    chosen, settings, started = as_seeds(seeds), job.run_settings, time.perf_counter()
    done, stop = np.zeros(2, np.int64), np.zeros(1, np.int64)
    finished = [job.run(seed, None, done, stop, progress) for seed in chosen]
    return job.collect(settings, chosen, finished, time.perf_counter() - started)
