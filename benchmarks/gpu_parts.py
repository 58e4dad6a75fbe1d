"""Run the paper on a GPU four times, and in parts: `python benchmarks/gpu_parts.py`.

Prints the device time, the evaluation time included in it, and the wall-clock time with packing and transfers.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from monmdp.cuda.backend import Spent, train_on_gpu
from monmdp.cuda.schedule import Work
from monmdp.join import make
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS, paper_job
from monmdp.training.job import Job

SEEDS = 100
PARTS: dict[str, Callable[[str], bool]] = {
    **{f"everything, run {number}": lambda agent: True for number in (1, 2, 3, 4)},
    "Directed alone": lambda agent: agent == "Directed",
    "the five baselines alone": lambda agent: agent != "Directed",
}


def measured(jobs: list[Job]) -> str:
    """Train all seeds of some jobs and describe the time it took."""
    spent, started, runs = Spent(), time.perf_counter(), 0
    for part, _ in train_on_gpu([Work(job, tuple(range(SEEDS))) for job in jobs], spent=spent):
        runs += len(part.seeds)
    evaluation = sum(seconds for name, _, seconds in spent.launches if name == "evaluation")
    wall = time.perf_counter() - started
    return f"{runs:,} runs, {sum(spent.waves):.2f} s, evaluation {evaluation:.2f} s, with packing {wall:.1f} s"


if __name__ == "__main__":
    problems = [make(environment, monitor) for environment in DEFAULT_STEPS for monitor in PAPER_MONITORS]
    paper = [paper_job(problem, agent) for problem in problems for agent in PAPER_AGENTS]
    for _ in train_on_gpu([Work(paper_job(job.problem, job.agent, 100), (0,)) for job in paper]):
        pass  # compile
    for label, chosen in PARTS.items():
        print(f"{label}: {measured([job for job in paper if chosen(job.agent_name)])}", flush=True)
