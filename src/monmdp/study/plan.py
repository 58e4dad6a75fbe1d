"""From sweeps to batches: which seeds of which job are still to do, the longest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from monmdp.agents.base import HasTimeEstimate, memory_bytes
from monmdp.errors import MonMDPError
from monmdp.study.sweep import Sweep
from monmdp.training.job import Job, as_seeds, identity
from monmdp.training.metrics import METRICS

#: Seeds per batch: few, so that little is lost when a batch is stopped, and enough for files of a reasonable size.
BATCH = 25
#: Measured seconds per step, per byte of the agent's memory that a step touches, and per exact evaluation.
STEP_SECONDS, BYTE_SECONDS, EVALUATION_SECONDS = 1.8e-7, 2e-10, 1e-5


@dataclass(frozen=True, eq=False)
class Batch:
    """Some seeds of a job: the unit that an executor trains and that a file holds."""

    job: Job
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.job.agent_name} in {self.job.problem.name}"

    @cached_property
    def identity(self) -> str:
        """The hash of the job's settings."""
        return identity(self.job.run_settings)

    @property
    def steps(self) -> int:
        """Training steps of all seeds."""
        return self.job.steps * len(self.seeds)

    @cached_property
    def seconds(self) -> float:
        """Estimated training time on one core."""
        job = self.job
        touched = memory_bytes(job.agent, job.world) / (job.world.n_states * job.world.n_actions)
        planning = planning_point = 0.0
        if isinstance(job.agent, HasTimeEstimate):
            planning, planning_point = job.agent.planning_seconds(job.world)
        step = STEP_SECONDS + touched * BYTE_SECONDS + planning
        return (job.steps * step + len(job.point_steps) * (EVALUATION_SECONDS + planning_point)) * len(self.seeds)

    @cached_property
    def memory(self) -> int:
        """Estimated bytes of one running seed and of the records of all seeds."""
        job = self.job
        records = 8 * (len(METRICS) + 1) * len(job.point_steps) * len(self.seeds)
        return memory_bytes(job.agent, job.world, job.steps) + records


def requested(sweeps: Sweep | Iterable[Sweep]) -> list[Batch]:
    """Every job of some sweeps once, with all seeds that any of the sweeps asks for."""
    jobs: dict[str, Job] = {}
    seeds: dict[str, set[int]] = {}
    for sweep in [sweeps] if isinstance(sweeps, Sweep) else sweeps:
        chosen = as_seeds(sweep.seeds)
        for job in sweep.jobs():
            key = identity(job.run_settings)
            jobs.setdefault(key, job)
            seeds.setdefault(key, set()).update(chosen)
    return [Batch(job, tuple(sorted(seeds[key]))) for key, job in jobs.items()]


def cut(batch: Batch, size: int) -> list[Batch]:
    """A batch as batches of at most `size` seeds."""
    return [Batch(batch.job, batch.seeds[start : start + size]) for start in range(0, len(batch.seeds), size)]


def merged(batches: Iterable[Batch]) -> list[Batch]:
    """All seeds of each job in one batch: a GPU trains them together, and few large files are saved faster."""
    seeds: dict[Job, list[int]] = {}
    for batch in batches:
        seeds.setdefault(batch.job, []).extend(batch.seeds)
    return [Batch(job, tuple(sorted(chosen))) for job, chosen in seeds.items()]


def remaining(requests: Iterable[Batch], done: Mapping[str, set[int]], shard: tuple[int, int]) -> list[Batch]:
    """The batches of shard i of n that are not done yet, longest first; done: identity → seeds.

    Batches are cut, sorted and assigned to shards before finished seeds are left out, so that every shard and every
    resumed sweep cuts them in the same places, and shards take about equally long.
    """
    batches = [part for request in requests for part in cut(request, BATCH)]
    left = []
    for batch in _longest_first(batches)[shard[0] - 1 :: shard[1]]:
        seeds = tuple(seed for seed in batch.seeds if seed not in done.get(batch.identity, ()))
        if seeds:
            left.append(Batch(batch.job, seeds))
    return _longest_first(left)


def _longest_first(batches: Iterable[Batch]) -> list[Batch]:
    return sorted(batches, key=lambda batch: -batch.seconds)


def parse_shard(text: str) -> tuple[int, int]:
    """`2/4` → (2, 4): the second of four shards."""
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise MonMDPError(f"A shard is written as 1/4, the first of four, not {text!r}.")
    index, count = int(parts[0]), int(parts[1])
    if not 1 <= index <= count:
        raise MonMDPError(f"There is no shard {index} of {count}; shards of {count} go from 1 to {max(count, 1)}.")
    return index, count
