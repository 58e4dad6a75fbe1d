"""How fast a GPU does the paper, against its two floors: one run's latency, and memory bandwidth."""

from __future__ import annotations

import time
from dataclasses import dataclass

from monmdp.cuda.backend import Spent, device, train_on_gpu
from monmdp.cuda.schedule import Work
from monmdp.join import make
from monmdp.machine import readable
from monmdp.paper.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS
from monmdp.training.job import Job

#: The longest runs of the paper.
LONGEST = ("Corridor", "Level")
#: Rows of single-precision numbers that a step of Directed reads and writes: three and, at most, two.
ROWS, SINGLE = 5, 4


@dataclass(frozen=True)
class OnGPU:
    """What was measured: runs, steps, device seconds of training and evaluation, and the floors."""

    device: str
    seeds: int
    runs: int
    steps: int
    wave_seconds: list[float]
    launches: list[tuple[str, int, float]]
    wall_seconds: float
    memory: int
    bytes_moved: int
    copy_bytes_a_second: float
    longest_seconds: float
    longest_steps: int

    @property
    def seconds(self) -> float:
        """Device time of all waves."""
        return sum(self.wave_seconds)


def measure_gpu(seeds: int = 100) -> OnGPU:
    """The paper preset with so many seeds, 1,001 exact evaluations each; what is compiled is compiled before."""
    gpu = device()
    problems = [make(environment, monitor) for environment in DEFAULT_STEPS for monitor in PAPER_MONITORS]
    jobs = [Job(problem, agent) for problem in problems for agent in PAPER_AGENTS]
    for _ in train_on_gpu([Work(Job(job.problem, job.agent, 100), (0,)) for job in jobs]):
        pass  # compiles
    longest = Job(make(*LONGEST), "Directed")
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
        copy_bytes_a_second=gpu.copy_speed(),
        longest_seconds=sum(alone.waves),
        longest_steps=longest.steps,
    )


def row_bytes(job: Job) -> int:
    """Bytes of successor values that a step reads and writes, at most; look-ups of maxima not counted."""
    if type(job.agent).__name__ != "Directed":
        return 0
    return ROWS * SINGLE * job.world.n_acting_states * job.world.n_actions


def sentences(measured: OnGPU) -> list[str]:
    """What was measured, in words."""
    speed = measured.bytes_moved / measured.seconds
    floor = measured.bytes_moved / measured.copy_bytes_a_second
    by_agent: dict[str, float] = {}
    for name, _, seconds in measured.launches:
        by_agent[name] = max(by_agent.get(name, 0.0), seconds)
    parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in by_agent.items())
    return [
        f"{measured.device}: the paper's 48 problems × 6 agents × {measured.seeds} seeds, {measured.runs:,} runs with "
        f"1,001 exact evaluations each, took {measured.seconds:.2f} s of device time in "
        f"{len(measured.wave_seconds)} wave(s) ({measured.wall_seconds:.1f} s with packing and transfers) and "
        f"{readable(measured.memory)} of device memory.",
        f"{measured.steps / measured.seconds / 1e6:,.0f} million training steps a second.",
        f"Seconds from the start to the end of each agent's longest launch, side by side: {parts}.",
        f"Successor values: {measured.bytes_moved / 1e12:.2f} TB moved at most, {speed / 1e12:.2f} TB/s, "
        f"{speed / measured.copy_bytes_a_second:.0%} of the {measured.copy_bytes_a_second / 1e12:.2f} TB/s that a copy "
        f"reaches; at that speed they alone would take {floor:.2f} s.",
        f"The longest run alone, {measured.longest_steps:,} steps of Directed in {' + '.join(LONGEST)}: "
        f"{measured.longest_seconds:.2f} s, {measured.longest_seconds / measured.longest_steps * 1e6:.2f} µs a step.",
    ]
