"""The exact return on a device: a warp pushes the state distribution forward, in the order of the CPU's sums.

Numbers are the CPU's to the last bit: what arrives in a state is added in the same order, and so are rewards.
Only how much is left of the distribution is added up in another order, to be compared with a bound; where that
comparison is close, it is done again in the CPU's order.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np
from numba import cuda

from monmdp.engine.cuda.scratch import WARP
from monmdp.engine.evaluation import note_best_actions
from monmdp.solve import NEGLIGIBLE

EVERYONE = 0xFFFFFFFF


@cuda.jit(device=True)
def before_me(value, lane):
    """The sum of `value` over the lanes before this one, and over all."""
    upto = np.int32(value)
    distance = 1
    while distance < WARP:
        other = cuda.shfl_up_sync(EVERYONE, upto, distance)
        if lane >= distance:
            upto += other
        distance *= 2
    return upto - np.int32(value), cuda.shfl_sync(EVERYONE, upto, WARP - 1)


@cuda.jit(device=True)
def exact_return(world, q, memo, lane):
    """As the CPU's `exact_return`, by all lanes of a warp together."""
    mine = memo.totals[1] == 0
    for i in range(lane, memo.totals[0], WARP):
        if note_best_actions(q, memo.reached[i], memo.best_actions, memo.n_best):
            mine = True
    cuda.syncwarp(EVERYONE)
    if cuda.any_sync(EVERYONE, mine):
        evaluation = memo.totals[1] + 1
        cuda.syncwarp(EVERYONE)
        n_reached, value = push_forward(world, q, memo, evaluation, lane)
        if lane == 0:
            memo.totals[0], memo.totals[1], memo.value[0] = n_reached, evaluation, value
        cuda.syncwarp(EVERYONE)
    return memo.value[0]


@cuda.jit(device=True)
def push_forward(world, q, memo, evaluation, lane):
    """Number of states reached, and the return."""
    mass, coming, active = memo.mass, memo.coming, memo.active
    now, count, n_reached = 0, len(world.start_states), np.int32(0)
    for i in range(lane, count, WARP):
        mass[world.start_states[i]] = world.start_probability[i]
        active[0, i] = world.start_states[i]
    cuda.syncwarp(EVERYONE)
    total, weight, step = 0.0, 1.0, 0
    while count > 0 and (world.step_limit == 0 or step < world.step_limit):
        later, left = np.int32(0), 0.0
        for first in range(0, count, WARP):
            n_reached, n_moves, n_rewards = pass_on(
                world, q, memo, evaluation, now, first + lane, count, weight, n_reached, lane
            )
            for i in range(n_rewards):
                total += memo.rewards[i]
            for start in range(0, n_moves, WARP):
                later, moved = arrive(memo, start + lane, n_moves, 1 - now, later, lane)
                left += moved
            cuda.syncwarp(EVERYONE)
        weight *= world.discount
        stops = is_negligible(world, memo, now, count, weight, left)
        for i in range(lane, count, WARP):
            mass[active[now, i]] = 0.0
        cuda.syncwarp(EVERYONE)
        for i in range(lane, later, WARP):
            s = active[1 - now, i]
            mass[s] = coming[s]
            coming[s] = 0.0
        cuda.syncwarp(EVERYONE)
        now, count, step = 1 - now, later, step + 1
        if stops:
            break
    for i in range(lane, count, WARP):
        mass[active[now, i]] = 0.0
    cuda.syncwarp(EVERYONE)
    return n_reached, total


@cuda.jit(device=True)
def pass_on(world, q, memo, evaluation, now, i, count, weight, n_reached, lane):
    """Every lane writes down what its state earns and where it goes; returns how much was written."""
    n_actions = q.shape[1]
    s, fresh, n_best, n_moves = np.int32(0), False, np.int32(0), np.int32(0)
    if i < count:
        s = memo.active[now, i]
        fresh = memo.seen_in[s] != evaluation
        if fresh:
            memo.seen_in[s] = evaluation
            note_best_actions(q, s, memo.best_actions, memo.n_best)
        n_best = memo.n_best[s]
        for k in range(n_best):
            pair = s * n_actions + memo.best_actions[s, k]
            n_moves += np.int32(world.offsets[pair + 1] - world.offsets[pair])
    new = cuda.ballot_sync(EVERYONE, fresh)
    if fresh:
        memo.reached[n_reached + cuda.popc(new & ((1 << lane) - 1))] = s
    n_reached += np.int32(cuda.popc(new))
    reward, n_rewards = before_me(n_best, lane)
    move, all_moves = before_me(n_moves, lane)
    if i < count:
        share = memo.mass[s] / n_best
        for k in range(n_best):
            pair = s * n_actions + memo.best_actions[s, k]
            memo.rewards[reward] = weight * share * world.pair_reward[pair]
            reward += 1
            for o in range(world.offsets[pair], world.offsets[pair + 1]):
                moved = share * world.probability[o]
                goes = not world.terminated[o] and moved > 0.0
                memo.moved[move] = moved
                memo.after[move] = world.next_state[o] if goes else -1
                move += 1
    cuda.syncwarp(EVERYONE)
    return n_reached, all_moves, n_rewards


@cuda.jit(device=True)
def arrive(memo, i, n_moves, then, later, lane):
    """Every lane adds one move to the state it goes to, those to the same state in order."""
    target, moved = np.int32(-1), 0.0
    if i < n_moves:
        target, moved = memo.after[i], memo.moved[i]
    goes = target >= 0
    peers = cuda.match_any_sync(EVERYONE, target if goes else np.int32(-1 - lane))
    rank = cuda.popc(peers & ((1 << lane) - 1))
    new = goes and rank == 0 and memo.coming[target] == 0.0
    found = cuda.ballot_sync(EVERYONE, new)
    if new:
        memo.active[then, later + cuda.popc(found & ((1 << lane) - 1))] = target
    turn = 0
    while cuda.any_sync(EVERYONE, goes and rank >= turn):
        if goes and rank == turn:
            memo.coming[target] += moved
        cuda.syncwarp(EVERYONE)
        turn += 1
    return later + np.int32(cuda.popc(found)), moved if goes else 0.0


@cuda.jit(device=True)
def is_negligible(world, memo, now, count, weight, left):
    """Whether what is left, in parts by lane, no longer counts."""
    distance = 1
    while distance < WARP:
        left += cuda.shfl_xor_sync(EVERYONE, left, distance)
        distance *= 2
    if abs(weight * left - NEGLIGIBLE) > 1e-6 * NEGLIGIBLE:
        return weight * left < NEGLIGIBLE
    exactly = 0.0
    for i in range(count):
        s = memo.active[now, i]
        share = memo.mass[s] / memo.n_best[s]
        for k in range(memo.n_best[s]):
            pair = s * len(memo.best_actions[s]) + memo.best_actions[s, k]
            for o in range(world.offsets[pair], world.offsets[pair + 1]):
                moved = share * world.probability[o]
                if not world.terminated[o] and moved > 0.0:
                    exactly += moved
    return weight * exactly < NEGLIGIBLE
