"""Speed of training: time per step and evaluation, and what the whole paper costs."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from monmdp.agents import AGENTS
from monmdp.join import make
from monmdp.machine import n_cores
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS, paper_job
from monmdp.study.executors import Outcome, Threads, Tracker
from monmdp.study.plan import BATCH
from monmdp.study.runner import run_sweep
from monmdp.study.sweep import Sweep
from monmdp.study.train import train
from monmdp.training.job import Job
from monmdp.training.metrics import new_record

#: Problems of different kind and size on which every agent is measured.
SHOWN = (("Empty", "Full"), ("Hazard", "Ask"), ("RiverSwim", "Button"), ("Corridor", "Level"), ("Empty", "Experts"))
#: The sweep on which the overhead of runner and store is measured.
OVERHEAD_SWEEP = Sweep(environments=("Loop", "Hazard"), monitors=("Ask", "Experts"), seeds=BATCH)
PAPER_SEEDS = 100

#: Called with the number of measurements done and their total.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class AgentSpeed:
    """Nanoseconds per training step and microseconds per exact evaluation of one agent in one problem."""

    problem: str
    agent: str
    pairs: int
    step_ns: float
    evaluation_us: float


def measure_agents(progress: Progress) -> list[AgentSpeed]:
    """Measure every agent in the problems SHOWN, on one core."""
    speeds = []
    for names in SHOWN:
        problem = make(*names)
        for agent in AGENTS:
            core_seconds(paper_job(problem, agent, 50))  # compiles
            job = paper_job(problem, agent)
            training, with_evaluation = (
                min(core_seconds(paper_job(problem, agent, evaluation=evaluation)) for _ in range(2))
                for evaluation in ("none", "exact")
            )
            evaluation_us = max(with_evaluation - training, 0.0) / len(job.point_steps) * 1e6
            speeds.append(AgentSpeed(problem.name, agent, problem.n_pairs, training / job.steps * 1e9, evaluation_us))
            progress(len(speeds), len(SHOWN) * len(AGENTS))
    return speeds


def core_seconds(job: Job) -> float:
    """Processor time of seed 0 of a job; other processes on the machine hardly affect it."""
    started = time.thread_time()
    job.run(0, new_record(len(job.point_steps)), np.zeros(2, np.int64), np.zeros(1, np.int64))
    return time.thread_time() - started


@dataclass(frozen=True)
class PaperCost:
    """The cost of the paper: core-seconds of one seed of its 48 problems by agent, and losses around training.

    speedup: of two threads over one; overhead: of runner and store, as a fraction of the training time.
    """

    core_seconds: dict[str, float]
    cores: int
    speedup: float
    overhead: float

    @property
    def seed_seconds(self) -> float:
        """Core-seconds of one seed of all problems and agents."""
        return sum(self.core_seconds.values())

    @property
    def minutes(self) -> float:
        """Projected time of all seeds on all cores of this machine."""
        return self.seed_seconds * PAPER_SEEDS / self.cores / 60


def measure_paper(progress: Progress) -> PaperCost:
    """Measure one seed of every problem and agent of the paper, with 1,001 exact evaluations each."""
    problems = [make(environment, monitor) for environment in DEFAULT_STEPS for monitor in PAPER_MONITORS]
    by_agent, done = dict.fromkeys(PAPER_AGENTS, 0.0), 0
    for agent in PAPER_AGENTS:
        core_seconds(paper_job(problems[0], agent, 50))  # compiles
        for problem in problems:
            by_agent[agent] += core_seconds(paper_job(problem, agent))
            done += 1
            progress(done, len(problems) * len(PAPER_AGENTS))
    one, two = (train(make("Corridor", "Level"), "Directed", 2, threads=threads).seconds for threads in (1, 2))
    wall, training = sweep_overhead()
    return PaperCost(by_agent, n_cores(), one / two, (wall - training) / training)


def sweep_overhead() -> tuple[float, float]:
    """Seconds of a small sweep on one core, and the part of them spent on training."""
    training = 0.0

    class Timed(Threads):
        def train(self, tracker: Tracker) -> Outcome:
            nonlocal training
            outcome = super().train(tracker)
            training += outcome.seconds
            return outcome

    with TemporaryDirectory() as folder:
        started = time.perf_counter()
        run_sweep(OVERHEAD_SWEEP, folder, executor=Timed(1))
        return time.perf_counter() - started, training


def sentences(paper: PaperCost) -> list[str]:
    """The cost of the paper in words."""
    by_agent = ", ".join(f"{agent} {seconds:.2f}" for agent, seconds in paper.core_seconds.items())
    return [
        "One seed of the paper's 48 problems × 6 agents, with 1,001 exact evaluations each: "
        f"{paper.seed_seconds:.2f} core-seconds ({by_agent}).",
        f"Projection for the paper's 28,800 runs: {paper.minutes:.1f} minutes on {paper.cores} cores.",
        f"Two threads are {paper.speedup:.2f} times as fast as one.",
        f"Runner and store add {paper.overhead:.1%} to the training time of a small sweep.",
    ]


def machine() -> str:
    """Processor, cores and Python version of this machine."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"
