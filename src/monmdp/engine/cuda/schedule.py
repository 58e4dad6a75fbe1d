"""Which runs go to the device together, and in which order: waves that fit its memory, the longest runs first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monmdp.engine.memory import readable
from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.training import Job

#: Threads of a block by the number of goals of its row: as many as this or more get so many.
THREADS = ((1024, 288), (384, 160), (0, 64))


@dataclass(frozen=True, eq=False)
class Work:
    """Some seeds of a job."""

    job: Job
    seeds: tuple[int, ...]

    @property
    def bytes_each(self) -> int:
        """About how much device memory a run takes."""
        return device_bytes(self.job)

    @property
    def size(self) -> int:
        return self.bytes_each * len(self.seeds)


def device_bytes(job: Job) -> int:
    """About how many bytes a run takes on a device: its tables, its records, and space for evaluation."""
    world = job.world
    tables = job.agent.memory_bytes(world) + 8 * world.n_env_pairs * 2
    states = world.n_states * (4 * world.n_actions + 48)
    outcomes = 32 * 12 * max(1, (len(world.probability) * 2) // max(world.n_states, 1)) * 2
    return tables + states + outcomes + 40 * len(job.point_steps) + 8192


def longest_first(work: Iterable[Work]) -> list[Work]:
    """By the steps of a run, and among equals by what a step touches."""
    return sorted(work, key=lambda part: (-part.job.steps, -part.bytes_each))


def waves(work: Iterable[Work], room: int) -> list[list[Work]]:
    """Cut into waves that fit into `room` bytes, longest runs first; a part may be cut between its seeds."""
    found: list[list[Work]] = []
    left = 0
    for part in longest_first(work):
        if part.bytes_each > room:
            job = part.job
            raise MonMDPError(
                f"{type(job.agent).__name__} in {job.problem.name} needs {readable(part.bytes_each)} of GPU memory a "
                f"run, and {readable(room)} can be used; train it with device 'cpu', or choose a smaller problem."
            )
        seeds = part.seeds
        while seeds:
            fit = left // part.bytes_each
            if not found or fit == 0:
                found.append([])
                left = room
                continue
            taken, seeds = seeds[:fit], seeds[fit:]
            found[-1].append(Work(part.job, taken))
            left -= part.bytes_each * len(taken)
    return found


def threads_for(goals: int) -> int:
    """Threads of a block whose rows have so many goals, the leading warp included."""
    return next(threads for least, threads in THREADS if goals >= least)
