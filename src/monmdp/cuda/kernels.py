"""The training kernel: one run per warp or, for Directed, one run per block. It calls the CPU's own kernel bodies."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import types
from typing import Any

import numpy as np
from numba import cuda

from monmdp.cuda.compiling import Program
from monmdp.cuda.evaluation import keep_policy
from monmdp.cuda.intrinsics import address_of, array_at, rebuild_function
from monmdp.cuda.successors import advance_by_block
from monmdp.cuda.warps import EVERYONE, WARP, adapted
from monmdp.training import loop
from monmdp.training.evaluation import sampled_return
from monmdp.training.metrics import record_point

#: Placeholders in the body below; each agent's kernel has its own.
rebuild: Any = None
advance: Any = None
plan: Any = None
beta: Any = None


@cuda.jit(device=True)
def copy_state(words, onchip, back):
    """Copy the first part of a run's state into on-chip memory, or back; see `packing.rows`."""
    length = words[len(words) - 1]
    home, here = array_at(words[len(words) - 2], (length,), np.int64), array_at(onchip, (length,), np.int64)
    for i in range(cuda.threadIdx.x, length, cuda.blockDim.x):
        if back:
            home[i] = here[i]
        else:
            here[i] = home[i]
    cuda.syncthreads()


def _train(rows, row_words):
    """Train the run of this block and record its points; as `loop._run`, but exact evaluation follows later.

    All threads train, in a way that depends on `advance`; the first warp plans and records.
    """
    thread = cuda.threadIdx.x
    place = rows + cuda.blockIdx.x * row_words * 8
    words, floats = array_at(place, (row_words,), np.int64), array_at(place, (row_words,), np.float64)
    onchip = address_of(cuda.shared.array(0, np.int64))
    copy_state(words, onchip, False)
    run = rebuild(words, floats, onchip)
    cursor, tally = run.cursor, run.tally
    points = len(run.point_steps)
    for point in range(points):
        until = run.point_steps[point]
        cursor, tally = advance(run.world, run.memory, run.keys, cursor, tally, until, run.progress, run.stop)
        if cursor.step < until:
            break
        if thread < WARP:
            if run.episodes >= 0 or point == points - 1:
                plan(run.memory, cursor.step)
            cuda.syncwarp(EVERYONE)
            if run.episodes == 0:
                keep_policy(run.memory.q, run.snapshots, point, thread)
            if thread == 0:
                value = np.nan
                if run.episodes > 0:
                    value = sampled_return(run.world, run.memory.q, run.episodes, run.keys.evaluation, run.test_clock)
                record_point(run.record, point, cursor.step, tally, beta(run.memory, cursor.step), value)
                run.progress[0], run.progress[1] = cursor.step, point + 1
        cuda.syncthreads()
    copy_state(words, onchip, True)


def training_body(program: Program) -> Any:
    """The body of a program's kernel, with the agent's own kernels in it."""
    agent, schema, shape, noisy = program
    names = {"rebuild": rebuild_function(schema), "plan": adapted(agent.plan), "beta": agent.beta}
    if agent.device_kernel == "block":
        names["advance"] = advance_by_block(noisy, shape.threads, agent.sees_everything)
    else:
        own = {name: getattr(agent, name) for name in ("act", "update", "begin", "sees_everything")}
        names["advance"] = adapted(loop._advance, noisy, **own)
    return types.FunctionType(_train.__code__, {**globals(), **names}, f"train_{agent.__name__}")
