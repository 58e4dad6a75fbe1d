"""Which runs are on the device together, and in which order: waves that fit into its memory, the longest runs first."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from monmdp.agents.base import memory_bytes
from monmdp.cuda.packing import Schema, words_per_state
from monmdp.errors import MonMDPError
from monmdp.machine import readable
from monmdp.training.job import Job


class Shape(NamedTuple):
    """How a kernel is launched: threads per block, blocks per multiprocessor, bytes of on-chip memory per block."""

    threads: int
    blocks: int
    onchip: int


#: One warp per run.
WARPS = Shape(32, 16, 4 << 10)
#: One block per run: the least number of goals, and the shape for it.
BLOCKS = ((1024, Shape(160, 5, 8 << 10)), (384, Shape(96, 8, 8 << 10)), (0, Shape(64, 12, 8 << 10)))
#: On-chip memory is requested in multiples of this, so that runs of similar size share a launch.
ONCHIP_STEP = 4 << 10
#: Bytes at the beginning of on-chip memory for the message of a leading warp.
MESSAGE_BYTES = 32
#: Evaluation, and bytes of scratch memory that an evaluating warp needs per state.
EVALUATION, STATE_BYTES = Shape(32, 16, 0), 32 * (8 + 8 + 4 + 4)
#: Bytes per pair up to which an agent has no quadratic table.
LINEAR = 64
#: Bytes of memory whose transfer takes as long as the remainder of a step.
STEP_BYTES = 1600


@dataclass(frozen=True, eq=False)
class Work:
    """Some seeds of a job; a caller finds its work again by `number`. Work of the same job is packed together."""

    job: Job
    seeds: tuple[int, ...]
    number: int = 0


def device_bytes(job: Job) -> int:
    """Approximate device memory of a run: its tables, its record, and the policies to evaluate."""
    world, points = job.world, len(job.point_steps)
    tables = memory_bytes(job.agent, world) + 8 * world.n_env_pairs * 2
    policies = points * (4 * world.n_states * words_per_state(world) + 12) if job.episodes == 0 else 0
    return tables + policies + 40 * points + 8192


def longest_first(work: Iterable[Work]) -> list[Work]:
    """Runs with a quadratic table first, since they wait for memory while others compute; then by estimated time."""

    def key(part: Work) -> tuple[bool, float]:
        world = part.job.world
        touched = memory_bytes(part.job.agent, world) / (world.n_states * world.n_actions)
        return touched <= LINEAR, -part.job.steps * (touched + STEP_BYTES)

    return sorted(work, key=key)


def waves(work: Iterable[Work], room: int) -> list[list[Work]]:
    """Work cut into waves that fit into `room` bytes, longest runs first; work may be cut between its seeds."""
    result: list[list[Work]] = []
    left = 0
    for part in longest_first(work):
        need = device_bytes(part.job)
        if need > room:
            raise MonMDPError(
                f"{type(part.job.agent).__name__} in {part.job.problem.name} needs {readable(need)} of GPU memory per "
                f"run, and {readable(room)} can be used; train it with device 'cpu', or choose a smaller problem."
            )
        seeds = part.seeds
        while seeds:
            if left < need:
                result.append([])
                left = room
            fit = left // need
            chosen, seeds = seeds[:fit], seeds[fit:]
            result[-1].append(Work(part.job, chosen, part.number))
            left -= need * len(chosen)
    return result


def shape_for(job: Job) -> Shape:
    """How the runs of a job are launched."""
    if job.agent.device_kernel != "block":
        return WARPS
    goals = job.world.n_acting_states * job.world.n_actions
    return next(shape for least, shape in BLOCKS if goals >= least)


class Program(NamedTuple):
    """What a kernel is compiled for: agent class (None: evaluation), runs, launch, and whether rewards have noise."""

    agent: Any
    schema: Schema
    shape: Shape
    noisy: bool


def program_for(job: Job, schema: Schema) -> Program:
    """The training program of a job whose runs have a schema."""
    return Program(type(job.agent), schema, shape_for(job), bool((job.world.reward_noise > 0).any()))
