"""Compare GPU runs with CPU runs, then time the paper on the GPU: `python benchmarks/gpu_check.py [FOLDER]`.

First, short runs of all agents with a device kernel in several problems must give the same numbers on both devices;
the exit code is 1 if they do not. Then the paper preset is trained in this process, without files, and as the command
`monmdp reproduce --preset paper --device cuda --out FOLDER` in a new process, from the command to the last file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # numba-cuda 0.30 needs it, and NumPy 2.5 has removed it
    np.row_stack = np.vstack  # type: ignore[attr-defined]

import monmdp
from monmdp.agents.base import AGENTS
from monmdp.cuda.backend import Spent, train_on_gpu
from monmdp.cuda.schedule import Work
from monmdp.join import make
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS, paper_job

PROBLEMS = (("Empty", "Ask"), ("RiverSwim", "Experts"), ("Hazard", "Level"), ("TwoRoom3x5", "Button"))
OPTIONS = (
    "Directed(successor_target='occupancy')", "Directed(balanced_wandering=True)", "Directed(beta_bar=0.5)",
    "Directed(random_goal_policy=True)", "Directed(successor_alpha=0.3, successor_discount=0.9)",
    "QCounts(count_alpha=0.5, count_discount=0.8)", "UCB(epsilon=0.2, initial_q=-10.0)", "Intrinsic(bonus=0.1)",
)  # fmt: skip
#: Agents whose logarithms or powers may differ in the last bit.
NEARLY = ("MonitoredMBIE",)
TABLES = ("visit_counts", "q", "reward_model")
#: Starts the command line in a new process; for the first lines see above.
COMMAND = """
import sys, numpy
numpy.row_stack = getattr(numpy, "row_stack", numpy.vstack)
from monmdp.cli import main
sys.exit(main(sys.argv[1:]))
"""


def differences(problem: Any, agent: str, **options: Any) -> list[str]:
    """The names of arrays that differ between the two devices."""
    cpu, gpu = (monmdp.train(problem, agent, (0, 7, 3), device=device, **options) for device in ("cpu", "cuda"))
    if agent in NEARLY:
        return [] if np.allclose(cpu.final_returns, gpu.final_returns) else ["final_returns"]
    arrays = [*((name, cpu.recorded[name], gpu.recorded[name]) for name in cpu.recorded)]
    arrays += [(name, getattr(cpu, name), getattr(gpu, name)) for name in TABLES]
    return [name for name, one, two in arrays if not np.array_equal(one, two, equal_nan=True)]


def compare() -> int:
    """Compare all agents; returns the number of comparisons that failed."""
    agents = [name for name in AGENTS if AGENTS.build(name).device_kernel is not None]
    cases = [(agent, names, "exact") for agent in (*agents, *OPTIONS) for names in PROBLEMS]
    cases += [(agent, PROBLEMS[2], evaluation) for agent in ("Directed", "Naive") for evaluation in ("sampled", "none")]
    failed = 0
    for agent, names, evaluation in cases:
        different = differences(make(*names), agent, steps=3000, points=60, evaluation=evaluation)
        failed += bool(different)
        if different:
            print(f"DIFFERENT: {agent} in {' + '.join(names)}, {evaluation}: {', '.join(different)}", flush=True)
    print(f"{len(cases) - failed} of {len(cases)} comparisons of CPU and GPU are equal.", flush=True)
    return failed


def paper_in_process(seeds: int = 100, per_part: int = 25) -> str:
    """Train the paper without saving; kernels are compiled before."""
    problems = [make(environment, monitor) for environment in DEFAULT_STEPS for monitor in PAPER_MONITORS]
    for _ in train_on_gpu([Work(paper_job(p, agent, 100), (0,)) for p in problems for agent in PAPER_AGENTS]):
        pass
    started, spent, arrivals = time.perf_counter(), Spent(), []
    jobs = [paper_job(problem, agent) for problem in problems for agent in PAPER_AGENTS]
    starts = range(0, seeds, per_part)
    work = [Work(job, tuple(range(start, min(start + per_part, seeds)))) for job in jobs for start in starts]
    for part, results in train_on_gpu(work, spent=spent):
        arrivals += [time.perf_counter() - started] * len(results)
        assert len(part.seeds) == len(results)
    seconds = time.perf_counter() - started
    first, half, last = arrivals[0], np.median(arrivals), arrivals[-1]
    lines = [f"  {name}, {runs} runs: {seconds:.2f} s" for name, runs, seconds in spent.launches]
    return "\n".join([
        f"{len(arrivals):,} runs without files: {seconds:.1f} s, device {sum(spent.waves):.2f} s;",
        f"results after {first:.1f} s (first), {half:.1f} s (half), {last:.1f} s (last)",
        *lines,
    ])  # fmt: skip


def paper_command(folder: Path) -> str:
    """Time the command in a new process, with kernels compiled before."""
    words = ["reproduce", "--preset", "paper", "--device", "cuda", "--out", str(folder)]
    started = time.perf_counter()
    code = subprocess.run([sys.executable, "-c", COMMAND, *words]).returncode
    seconds, files = time.perf_counter() - started, len(list(folder.rglob("*.parquet")))
    return f"monmdp {' '.join(words)}: exit code {code}, {files:,} files, {seconds:.1f} s"


if __name__ == "__main__":
    failures = compare()
    print(paper_in_process(), flush=True)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp(prefix="monmdp-paper-"))
    for attempt in (1, 2):
        print(paper_command(folder / str(attempt)), flush=True)
    sys.exit(failures > 0)
