"""From sweeps to batches: which seeds of which cell are still to do, the longest first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from monmdp.agents.base import HasTimeEstimate, memory_bytes
from monmdp.errors import MonMDPError
from monmdp.study.cells import Cell
from monmdp.study.sweep import Sweep
from monmdp.training.job import as_seeds

#: Seeds of a batch: few enough to lose little, many enough for files of a decent size.
BATCH = 25

#: Seconds, measured once: a step, a byte of the agent's memory that a step touches, and an exact evaluation.
STEP_SECONDS, BYTE_SECONDS, EVALUATION_SECONDS = 1.8e-7, 2e-10, 1e-5


@dataclass(frozen=True, eq=False)
class Batch:
    """Some seeds of a cell: what a worker takes at a time, and what a file holds."""

    cell: Cell
    seeds: tuple[int, ...]

    @property
    def name(self) -> str:
        """The same for the same seeds of the same cell."""
        return batch_name(self.cell.identity, self.seeds)

    @property
    def steps(self) -> int:
        """Training steps of all its seeds together."""
        return self.cell.job.steps * len(self.seeds)

    @cached_property
    def seconds(self) -> float:
        """About how long it takes on one core."""
        job = self.cell.job
        touched = memory_bytes(job.agent, job.world) / (job.world.n_states * job.world.n_actions)
        planning = planning_point = 0.0
        if isinstance(job.agent, HasTimeEstimate):
            planning, planning_point = job.agent.planning_seconds(job.world)
        step = STEP_SECONDS + touched * BYTE_SECONDS + planning
        return (job.steps * step + len(job.point_steps) * (EVALUATION_SECONDS + planning_point)) * len(self.seeds)

    @property
    def memory(self) -> int:
        """About how many bytes a running seed and the results of the batch take."""
        job = self.cell.job
        return memory_bytes(job.agent, job.world, job.steps) + 48 * len(self.seeds) * len(job.point_steps)


def batch_name(identity: str, seeds: tuple[int, ...]) -> str:
    """The same for the same seeds of the same cell, wherever it runs."""
    return f"{identity}-{hashlib.sha256(repr(seeds).encode()).hexdigest()[:8]}"


def wanted(sweeps: Sweep | Iterable[Sweep]) -> list[tuple[Cell, list[int]]]:
    """Every cell once, with all seeds that any of the sweeps asks for."""
    cells: dict[str, Cell] = {}
    seeds: dict[str, set[int]] = {}
    for sweep in [sweeps] if isinstance(sweeps, Sweep) else sweeps:
        chosen = as_seeds(sweep.seeds)
        for cell in sweep.cells():
            cells.setdefault(cell.identity, cell)
            seeds.setdefault(cell.identity, set()).update(chosen)
    return [(cells[identity], sorted(seeds[identity])) for identity in cells]


def batches(wishes: Iterable[tuple[Cell, list[int]]], done: dict[str, set[int]], shard: tuple[int, int]) -> list[Batch]:
    """What is left to do of shard i of n, longest first.

    Batches are cut, sorted and dealt out before anything is left out, so that every shard and every resumed sweep cuts
    alike, and shards take about equally long.
    """
    cut = [
        Batch(cell, tuple(seeds[start : start + BATCH]))
        for cell, seeds in wishes
        for start in range(0, len(seeds), BATCH)
    ]
    mine = sorted(cut, key=lambda batch: -batch.seconds)[shard[0] - 1 :: shard[1]]
    left = []
    for batch in mine:
        seeds = tuple(seed for seed in batch.seeds if seed not in done.get(batch.cell.identity, ()))
        if seeds:
            left.append(Batch(batch.cell, seeds))
    return sorted(left, key=lambda batch: -batch.seconds)  # what is left of a batch may be short


def parse_shard(text: str) -> tuple[int, int]:
    """`2/4` → (2, 4): the second of four shards."""
    parts = text.split("/")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise MonMDPError(f"A shard is written as 1/4, the first of four, not {text!r}.")
    index, count = int(parts[0]), int(parts[1])
    if not 1 <= index <= count:
        raise MonMDPError(f"There is no shard {index} of {count}; shards of {count} go from 1 to {max(count, 1)}.")
    return index, count
