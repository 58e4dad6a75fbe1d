"""Directed on a device: one warp leads the run, the other warps of the block update all goals of a row at once.

The leader runs the training loop of all agents; while it does what needs no successor values, the others learn them by
the same equations as `agents/directed.py`. There are two barriers per step: "rows are written", in the leader's act,
and "the next row is known", in its update.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from monmdp.agents import q_learning
from monmdp.agents.base import no_begin
from monmdp.agents.choices import choose_any, explores
from monmdp.agents.directed import find_goal
from monmdp.cuda.warps import EVERYONE, WARP, adapted, address_of, array_at, choose_best
from monmdp.training import loop
from monmdp.training.loop import Cursor

update_q_learner = adapted(q_learning.update_q_learner)

#: The leader's message, at the beginning of on-chip memory: the pair whose row is learned, its state, the next one,
#: and whether it terminated.
PAIR, STATE, NEXT, ENDED = 0, 1, 2, 3
#: In place of a pair: the run was stopped.
STOPPED = -1
#: In place of an action: the successor values decide.
TOWARD_GOAL = -1
#: Largest number of goals that a warp notes before it looks up their maxima.
FALLEN = 256
#: Bytes of a single-precision number, and of the four that a thread learns in one pass.
SINGLE, PASS = 4, 16


@cache
def advance_by_block(noisy: bool, threads: int, sees_everything: bool = False) -> Any:
    """As the CPU's `_advance`, by all threads of a block; the first warp leads. noisy: rewards may have noise."""
    n = threads - WARP
    kernels = {"act": act_leading, "update": update_leading, "begin": no_begin}
    kernels |= {"sees_everything": sees_everything, "trusted": True}
    following = adapted(_follow, learn_row=adapted(_learn_row, followers=n), room=n // WARP * FALLEN)
    return adapted(_advance, lead=adapted(loop._advance, noisy, **kernels), follow=following)


#: Placeholders in the bodies below: kernels, the number of threads that follow, and of goals that they may note.
lead: Any = None
follow: Any = None
learn_row: Any = None
followers = WARP
room = FALLEN


def _advance(world, memory, keys, cursor, tally, until, progress, stop):
    if cuda.threadIdx.x >= WARP:
        return follow(memory, cursor, tally, until, cuda.threadIdx.x - WARP)
    cursor, tally = lead(world, memory, keys, cursor, tally, until, progress, stop)
    cuda.syncthreads()  # rows are written
    if cursor.step < until:
        cuda.shared.array(0, np.int64)[PAIR] = STOPPED
        cuda.syncthreads()  # the message is known
    return cursor, tally


@cuda.jit(device=True)
def act_leading(memory, state, draws):
    """As `act_directed`; the others may still learn the previous row until successor values are needed."""
    goal = np.int64(0)
    if cuda.threadIdx.x == 0:
        goal = find_goal(memory.visits, memory.n_goals, memory.goal, memory.goal_visits)
    goal = cuda.shfl_sync(EVERYONE, goal, 0)
    count = memory.visits[goal]
    beta = memory.logs[draws.step + 2] / count if count > 0 else math.inf
    n_actions, first = memory.q.shape[1], state * memory.q.shape[1]
    action, exploring = np.int64(TOWARD_GOAL), True
    if not beta > memory.beta_bar:
        action, exploring = choose_best(memory.q[state], draws.key, 2 * draws.step + 1), False
    elif explores(memory.epsilon, draws):
        if memory.balanced_wandering:
            action = choose_filled(memory.values, memory.visits, first, -1.0, draws)
        else:
            action = np.int64(choose_any(n_actions, draws))
    elif memory.random_goal_policy:
        action = np.int64(choose_any(n_actions, draws))
    cuda.syncthreads()  # rows are written
    if action == TOWARD_GOAL:
        action = choose_filled(memory.values, memory.successor_values[:, goal], first, 1.0, draws)
    return action, exploring


@cuda.jit(device=True)
def choose_filled(values, source, first, sign, draws):
    """The position of the largest of sign * source[first:], in values [A]; each lane reads some of them."""
    for action in range(cuda.threadIdx.x, len(values), WARP):
        values[action] = sign * source[first + action]
    return choose_best(values, draws.key, 2 * draws.step + 1)


@cuda.jit(device=True)
def update_leading(memory, transition):
    """As `update_directed`, but the others learn the row of successor values."""
    message = cuda.shared.array(0, np.int64)
    if cuda.threadIdx.x == 0:
        message[PAIR] = transition.state * memory.q.shape[1] + transition.action
        message[STATE], message[NEXT] = transition.state, transition.next_state
        message[ENDED] = 1 if transition.terminated else 0
    cuda.syncthreads()  # the next row is known
    update_q_learner(memory, transition)
    cuda.syncwarp(EVERYONE)


def _follow(memory, cursor, tally, until, thread):
    """Learn the rows of the leader's messages; only the step of the returned cursor is valid."""
    message, fallen = cuda.shared.array(0, np.int64), cuda.shared.array(room, np.int32)
    step = cursor.step
    cuda.syncthreads()  # rows are written
    while step < until:
        cuda.syncthreads()  # the next row is known
        if message[PAIR] == STOPPED:
            break
        if not memory.random_goal_policy:
            alpha = np.float32(memory.successor_alpha[step])
            learn_row(
                address_of(memory.successor_values), address_of(memory.successor_best),
                np.int32(memory.successor_values.shape[1]), np.int32(memory.q.shape[1]), np.int32(message[PAIR]),
                np.int32(message[STATE]), np.int32(message[NEXT]), message[ENDED] != 0, alpha,
                memory.successor_discount, memory.occupancy, fallen, np.int32(thread),
            )  # fmt: skip
        step += 1
        cuda.syncthreads()  # rows are written
    return Cursor(0, step, 0, 0), tally


def _learn_row(
    values, best, n_goals, n_actions, pair, state, next_state, terminated, alpha, discount, occupancy, fallen, thread
):
    """As the CPU's `learn_successors`; each thread learns every followers-th goal, four at a time.

    values and best are the addresses of the tables: computing with indices would cost more than learning.
    Goals whose maximum decreased are noted in fallen [warps * FALLEN], and each warp looks up its own together.
    """
    discount = np.float32(0.0) if terminated else discount
    row_bytes = np.int64(n_goals) * SINGLE
    row, here = values + pair * row_bytes + thread * SINGLE, best + state * row_bytes + thread * SINGLE
    ahead = best + next_state * row_bytes + thread * SINGLE
    lane, begin, noted = np.int32(thread % WARP), np.int32(thread // WARP * FALLEN), np.int32(0)
    lanes_before = np.uint32((1 << lane) - 1)
    goal = np.int32(thread)
    old, top = cuda.local.array(4, np.float32), cuda.local.array(4, np.float32)  # in registers after unrolling
    best_ahead, falls = cuda.local.array(4, np.float32), cuda.local.array(4, np.bool_)
    while goal - lane < n_goals:  # the lanes of a warp stay in step
        for k in range(4):
            old[k], top[k], best_ahead[k] = look(row, here, ahead, k * followers, goal + k * followers < n_goals)
        for k in range(4):
            reached, target = goal + k * followers == pair, discount * best_ahead[k]
            falls[k] = learn_goal(row, here, k * followers, reached, old[k], top[k], target, alpha, occupancy)
        for k in range(4):
            noted = note(fallen, begin, noted, falls[k], np.int32(goal + k * followers), lanes_before)
        goal = np.int32(goal + 4 * followers)
        row, here, ahead = row + PASS * followers, here + PASS * followers, ahead + PASS * followers
        if noted > FALLEN - 4 * WARP or goal - lane >= n_goals:
            table, maxima = values + np.int64(state) * n_actions * row_bytes, best + state * row_bytes
            look_up(table, maxima, row_bytes, n_actions, fallen, begin, noted, lane)
            noted = np.int32(0)


@cuda.jit(device=True)
def read(address, item):
    """The single-precision number at an address, `item` items further."""
    return array_at(address, (1,), np.float32)[item]


@cuda.jit(device=True)
def look(row, here, ahead, item, inside):
    """A goal's value, its maximum here and its maximum ahead; zeros past the last goal."""
    if inside:
        return read(row, item), read(here, item), read(ahead, item)
    return np.float32(0.0), np.float32(0.0), np.float32(0.0)


@cuda.jit(device=True)
def learn_goal(row, here, item, reached, old, top, target, alpha, occupancy):
    """Update one goal's value, if it changes; returns whether its maximum over actions must be looked up."""
    if reached:
        target = np.float32(1.0) + target if occupancy else np.float32(1.0)
    new = old + alpha * (target - old)
    if new != old:
        array_at(row, (1,), np.float32)[item] = new
    if new > top:
        array_at(here, (1,), np.float32)[item] = new
    return old == top and new < old


@cuda.jit(device=True)
def note(fallen, begin, noted, falls, goal, lanes_before):
    """Add the goals of the lanes whose maximum decreased; returns the number of noted goals."""
    votes = np.uint32(cuda.ballot_sync(EVERYONE, falls))
    if falls:
        fallen[np.int32(begin + noted + cuda.popc(np.uint32(votes & lanes_before)))] = goal
    return np.int32(noted + cuda.popc(votes))


@cuda.jit(device=True)
def look_up(table, maxima, row_bytes, n_actions, fallen, begin, noted, lane):
    """max over actions of Ŝ_g(s,·) for the noted goals, eight actions at a time."""
    cuda.syncwarp(EVERYONE)
    actions = cuda.local.array(8, np.float32)
    i = np.int32(lane)
    while i < noted:
        goal = fallen[begin + i]
        place, left = table + np.int64(goal) * SINGLE, np.int32(n_actions)
        most = np.float32(-1.0)  # less than any successor value
        while left > 0:
            for k in range(8):
                actions[k] = read_if(place + k * row_bytes, left > k)
            for k in range(8):
                most = max(most, actions[k])
            place, left = place + 8 * row_bytes, np.int32(left - 8)
        array_at(maxima, (1,), np.float32)[goal] = most
        i = np.int32(i + WARP)
    cuda.syncwarp(EVERYONE)


@cuda.jit(device=True)
def read_if(address, there):
    """The single-precision number at an address, or -1."""
    return read(address, 0) if there else np.float32(-1.0)
