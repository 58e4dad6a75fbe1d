"""What threads, the runner and the store cost: `python benchmarks/overhead.py`.

Prints the speed of two threads over one, and the time of runner and store as a fraction of the training time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from tempfile import TemporaryDirectory

import monmdp
from monmdp.study.executors import Deliver, Outcome, Threads, Watch
from monmdp.study.runner import run_sweep
from monmdp.study.sweep import BATCH, Batch, Sweep

SWEEP = Sweep(environments=("Loop", "Hazard"), monitors=("Ask", "Experts"), seeds=BATCH)


class Timed(Threads):
    """One thread that adds up the time spent on training."""

    seconds = 0.0

    def train(self, batches: Sequence[Batch], deliver: Deliver, watch: Watch) -> None:
        def timed(outcome: Outcome) -> None:
            self.seconds += outcome.seconds
            deliver(outcome)

        super().train(batches, timed, watch)


if __name__ == "__main__":
    problem = monmdp.make("Corridor", "Level")
    monmdp.train(problem, "Directed", 2, steps=50)  # compile
    one, two = (monmdp.train(problem, "Directed", 2, threads=threads).seconds for threads in (1, 2))
    print(f"Two threads are {one / two:.2f} times as fast as one.")
    executor = Timed(1)
    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        run_sweep(SWEEP, folder, executor=executor)
        wall = time.perf_counter() - started
    print(f"Runner and store add {wall / executor.seconds - 1:.1%} to the training time of a small sweep.")
