"""Directed on a device: one warp leads the run, the other warps of the block update all goals of a row at once.

The same equations as `agents/directed.py`. The leader chooses, steps and learns Q; while it does what needs no
successor values, the others work. There are two barriers per step: "rows are written" and "the next row is known".
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from monmdp.agents import q_learning
from monmdp.agents.base import Transition
from monmdp.agents.choices import Draws, choose_any, explores
from monmdp.agents.directed import find_goal
from monmdp.cuda.warps import (
    EVERYONE,
    WARP,
    adapted,
    address_of,
    array_at,
    choose_best,
    largest_of_lanes,
    pick_tied,
)  # fmt: skip
from monmdp.kernels.stepping import draw_observed, draw_outcome, draw_reward, draw_start
from monmdp.training.loop import LISTEN_EVERY, Cursor
from monmdp.training.metrics import count_step

update_q_learner = adapted(q_learning.update_q_learner)

#: The leader's message to the others: the pair whose row is learned, its state, the next one, whether it terminated.
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
    leading = adapted(_lead, noisy, sees_everything=sees_everything)
    following = adapted(_follow, learn_row=adapted(_learn_row, followers=n))
    return adapted(_advance, lead=leading, follow=following, room=n // WARP * FALLEN)


#: Placeholders in the bodies below: kernels, the number of threads that follow, and of goals that they may note.
lead: Any = None
follow: Any = None
learn_row: Any = None
followers = WARP
room = FALLEN
sees_everything = False


def _advance(world, memory, keys, cursor, tally, until, progress, stop):
    message = cuda.shared.array(4, np.int32)
    fallen = cuda.shared.array(room, np.int32)
    if cuda.threadIdx.x < WARP:
        return lead(world, memory, keys, cursor, tally, until, progress, stop, message, cuda.threadIdx.x)
    return follow(memory, cursor, tally, until, message, fallen, cuda.threadIdx.x - WARP)


def _lead(world, memory, keys, cursor, tally, until, progress, stop, message, lane):
    """Act, step, observe and learn Q; all lanes know everything, the first one writes the message."""
    state, step, episode, elapsed = cursor.state, cursor.step, cursor.episode, cursor.elapsed
    n_actions = memory.q.shape[1]
    cuda.syncwarp(EVERYONE)
    while step < until:
        if step % LISTEN_EVERY == 0:
            progress[0] = step
            if cuda.any_sync(EVERYONE, stop[0] != 0):
                message[PAIR] = STOPPED
                cuda.syncthreads()
                break
        draws = Draws(keys.agent, step)
        action, exploring, goal = choose_early(memory, state, draws, lane)
        cuda.syncthreads()  # rows are written
        if action == TOWARD_GOAL:
            action = choose_toward(memory, state * n_actions, goal, draws, lane)
        pair = state * n_actions + action
        outcome = draw_outcome(world, pair, keys.world, step)
        next_state, terminated = world.next_state[outcome], world.terminated[outcome]
        if lane == 0:
            message[PAIR], message[STATE], message[NEXT] = pair, state, next_state
            message[ENDED] = 1 if terminated else 0
        cuda.syncthreads()  # the next row is known
        observed = draw_observed(world, outcome, keys.observe, step)
        proxy_reward = np.nan
        if observed or sees_everything:
            proxy_reward = draw_reward(world, outcome, keys.noise, step)
        visits = memory.visits[pair] + 1
        cuda.syncwarp(EVERYONE)
        memory.visits[pair] = visits
        transition = Transition(
            step, state, action, world.env_pair[pair], next_state, terminated,
            proxy_reward, world.monitor_reward[outcome],
        )  # fmt: skip
        tally = count_step(tally, transition, observed, visits == 1, exploring)
        update_q_learner(memory, transition)
        cuda.syncwarp(EVERYONE)
        step += 1
        elapsed += 1
        state = np.int64(next_state)
        if terminated or elapsed == world.step_limit:
            state = draw_start(world.start_states, world.start_cumulative, keys.start, episode)
            episode += 1
            elapsed = 0
    cuda.syncthreads()  # rows are written or, if the run was stopped, the message is known
    return Cursor(state, step, episode, elapsed), tally


@cuda.jit(device=True)
def choose_early(memory, state, draws, lane):
    """Action, whether it explores, and the goal, as far as they need no successor values; as `act_directed`."""
    goal = np.int64(0)
    if lane == 0:
        goal = find_goal(memory.visits, memory.n_goals, memory.goal, memory.goal_visits)
    goal = cuda.shfl_sync(EVERYONE, goal, 0)
    count = memory.visits[goal]
    beta = memory.logs[draws.step + 2] / count if count > 0 else math.inf
    n_actions = memory.q.shape[1]
    action, exploring = np.int64(TOWARD_GOAL), True
    if not beta > memory.beta_bar:
        action, exploring = np.int64(choose_best(memory.q[state], draws.key, 2 * draws.step + 1)), False
    elif explores(memory.epsilon, draws):
        if memory.balanced_wandering:
            if lane == 0:
                for a in range(n_actions):
                    memory.values[a] = -memory.visits[state * n_actions + a]
            cuda.syncwarp(EVERYONE)
            action = np.int64(choose_best(memory.values, draws.key, 2 * draws.step + 1))
        else:
            action = np.int64(choose_any(n_actions, draws))
    elif memory.random_goal_policy:
        action = np.int64(choose_any(n_actions, draws))
    return action, exploring, goal


@cuda.jit(device=True)
def choose_toward(memory, first, goal, draws, lane):
    """argmax_a Ŝ_goal(s,a), ties broken as `choose_best` does; each lane looks at one action."""
    n_actions = memory.q.shape[1]
    if n_actions > WARP:
        if lane == 0:
            for a in range(n_actions):
                memory.values[a] = memory.successor_values[first + a, goal]
        cuda.syncwarp(EVERYONE)
        return np.int64(choose_best(memory.values, draws.key, 2 * draws.step + 1))
    value = np.float32(-1.0)  # less than any successor value
    if lane < n_actions:
        value = memory.successor_values[first + lane, goal]
    return pick_tied(value == largest_of_lanes(value), draws.key, 2 * draws.step + 1, lane)


def _follow(memory, cursor, tally, until, message, fallen, thread):
    """Learn the rows of the leader's messages; only the step of the returned cursor is valid."""
    step = cursor.step
    cuda.syncthreads()  # rows are written
    while step < until:
        cuda.syncthreads()  # the next row is known
        if message[PAIR] == STOPPED:
            break
        if not memory.random_goal_policy:
            learn_row(
                address_of(memory.successor_values), address_of(memory.successor_best),
                np.int32(memory.successor_values.shape[1]), np.int32(memory.q.shape[1]), message[PAIR], message[STATE],
                message[NEXT], message[ENDED] != 0, memory.successor_alpha[step], memory.successor_discount,
                memory.occupancy, fallen, np.int32(thread),
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
