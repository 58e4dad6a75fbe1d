"""Kills a sweep, or the merging of its files, with SIGKILL at random moments, again and again, in one folder.

    kills.py FOLDER KILLS SEED

The process compiles the kernels once, and every victim is a fork of it. After each kill the folder must be readable,
without damage, and must have every run that it had before. A finished folder is compared with an undisturbed one, and
the next one is begun. Prints the numbers of kills, of kills in the middle of a sweep, and of finished folders.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sweeping import assert_same

import monmdp
from monmdp.study.results import Results, compact

SWEEP = monmdp.Sweep(["Loop"], ["Full", "Ask"], ["Naive"], 150, steps=500, points=5)
RUNS = 300


def sweep(folder: Path) -> None:
    monmdp.run_sweep([SWEEP], folder)


def killed(victim: Callable[[], None], after: float) -> bool:
    """Run a function in a fork, and kill it after some seconds; returns whether it was still running."""
    process = os.fork()
    if process == 0:
        try:
            victim()
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + after
    while time.monotonic() < deadline:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            assert status == 0, "the process failed"
            return False
        time.sleep(0.001)
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1] == signal.SIGKILL


def runs_in(folder: Path) -> set[tuple[str, int]]:
    """(cell, seed) of every run; raises an error if any file is damaged."""
    if not (folder / "monmdp.json").exists():
        return set()
    results = Results(folder, required=False)
    assert results.damaged == []
    return {(cell.identity, seed) for cell in results.cells.values() for seed in cell.seeds}


def main(folder: Path, wanted: int, seed: int) -> None:
    rng = random.Random(seed)
    undisturbed = folder / "undisturbed"
    sweep(undisturbed)
    started = time.monotonic()
    sweep(folder / "again")  # with compiled kernels
    duration = time.monotonic() - started
    kills = middle = finished = 0
    while kills < wanted:
        place, runs = folder / str(finished), set[tuple[str, int]]()
        while len(runs) < RUNS and kills < wanted:
            merging = rng.random() < 0.2 and len(runs) > 0
            victim = (lambda place=place: compact(place)) if merging else (lambda place=place: sweep(place))
            kills += killed(victim, rng.uniform(0.0, 0.2 if merging else 0.6) * duration)
            before, runs = runs, runs_in(place)
            assert runs >= before, "runs are lost"
            middle += 0 < len(runs) < RUNS
        sweep(place)
        assert list(place.rglob("*.partial")) == []
        assert_same(place, undisturbed)
        finished += 1
    print(kills, middle, finished)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
