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

from monmdp.agents.directed import act_directed, update_directed
from monmdp.engine import loop
from monmdp.engine.cuda.compiling import Compiled, compile_kernel
from monmdp.engine.cuda.evaluation import EVERYONE, exact_return
from monmdp.engine.cuda.intrinsics import matrix_at, vector_at
from monmdp.engine.cuda.scratch import WARP
from monmdp.engine.cuda.successors import advance_together
from monmdp.engine.cuda.views import Schema, rebuilding
from monmdp.engine.evaluation import sampled_return

#: Stand-ins in the bodies below; each agent's kernel has its own.
rebuild: Any = None
advance: Any = None
plan: Any = None
beta: Any = None

#: Rows of runs, words of a row, number of runs.
SIGNATURE = (cuda_types.int64, cuda_types.int64, cuda_types.int64)


@cuda.jit(device=True)
def record_point(run, point, value, ratio):
    """Write down one recording point."""
    record, cursor = run.record, run.cursor
    if run.episodes >= 0:
        record.returns[point] = value
    record.observed[point] = cursor[4]
    record.visited[point] = cursor[5]
    record.beta[point] = ratio
    record.explored[point] = cursor[6] / max(cursor[1], 1)
    run.progress[0], run.progress[1] = cursor[1], point + 1


def _warp_body(rows, row_words, runs):
    """One run a warp: its first lane trains, all evaluate."""
    number = cuda.blockIdx.x * (cuda.blockDim.x // WARP) + cuda.threadIdx.x // WARP
    lane = cuda.threadIdx.x % WARP
    if number >= runs:
        return
    place = rows + number * row_words * 8
    run = rebuild(vector_at(place, row_words, np.int64), vector_at(place, row_words, np.float64))
    for point in range(len(run.point_steps)):
        goes_on = True
        if lane == 0:
            goes_on = advance(
                run.world, run.memory, run.keys, run.cursor, run.point_steps[point], run.progress, run.stop
            )
            plan(run.memory, run.cursor[1])
        if not cuda.all_sync(EVERYONE, goes_on):
            return
        value = 0.0
        if run.episodes == 0:
            value = exact_return(run.world, run.memory.q, run.scratch, lane)
        if lane == 0:
            if run.episodes > 0:
                value = sampled_return(run.world, run.memory.q, run.episodes, run.keys[5], run.scratch.test_clock)
            record_point(run, point, value, beta(run.memory, run.cursor[1]))
        cuda.syncwarp(EVERYONE)


def _block_body(rows, row_words, runs):
    """One run a block: all threads train, the first warp evaluates."""
    lane = cuda.threadIdx.x
    place = rows + cuda.blockIdx.x * row_words * 8
    run = rebuild(vector_at(place, row_words, np.int64), vector_at(place, row_words, np.float64))
    for point in range(len(run.point_steps)):
        if not advance(run.world, run.memory, run.keys, run.cursor, run.point_steps[point], run.progress, run.stop):
            return
        if lane < WARP:
            value = 0.0
            if run.episodes == 0:
                value = exact_return(run.world, run.memory.q, run.scratch, lane)
            if lane == 0:
                if run.episodes > 0:
                    value = sampled_return(run.world, run.memory.q, run.episodes, run.keys[5], run.scratch.test_clock)
                record_point(run, point, value, beta(run.memory, run.cursor[1]))
        cuda.syncthreads()


def works_together(agent: Any) -> bool:
    """Whether an agent class learns successor values by blocks: with Directed's own kernels, unchanged."""
    own = (agent.act, agent.update, agent.begin, agent.plan, agent.sees_everything)
    return own == (act_directed, update_directed, loop_begin(), loop_plan(), False)


def loop_begin() -> Any:
    from monmdp.agents.base import no_begin

    return no_begin


def loop_plan() -> Any:
    from monmdp.agents.base import no_plan

    return no_plan


def _bound(body: Any, name: str, names: dict[str, Any]) -> Any:
    return types.FunctionType(body.__code__, {**body.__globals__, **names}, name)


def _device(body: Any, name: str, names: dict[str, Any]) -> Any:
    return cuda.jit(device=True)(_bound(body, name, names))


@lru_cache(maxsize=64)
def compiled_for(agent: Any, schema: Schema, capability: tuple[int, int], threads: int) -> Compiled:
    """The kernel of an agent class for runs of a shape, for blocks of at most so many threads."""
    source, names = rebuilding(schema)
    room: dict[str, Any] = {**names, "vector_at": vector_at, "matrix_at": matrix_at}
    exec(compile(source, f"<views of {agent.__name__}>", "exec"), room)
    given = {"rebuild": cuda.jit(device=True)(room["rebuild"]), "plan": agent.plan, "beta": agent.beta}
    if works_together(agent):
        body = _bound(_block_body, f"block_{agent.__name__}", {**given, "advance": advance_together})
    else:
        own = {name: getattr(agent, name) for name in ("act", "update", "begin", "sees_everything")}
        step = _device(loop._advance, f"advance_{agent.__name__}", own)
        body = _bound(_warp_body, f"warp_{agent.__name__}", {**given, "advance": step})
    return compile_kernel(body, SIGNATURE, capability, (threads, 1), agent.__name__)
