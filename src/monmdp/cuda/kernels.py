"""The two kernels: training and, after it, exact evaluation.

Training is one run per warp or, for Directed, one run per block, and calls the CPU's own kernel bodies. It keeps the
greedy policy of recording points; the return depends on the policy alone, so it may be computed later, and only once
for policies that repeat. For evaluation, the lanes of a warp have consecutive policies of one run, which mostly visit
the same states; each lane adds in the CPU's order.
"""

from types import FunctionType
from typing import Any

import numpy as np
from numba import cuda

from monmdp.cuda.packing import BITS
from monmdp.cuda.schedule import MESSAGE_BYTES, STATE_BYTES, Program
from monmdp.cuda.successors import advance_by_block
from monmdp.cuda.warps import EVERYONE, WARP, adapted, address_of, array_at, rebuild_function
from monmdp.kernels.returns import NEGLIGIBLE, sampled_return
from monmdp.training import loop
from monmdp.training.metrics import record_point

#: Placeholders in the bodies below; each kernel has its own.
rebuild: Any = None
advance: Any = None
plan: Any = None
beta: Any = None


@cuda.jit(device=True)
def copy_state(words, onchip, back):
    """Copy the first part of a run's state into on-chip memory, or back; see `packing.row_words`."""
    length = words[len(words) - 1]
    home, here = array_at(words[len(words) - 2], (length,), np.int64), array_at(onchip, (length,), np.int64)
    for i in range(cuda.threadIdx.x, length, cuda.blockDim.x):
        if back:
            home[i] = here[i]
        else:
            here[i] = home[i]
    cuda.syncthreads()


@cuda.jit(device=True)
def keep_policy(q, snapshots, point, lane):
    """Note the greedy actions of all states, exact ties included; a new version if any of them changed."""
    n_states, n_actions = q.shape
    words = snapshots.policies.shape[0] // n_states
    version = snapshots.kept[0] if point > 0 else 0
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


def _train(rows, row_words):
    """Train the run of this block and record its points; as `loop._run`, but exact evaluation follows later.

    All threads train, in a way that depends on `advance`; the first warp plans and records.
    """
    thread = cuda.threadIdx.x
    place = rows + cuda.blockIdx.x * row_words * 8
    words, floats = array_at(place, (row_words,), np.int64), array_at(place, (row_words,), np.float64)
    onchip = address_of(cuda.shared.array(0, np.int64)) + MESSAGE_BYTES
    copy_state(words, onchip, False)
    run = rebuild(words, floats, onchip)
    cursor, tally = run.cursor, run.tally
    points = len(run.point_steps)
    for point in range(points):
        run = rebuild(words, floats, onchip)  # at every point: values that live longer would be spilled
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
                    value, run.test_clock[0] = sampled_return(
                        run.world, run.memory.q, run.episodes, run.keys.evaluation, run.test_clock[0]
                    )
                record_point(run.record, point, cursor.step, tally, beta(run.memory, cursor.step), value)
                run.progress[0], run.progress[1] = cursor.step, point + 1
        cuda.syncthreads()
    copy_state(words, onchip, True)


@cuda.jit(device=True)
def arrive(coming, active, count, left, state, moved, ended):
    """Add probability mass to a state unless the episode ended; returns the number of active states and all mass."""
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
                    while o + 3 < end:  # four at a time, so that loads overlap
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
        mass, coming = coming, mass  # all mass has moved on
        active, active_later = active_later, active
        count, step = later, step + 1
        weight *= world.discount
        if weight * left < NEGLIGIBLE:
            break
    for i in range(count):
        mass[active[i]] = 0.0
    return total


def _evaluate(rows, row_words, runs, parts, counter, scratch, scratch_bytes):
    """Each warp evaluates 32 versions of a run at a time, until the counter shows that all are taken.

    parts: warps that a run needs for its versions; scratch_bytes: scratch memory per warp.
    """
    lane = cuda.threadIdx.x
    own = scratch + cuda.blockIdx.x * scratch_bytes
    states = scratch_bytes // STATE_BYTES
    mass = array_at(own, (2, states, WARP), np.float64)
    active = array_at(own + 16 * states * WARP, (2, states, WARP), np.int32)
    ticket = array_at(counter, (1,), np.int64)
    while True:
        task = np.int64(0)
        if lane == 0:
            task = np.int64(cuda.atomic.add(ticket, 0, 1))
        task = cuda.shfl_sync(EVERYONE, task, 0)
        if task >= runs * parts:
            return
        place = rows + task // parts * row_words * 8
        run = rebuild(array_at(place, (row_words,), np.int64), array_at(place, (row_words,), np.float64), own)
        version = task % parts * WARP + lane
        if run.episodes == 0 and version < run.snapshots.kept[0]:
            run.snapshots.values[version] = policy_return(
                run.world, run.snapshots.policies, version, mass[0, :, lane], mass[1, :, lane], active[0, :, lane],
                active[1, :, lane],
            )  # fmt: skip
        cuda.syncwarp(EVERYONE)


def kernel_body(program: Program) -> Any:
    """The body of a program's kernel, with the agent's own kernels in it."""
    agent, schema, shape, noisy = program
    names = {"rebuild": rebuild_function(schema)}
    if agent is None:
        return FunctionType(_evaluate.__code__, {**globals(), **names}, "evaluate")
    names |= {"plan": adapted(agent.plan), "beta": adapted(agent.beta)}
    if agent.device_kernel == "block":
        names["advance"] = advance_by_block(noisy, shape.threads, agent.sees_everything)
    else:
        own = {name: getattr(agent, name) for name in ("act", "update", "begin", "sees_everything")} | {"trusted": True}
        names["advance"] = adapted(loop._advance, noisy, **own)
    return FunctionType(_train.__code__, {**globals(), **names}, f"train_{agent.__name__}")
