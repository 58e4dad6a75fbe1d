"""Everything that one run on a device reads and writes, as one nested named tuple."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monmdp.cuda.snapshots import Snapshots, new_snapshots
from monmdp.problem import Integers
from monmdp.training.loop import new_cursor, stream_keys
from monmdp.training.metrics import Record, new_record
from monmdp.world import World

if TYPE_CHECKING:
    from monmdp.training.job import Job


class Run(NamedTuple):
    """One run; outputs first. progress [2] and stop [1] as in the CPU's loop; episodes as there."""

    record: Record
    memory: Any
    progress: Integers
    cursor: Integers
    keys: Integers
    snapshots: Snapshots
    point_steps: Integers
    stop: Integers
    world: World
    episodes: int


def new_run(job: Job, seed: int, stop: Integers) -> Run:
    """A run before its first step."""
    keys = stream_keys(seed)
    return Run(
        record=new_record(len(job.point_steps)),
        memory=job.agent.memory(job.world, job.steps, seed),
        progress=np.zeros(2, np.int64),
        cursor=new_cursor(job.world, keys),
        keys=keys,
        snapshots=new_snapshots(job.world, len(job.point_steps), exact=job.episodes == 0),
        point_steps=job.point_steps,
        stop=stop,
        world=job.world,
        episodes=job.episodes,
    )
