"""Speed of training: time per step and evaluation, and what the whole paper costs on a CPU and on a GPU."""

import os
import platform
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from monmdp.agents import AGENTS
from monmdp.agents.directed import Directed
from monmdp.join import make
from monmdp.machine import n_cores, readable
from monmdp.protocol import PAPER_AGENTS, paper_job
from monmdp.study.sweep import Sweep
from monmdp.training.job import Job
from monmdp.training.metrics import new_record

#: Problems of different kind and size on which every agent is measured.
SHOWN = (("Empty", "Full"), ("Hazard", "Ask"), ("RiverSwim", "Button"), ("Corridor", "Level"), ("Empty", "Experts"))
PAPER_SEEDS = 100
#: The problem with the longest runs of the paper.
LONGEST = ("Corridor", "Level")
#: Bytes per successor value that a step of Directed reads (three rows) and writes (at most two), in single precision.
SUCCESSOR_BYTES = 5 * 4

#: Called with the number of measurements done, their total and what is measured.
Progress = Callable[[int, int, str], None]
#: Values by name, and sentences about them.
Measurements = tuple[dict[str, Any], list[str]]


def measure_cpu(quick: bool, progress: Progress) -> Measurements:
    """Measure every agent and, unless quick, one seed of the whole paper, on one core."""
    rows = _measure_agents(progress)
    paper: dict[str, Any] | None = None if quick else {"core_seconds": _measure_paper(progress), "cores": n_cores()}
    return {"machine": machine(), "rows": rows, "paper": paper}, paper_cost(**paper) if paper else []


def _measure_agents(progress: Progress) -> list[dict[str, Any]]:
    """Nanoseconds per training step and microseconds per exact evaluation of every agent in the problems SHOWN."""
    rows: list[dict[str, Any]] = []
    for names in SHOWN:
        problem = make(*names)
        for agent in AGENTS:
            core_seconds(paper_job(problem, agent, 50))  # compiles
            job = paper_job(problem, agent)
            training, with_evaluation = (
                min(core_seconds(paper_job(problem, agent, evaluation=evaluation)) for _ in range(2))
                for evaluation in ("none", "exact")
            )
            speeds = {
                "step_ns": training / job.steps * 1e9,
                "evaluation_us": max(with_evaluation - training, 0.0) / len(job.point_steps) * 1e6,
            }
            rows.append({"problem": problem.name, "agent": agent, "pairs": problem.n_pairs, **speeds})
            progress(len(rows), len(SHOWN) * len(AGENTS), "measuring agents")
    return rows


def core_seconds(job: Job) -> float:
    """Processor time of seed 0 of a job; other processes on the machine hardly affect it."""
    started = time.thread_time()
    job.run(0, new_record(len(job.point_steps)), np.zeros(2, np.int64), np.zeros(1, np.int64))
    return time.thread_time() - started


def _measure_paper(progress: Progress) -> dict[str, float]:
    """Core-seconds by agent of one seed of the paper, after `_measure_agents` has compiled all kernels."""
    jobs, by_agent = Sweep().jobs(), dict.fromkeys(PAPER_AGENTS, 0.0)
    for done, job in enumerate(jobs, 1):
        by_agent[job.agent_name] += core_seconds(job)
        progress(done, len(jobs), "one seed of the paper")
    return by_agent


def paper_cost(core_seconds: dict[str, float], cores: int) -> list[str]:
    """The cost of one seed of the paper in words, with a projection for all seeds on all cores."""
    seconds = sum(core_seconds.values())
    by_agent = ", ".join(f"{agent} {seconds:.2f}" for agent, seconds in core_seconds.items())
    return [
        "One seed of the paper's 48 problems × 6 agents, with 1,001 exact evaluations each: "
        f"{seconds:.2f} core-seconds ({by_agent}).",
        f"Projection for the paper's 28,800 runs: {seconds * PAPER_SEEDS / cores / 60:.1f} minutes on {cores} cores.",
    ]


def machine() -> str:
    """Processor, cores and Python version of this machine."""
    cpuinfo = Path("/proc/cpuinfo")
    match = re.search("model name.*: (.+)", cpuinfo.read_text()) if cpuinfo.exists() else None
    model = match[1] if match else platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def measure_gpu(quick: bool, progress: Progress) -> Measurements:
    """Measure the paper on a GPU, with 5 seeds if quick, and two lower bounds of its time.

    These are the latency of the longest run, and the time to copy all successor values.
    """
    from monmdp.cuda.backend import Spent, device, train_on_gpu
    from monmdp.cuda.schedule import Work

    def spent_on(work: list[Work]) -> Spent:
        spent = Spent()
        for _ in train_on_gpu(work, spent=spent):
            pass
        return spent

    seeds = 5 if quick else PAPER_SEEDS
    jobs, longest = Sweep().jobs(), paper_job(make(*LONGEST), "Directed")
    spent_on([Work(Job(job.problem, job.agent, 100), (0,)) for job in jobs])  # compiles
    longest_seconds = sum(spent_on([Work(longest, (0,))]).waves)
    started = time.perf_counter()
    spent = spent_on([Work(job, tuple(range(seeds))) for job in jobs])
    wall_seconds = time.perf_counter() - started
    runs, steps, seconds = len(jobs) * seeds, sum(job.steps for job in jobs) * seeds, sum(spent.waves)
    directed = [job for job in jobs if isinstance(job.agent, Directed)]
    values_moved = sum(job.world.n_acting_states * job.world.n_actions * job.steps for job in directed) * seeds
    moved, memory_speed = SUCCESSOR_BYTES * values_moved, device().memory_speed
    speed = moved / seconds
    longest_launches = {name: duration for name, _, duration in sorted(spent.launches, key=lambda launch: launch[2])}
    parts = ", ".join(f"{name} {duration:.2f}" for name, duration in longest_launches.items())
    values = {
        "device": device().name, "seeds": seeds, "runs": runs, "steps": steps, "seconds": seconds,
        "wave_seconds": spent.waves, "launches": spent.launches, "wall_seconds": wall_seconds, "memory": spent.memory,
        "bytes_moved": moved, "memory_bytes_per_second": memory_speed, "longest_seconds": longest_seconds,
        "longest_steps": longest.steps,
    }  # fmt: skip
    return values, [
        f"{device().name}: the paper's 48 problems × 6 agents × {seeds} seeds, {runs:,} runs with 1,001 exact "
        f"evaluations each, took {seconds:.2f} s of device time in {len(spent.waves)} wave(s) "
        f"({wall_seconds:.1f} s with packing and transfers) and {readable(spent.memory)} of device memory.",
        f"{steps / seconds / 1e6:,.0f} million training steps per second.",
        f"Seconds of the longest launch of each agent, running concurrently: {parts}.",
        f"Successor values: {moved / 1e12:.2f} TB moved at most, {speed / 1e12:.2f} TB/s, {speed / memory_speed:.0%} "
        f"of the memory's {memory_speed / 1e12:.2f} TB/s, at which they would take {moved / memory_speed:.2f} s.",
        f"The longest run alone, {longest.steps:,} steps of Directed in {' + '.join(LONGEST)}: "
        f"{longest_seconds:.2f} s, {longest_seconds / longest.steps * 1e6:.2f} µs per step.",
    ]
