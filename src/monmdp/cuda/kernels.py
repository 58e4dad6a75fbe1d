"""The kernels of a device: one run a warp, or one run a block where a table of successor values is learned.

Both are built for an agent class and the shape of its runs; what they call are the CPU's own kernel bodies.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import types
from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda
from numba.cuda import types as cuda_types

from monmdp.cuda.compiling import Compiled, compile_kernel, kept
from monmdp.cuda.evaluation import keep_policy
from monmdp.cuda.intrinsics import address_of, vector_at
from monmdp.cuda.rebuilding import rebuild_function
from monmdp.cuda.schedule import works_together
from monmdp.cuda.successors import advance_together
from monmdp.cuda.together import EVERYONE, WARP, adapted
from monmdp.cuda.views import Schema
from monmdp.training import loop
from monmdp.training.evaluation import sampled_return

#: Stand-ins in the bodies below; each agent's kernel has its own.
rebuild: Any = None
advance: Any = None
plan: Any = None
beta: Any = None
schema_words = 0

#: The address of the rows of runs, and the words of a row.
SIGNATURE = (cuda_types.int64, cuda_types.int64)


@cuda.jit(device=True)
def record_point(run, point, ratio):
    """Write down one recording point, and the return if it is sampled."""
    record, cursor = run.record, run.cursor
    if run.episodes > 0:
        record.returns[point] = sampled_return(
            run.world, run.memory.q, run.episodes, run.keys[5], run.snapshots.test_clock
        )
    record.observed[point] = cursor[4]
    record.visited[point] = cursor[5]
    record.beta[point] = ratio
    record.explored[point] = cursor[6] / max(cursor[1], 1)
    run.progress[0], run.progress[1] = cursor[1], point + 1


@cuda.jit(device=True)
def move_near(words, near, back):
    """Bring the near fields of a run into the block's own memory, or back to where they belong."""
    for field in range(words[0]):
        home = vector_at(words[1 + 3 * field], words[2 + 3 * field], np.int64)
        here = vector_at(near + words[3 + 3 * field], words[2 + 3 * field], np.int64)
        for i in range(cuda.threadIdx.x, len(home), cuda.blockDim.x):
            if back:
                home[i] = here[i]
            else:
                here[i] = home[i]
    cuda.syncthreads()


def _warp_body(rows, row_words):
    """One run a warp, whose lanes do everything as one."""
    lane = cuda.threadIdx.x
    place = rows + cuda.blockIdx.x * row_words * 8
    words, floats = vector_at(place, row_words, np.int64), vector_at(place, row_words, np.float64)
    near = address_of(cuda.shared.array(0, np.int64))
    move_near(words[schema_words:], near, False)
    run = rebuild(words, floats, near)
    for point in range(len(run.point_steps)):
        until = run.point_steps[point]
        if not advance(run.world, run.memory, run.keys, run.cursor, until, run.progress, run.stop):
            break
        plan(run.memory, run.cursor[1])
        cuda.syncwarp(EVERYONE)
        if run.episodes == 0:
            keep_policy(run.memory.q, run.snapshots, point, lane)
        if lane == 0:
            record_point(run, point, beta(run.memory, run.cursor[1]))
        cuda.syncwarp(EVERYONE)
    move_near(words[schema_words:], near, True)


def _block_body(rows, row_words):
    """One run a block: all threads train, the first warp evaluates."""
    lane = cuda.threadIdx.x
    place = rows + cuda.blockIdx.x * row_words * 8
    words, floats = vector_at(place, row_words, np.int64), vector_at(place, row_words, np.float64)
    near = address_of(cuda.shared.array(0, np.int64))
    move_near(words[schema_words:], near, False)
    run = rebuild(words, floats, near)
    for point in range(len(run.point_steps)):
        until = run.point_steps[point]
        if not advance(run.world, run.memory, run.keys, run.cursor, until, run.progress, run.stop):
            break
        if lane < WARP:
            if run.episodes == 0:
                keep_policy(run.memory.q, run.snapshots, point, lane)
            if lane == 0:
                record_point(run, point, beta(run.memory, run.cursor[1]))
        cuda.syncthreads()
    move_near(words[schema_words:], near, True)


def _bound(body: Any, name: str, names: dict[str, Any]) -> Any:
    return types.FunctionType(body.__code__, {**body.__globals__, **names}, name)


@lru_cache(maxsize=64)
def compiled_for(
    agent: Any, schema: Schema, capability: tuple[int, int], threads: int, blocks: int, noisy: bool = True
) -> Compiled:
    """The kernel of an agent class for runs of a shape, for so many blocks of so many threads side by side.

    noisy: rewards may have noise; without, kernels are smaller.
    """
    ours = agent.__module__.startswith("monmdp.")

    def made() -> Compiled:
        body = _body_of(agent, schema, noisy, threads)
        return compile_kernel(body, SIGNATURE, capability, (threads, blocks), agent.__name__, from_start=ours)

    if not ours:
        return made()
    return kept(f"{agent.__module__}.{agent.__name__} {schema} {capability} {threads} {blocks} {noisy}", made)


def _body_of(agent: Any, schema: Schema, noisy: bool, threads: int) -> Any:
    """The kernel's body with everything that is the agent's own."""
    given = {"rebuild": rebuild_function(schema), "schema_words": schema.words, "beta": agent.beta}
    if works_together(agent):
        return _bound(_block_body, f"block_{agent.__name__}", {**given, "advance": advance_together(noisy, threads)})
    own = {name: getattr(agent, name) for name in ("act", "update", "begin", "sees_everything")}
    given |= {"advance": adapted(loop._advance, noisy, **own), "plan": adapted(agent.plan)}
    return _bound(_warp_body, f"warp_{agent.__name__}", given)
