"""Speed of the paper on a GPU, next to its two lower bounds: the latency of one run and the memory bandwidth."""

from __future__ import annotations

import time
from dataclasses import dataclass

from monmdp.agents.directed import Directed
from monmdp.cuda.backend import Spent, device, train_on_gpu
from monmdp.cuda.schedule import Work
from monmdp.join import make
from monmdp.machine import readable
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS, paper_job
from monmdp.training.job import Job

#: The problem with the longest runs of the paper.
LONGEST = ("Corridor", "Level")
#: Rows of single-precision numbers that a step of Directed reads (three) and writes (at most two).
ROWS, SINGLE = 5, 4


@dataclass(frozen=True)
class OnGPU:
    """Measurements: runs, steps, seconds on the device, memory, and the two lower bounds."""

    device: str
    seeds: int
    runs: int
    steps: int
    wave_seconds: list[float]
    launches: list[tuple[str, int, float]]
    wall_seconds: float
    memory: int
    bytes_moved: int
    copy_bytes_per_second: float
    longest_seconds: float
    longest_steps: int

    @property
    def seconds(self) -> float:
        """Device time of all waves."""
        return sum(self.wave_seconds)


def measure_gpu(seeds: int = 100) -> OnGPU:
    """Measure the paper preset with `seeds` seeds and 1,001 exact evaluations per run; kernels are compiled before."""
    gpu = device()
    problems = [make(environment, monitor) for environment in DEFAULT_STEPS for monitor in PAPER_MONITORS]
    jobs = [paper_job(problem, agent) for problem in problems for agent in PAPER_AGENTS]
    for _ in train_on_gpu([Work(Job(job.problem, job.agent, 100), (0,)) for job in jobs]):
        pass  # compiles
    longest = paper_job(make(*LONGEST), "Directed")
    alone = Spent()
    for _ in train_on_gpu([Work(longest, (0,))], spent=alone):
        pass
    spent, runs = Spent(), 0
    started = time.perf_counter()
    for part, _ in train_on_gpu([Work(job, tuple(range(seeds))) for job in jobs], spent=spent):
        runs += len(part.seeds)
    wall = time.perf_counter() - started
    return OnGPU(
        device=gpu.name,
        seeds=seeds,
        runs=runs,
        steps=sum(job.steps for job in jobs) * seeds,
        wave_seconds=spent.waves,
        launches=spent.launches,
        wall_seconds=wall,
        memory=spent.memory,
        bytes_moved=sum(row_bytes(job) * job.steps for job in jobs) * seeds,
        copy_bytes_per_second=gpu.copy_speed(),
        longest_seconds=sum(alone.waves),
        longest_steps=longest.steps,
    )


def row_bytes(job: Job) -> int:
    """Largest number of bytes of successor values that a step reads and writes, without look-ups of maxima."""
    if not isinstance(job.agent, Directed):
        return 0
    return ROWS * SINGLE * job.world.n_acting_states * job.world.n_actions


def sentences(measured: OnGPU) -> list[str]:
    """The measurements in words."""
    speed = measured.bytes_moved / measured.seconds
    floor = measured.bytes_moved / measured.copy_bytes_per_second
    by_agent: dict[str, float] = {}
    for name, _, seconds in measured.launches:
        by_agent[name] = max(by_agent.get(name, 0.0), seconds)
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in by_agent.items())
    return [
        f"{measured.device}: the paper's 48 problems × 6 agents × {measured.seeds} seeds, {measured.runs:,} runs with "
        f"1,001 exact evaluations each, took {measured.seconds:.2f} s of device time in "
        f"{len(measured.wave_seconds)} wave(s) ({measured.wall_seconds:.1f} s with packing and transfers) and "
        f"{readable(measured.memory)} of device memory.",
        f"{measured.steps / measured.seconds / 1e6:,.0f} million training steps per second.",
        f"Seconds of the longest launch of each agent, running concurrently: {parts}.",
        f"Successor values: {measured.bytes_moved / 1e12:.2f} TB moved at most, {speed / 1e12:.2f} TB/s, "
        f"{speed / measured.copy_bytes_per_second:.0%} of the {measured.copy_bytes_per_second / 1e12:.2f} TB/s "
        f"of a plain copy, which would take {floor:.2f} s.",
        f"The longest run alone, {measured.longest_steps:,} steps of Directed in {' + '.join(LONGEST)}: "
        f"{measured.longest_seconds:.2f} s, {measured.longest_seconds / measured.longest_steps * 1e6:.2f} µs per step.",
    ]
