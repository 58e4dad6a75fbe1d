"""Which runs go to the device together, and in which order: waves that fit its memory, the longest runs first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from monmdp.agents.base import no_begin, no_plan
from monmdp.agents.directed import act_directed, update_directed
from monmdp.cuda.snapshots import words_of
from monmdp.errors import MonMDPError
from monmdp.machine import readable

if TYPE_CHECKING:
    from monmdp.training.job import Job


class Shape(NamedTuple):
    """How a kernel is launched: threads of a block, blocks side by side, and bytes of own memory a block may take."""

    threads: int
    blocks: int
    near: int


#: Where a run is a warp.
WARPS = Shape(32, 16, 4 << 10)
#: Where a run is a block, by the number of its goals: with so many or more, so.
BLOCKS = ((1024, Shape(160, 5, 8 << 10)), (384, Shape(96, 8, 8 << 10)), (0, Shape(64, 12, 8 << 10)))
#: Bytes a pair that tables of a few numbers a pair take at most, and bytes whose moving lasts as long as the rest of a
#: step does.
LINEAR, STEP_BYTES = 64, 1600
#: Own memory is asked for in such steps, so that small runs do not take as much as large ones.
NEAR_STEP = 4 << 10


@dataclass(frozen=True, eq=False)
class Work:
    """Some seeds of a job; parts of the same work share its number."""

    job: Job
    seeds: tuple[int, ...]
    number: int = 0

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
    kept = len(job.point_steps) * (4 * world.n_states * words_of(world) + 12) if job.episodes == 0 else 0
    return tables + kept + 40 * len(job.point_steps) + 8192


def longest_first(work: Iterable[Work]) -> list[Work]:
    """Runs with a table beyond their pairs first, for they wait for memory while others compute; then by their steps
    and by what a step touches."""

    def key(part: Work) -> tuple[bool, float]:
        world = part.job.world
        touched = part.job.agent.memory_bytes(world) / (world.n_states * world.n_actions)
        return touched <= LINEAR, -part.job.steps * (touched + STEP_BYTES)

    return sorted(work, key=key)


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
            found[-1].append(Work(part.job, taken, part.number))
            left -= part.bytes_each * len(taken)
    return found


def works_together(agent: Any) -> bool:
    """Whether an agent class learns successor values by blocks: with Directed's own kernels, unchanged."""
    own = (agent.act, agent.update, agent.begin, agent.plan, agent.sees_everything)
    return own == (act_directed, update_directed, no_begin, no_plan, False)


def shape_for(job: Job) -> Shape:
    """How the runs of a job are launched."""
    if not works_together(type(job.agent)):
        return WARPS
    goals = job.world.n_acting_states * job.world.n_actions
    return next(shape for least, shape in BLOCKS if goals >= least)
