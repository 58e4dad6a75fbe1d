"""What kernels are compiled for, and which agents can have any."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from monmdp.agents.base import Agent
from monmdp.cuda.compiling import INSTEAD, Compiled, UnsuitableError
from monmdp.cuda.run import new_run
from monmdp.cuda.schedule import Shape, shape_for
from monmdp.cuda.views import Schema, schema_of
from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.training.job import Job


class Launch(NamedTuple):
    """What a training kernel is compiled for: an agent class, its runs, blocks of threads, and noise or none."""

    kind: Any
    schema: Schema
    shape: Shape
    noisy: bool


def launch_of(job: Job, schema: Schema) -> Launch:
    """How the runs of a job are compiled and launched."""
    return Launch(type(job.agent), schema, shape_for(job), bool((job.world.reward_noise > 0).any()))


def compiled(launch: Launch, capability: tuple[int, int]) -> Compiled:
    """The training kernel of a launch."""
    from monmdp.cuda.kernels import compiled_for

    return compiled_for(launch.kind, launch.schema, capability, launch.shape.threads, launch.shape.blocks, launch.noisy)


def check_suitable(job: Job) -> None:
    """Refuse an agent that no GPU can run, as far as can be told without compiling its kernels."""
    if type(job.agent).remarks is not Agent.remarks:
        raise UnsuitableError(
            f"{type(job.agent).__name__} cannot run on a GPU: its remarks are made from its whole memory, which is not "
            f"brought back. {INSTEAD}"
        )


def can_compile(job: Job, capability: tuple[int, int]) -> bool:
    """Whether a GPU can run a job's agent; compiles its kernels to find out."""
    try:
        check_suitable(job)
        launch = launch_of(job, schema_of(new_run(job, 0, job.stop)))
    except MonMDPError:
        return False
    return _compiles(launch, capability)


@lru_cache(maxsize=64)
def _compiles(launch: Launch, capability: tuple[int, int]) -> bool:
    try:
        compiled(launch, capability)
    except UnsuitableError:
        return False
    return True
