"""How long the kernels of an agent take to compile: `python benchmarks/compile_time.py DirectedModel Naive`.

Runs a short training in a new process with an empty kernel cache, for each agent given or for all agents, and prints
its processor time and wall-clock time, start-up included.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from tempfile import TemporaryDirectory

import monmdp


def first_run(agent: str) -> tuple[float, float]:
    """Processor and wall-clock seconds of the first training run with an agent."""
    command = [sys.executable, "-m", "monmdp", "train", "Loop", "Ask", "--agent", agent, "--seeds", "1"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with TemporaryDirectory() as cache:
        environment = {**os.environ, "MONMDP_CACHE": cache}
        subprocess.run([*command, "--steps", "1000"], env=environment, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


if __name__ == "__main__":
    print("| agent | processor time | wall-clock time |\n|---|---|---|")
    for agent in sys.argv[1:] or list(monmdp.AGENTS):
        processor, wall = first_run(agent)
        print(f"| {agent} | {processor:.1f} s | {wall:.1f} s |", flush=True)
