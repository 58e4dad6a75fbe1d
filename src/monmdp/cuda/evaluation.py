"""Exact returns on a device: training keeps greedy policies, and afterwards every lane evaluates one of them.

The return is a function of the policy alone, so it may be computed later and only once for policies that repeat.
Every lane adds in the CPU's order; lanes of a warp have policies of one run that follow one another and mostly go
the same way.
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
from monmdp.cuda.intrinsics import lane_vector_at, vector_at
from monmdp.cuda.rebuilding import rebuild_function
from monmdp.cuda.snapshots import BITS
from monmdp.cuda.together import EVERYONE, WARP
from monmdp.cuda.views import Schema
from monmdp.kernels.returns import NEGLIGIBLE

#: Stand-in in the body below.
rebuild: Any = None
#: Rows of runs, words of a row, runs, parts of a run, the next part's number, scratch space, bytes of it a warp.
SIGNATURE = (cuda_types.int64,) * 7
#: Warps that evaluate side by side on a multiprocessor.
EVALUATING = 16
#: Bytes of scratch space that a state takes in a warp.
STATE_BYTES = WARP * (8 + 8 + 4 + 4)


@cuda.jit(device=True)
def keep_policy(q, snapshots, point, lane):
    """List the greedy actions of all states, exact ties included; a new version if any of them changed."""
    n_states, n_actions = q.shape
    words = snapshots.policies.shape[0] // n_states
    version = snapshots.kept[0]
    changed = version == 0
    for s in range(lane, n_states, WARP):
        best = q[s, 0]
        for action in range(1, n_actions):
            best = max(best, q[s, action])
        for word in range(words):
            bits = np.uint32(0)
            for action in range(word * BITS, min((word + 1) * BITS, n_actions)):
                if q[s, action] == best:
                    bits |= np.uint32(1) << np.uint32(action - word * BITS)
            snapshots.policies[s * words + word, version] = bits
            if version > 0 and snapshots.policies[s * words + word, version - 1] != bits:
                changed = True
    if cuda.any_sync(EVERYONE, changed):
        version += 1
    cuda.syncwarp(EVERYONE)
    if lane == 0:
        snapshots.kept[0] = version
        snapshots.versions[point] = version - 1
    cuda.syncwarp(EVERYONE)


@cuda.jit(device=True)
def arrive(coming, active, count, left, state, moved, ended):
    """Add what comes into a state, unless the episode ended; how many states are active, and how much is left."""
    if not ended and moved > 0.0:
        before = coming[state]
        if before == 0.0:
            active[count] = state
            count += 1
        coming[state] = before + moved
        left += moved
    return count, left


@cuda.jit(device=True)
def policy_return(world, policies, version, mass, coming, active, active_later):
    """As the CPU's `push_forward`, for one of the policies; mass [S] and coming [S] are zero before and after."""
    n_actions, words = world.n_actions, policies.shape[0] // world.n_states
    count = len(world.start_states)
    for i in range(count):
        mass[world.start_states[i]] = world.start_probability[i]
        active[i] = world.start_states[i]
    total, weight, step = 0.0, 1.0, 0
    while count > 0 and (world.step_limit == 0 or step < world.step_limit):
        later, left = 0, 0.0
        for i in range(count):
            s = active[i]
            n_best = 0
            for word in range(words):
                n_best += cuda.popc(policies[s * words + word, version])
            share = mass[s] / n_best
            mass[s] = 0.0
            for word in range(words):
                bits = policies[s * words + word, version]
                while bits != 0:
                    pair = s * n_actions + word * BITS + cuda.ffs(bits) - 1
                    bits &= bits - np.uint32(1)
                    total += weight * share * world.pair_reward[pair]
                    o, end = world.offsets[pair], world.offsets[pair + 1]
                    while o + 3 < end:  # four at a time: loads do not wait for one another
                        moved, moved1 = share * world.probability[o], share * world.probability[o + 1]
                        moved2, moved3 = share * world.probability[o + 2], share * world.probability[o + 3]
                        ended, ended1 = world.terminated[o], world.terminated[o + 1]
                        ended2, ended3 = world.terminated[o + 2], world.terminated[o + 3]
                        after, after1 = world.next_state[o], world.next_state[o + 1]
                        after2, after3 = world.next_state[o + 2], world.next_state[o + 3]
                        later, left = arrive(coming, active_later, later, left, after, moved, ended)
                        later, left = arrive(coming, active_later, later, left, after1, moved1, ended1)
                        later, left = arrive(coming, active_later, later, left, after2, moved2, ended2)
                        later, left = arrive(coming, active_later, later, left, after3, moved3, ended3)
                        o += 4
                    while o < end:
                        later, left = arrive(
                            coming, active_later, later, left, world.next_state[o], share * world.probability[o],
                            world.terminated[o],
                        )  # fmt: skip
                        o += 1
        mass, coming = coming, mass  # all that was there has moved on
        active, active_later = active_later, active
        count, step = later, step + 1
        weight *= world.discount
        if weight * left < NEGLIGIBLE:
            break
    for i in range(count):
        mass[active[i]] = 0.0
    return total


def _body(rows, row_words, runs, parts, counter, scratch, scratch_bytes):
    """A warp takes 32 versions of a run at a time, until all are done."""
    lane = cuda.threadIdx.x
    near = scratch + cuda.blockIdx.x * scratch_bytes
    ticket = vector_at(counter, 1, np.int64)
    while True:
        task = np.int64(0)
        if lane == 0:
            task = np.int64(cuda.atomic.add(ticket, 0, 1))
        task = cuda.shfl_sync(EVERYONE, task, 0)
        if task >= runs * parts:
            return
        place = rows + task // parts * row_words * 8
        run = rebuild(vector_at(place, row_words, np.int64), vector_at(place, row_words, np.float64), near)
        version = task % parts * WARP + lane
        n = run.world.n_states
        room = scratch_bytes // STATE_BYTES  # states there is space for; places must not depend on the run
        if version < run.snapshots.kept[0]:
            run.snapshots.values[version] = policy_return(
                run.world, run.snapshots.policies, version,
                lane_vector_at(near + lane * 8, n, np.float64),
                lane_vector_at(near + room * 8 * WARP + lane * 8, n, np.float64),
                lane_vector_at(near + room * 16 * WARP + lane * 4, n, np.int32),
                lane_vector_at(near + room * 20 * WARP + lane * 4, n, np.int32),
            )  # fmt: skip
        cuda.syncwarp(EVERYONE)


@lru_cache(maxsize=8)
def compiled_evaluation(schema: Schema, capability: tuple[int, int]) -> Compiled:
    """The kernel that evaluates what runs kept."""

    def made() -> Compiled:
        names = {**_body.__globals__, "rebuild": rebuild_function(schema)}
        body = types.FunctionType(_body.__code__, names, "evaluate")
        return compile_kernel(body, SIGNATURE, capability, (WARP, EVALUATING), "The exact evaluation")

    return kept(f"evaluation {schema} {capability}", made)
