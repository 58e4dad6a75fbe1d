"""Directed on a device: a warp leads the run, the other warps of the block update all goals of a row at once.

The same equations as `agents/directed.py`. The leader chooses, steps and learns Q; while it does what needs no
successor values, the others work. Two barriers a step: rows are written, and the next row is known.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import cuda

from monmdp.agents import base
from monmdp.agents.directed import find_goal
from monmdp.agents.greedy import wanders
from monmdp.engine.cuda.together import EVERYONE, WARP, adapted, choose_best, most_of_all, pick_tied
from monmdp.engine.loop import LISTEN_EVERY
from monmdp.engine.random_kernels import uniform
from monmdp.engine.stepping import draw_observed, draw_outcome, draw_reward, draw_start
from monmdp.model import Dynamics

update_q_learner = adapted(base.update_q_learner)

#: What the leader tells the others: the pair whose row is learned, its state, the next one, whether it ended.
PAIR, STATE, NEXT, ENDED = 0, 1, 2, 3
#: In place of a pair: the run was told to stop.
STOPPED = -1
#: In place of an action: the successor values decide.
TOWARD_GOAL = -1


@cache
def advance_together(noisy: bool) -> Any:
    """As the CPU's `_advance`, by all threads of a block; the first warp leads. noisy: rewards may have noise."""
    return adapted(_advance, lead=adapted(_lead, noisy))


#: Stand-in in the body below.
lead: Any = None


def _advance(world, memory, keys, cursor, until, progress, stop):
    told = cuda.shared.array(4, np.int32)
    if cuda.threadIdx.x < WARP:
        return lead(world, memory, keys, cursor, until, progress, stop, told, cuda.threadIdx.x)
    return follow(memory, cursor[1], until, told, cuda.threadIdx.x - WARP, cuda.blockDim.x - WARP)


def _lead(world, memory, keys, cursor, until, progress, stop, told, lane):
    """Act, step, observe and learn Q; all lanes know everything, the first one writes."""
    start_key, world_key, observe_key, noise_key, agent_key = keys[0], keys[1], keys[2], keys[3], keys[4]
    state, step, episode, elapsed = cursor[0], cursor[1], cursor[2], cursor[3]
    observed_rewards, distinct, exploring_steps = cursor[4], cursor[5], cursor[6]
    n_actions = memory.q.shape[1]
    dynamics = Dynamics(
        world.offsets, world.cumulative, world.next_state, world.env_reward, world.reward_noise,
        world.monitor_reward, world.observe_probability, world.terminated,
    )  # fmt: skip
    cuda.syncwarp(EVERYONE)
    while step < until:
        if step % LISTEN_EVERY == 0:
            progress[0] = step
            if cuda.any_sync(EVERYONE, stop[0] != 0):
                told[PAIR] = STOPPED
                cuda.syncthreads()
                cuda.syncthreads()
                return False
        action, exploring, goal = choose_early(memory, state, step, agent_key, lane)
        cuda.syncthreads()  # rows are written
        if action == TOWARD_GOAL:
            action = choose_toward(memory, state * n_actions, goal, agent_key, step, lane)
        pair = state * n_actions + action
        outcome = draw_outcome(dynamics, pair, world_key, step)
        next_state, terminated = world.next_state[outcome], world.terminated[outcome]
        if lane == 0:
            told[PAIR], told[STATE], told[NEXT] = pair, state, next_state
            told[ENDED] = 1 if terminated else 0
        cuda.syncthreads()  # the next row is known
        proxy_reward = np.nan
        if draw_observed(dynamics, outcome, observe_key, step):
            proxy_reward = draw_reward(dynamics, outcome, noise_key, step)
            observed_rewards += 1
        visits = memory.visits[pair] + 1
        if visits == 1:
            distinct += 1
        if exploring:
            exploring_steps += 1
        cuda.syncwarp(EVERYONE)
        memory.visits[pair] = visits
        update_q_learner(
            memory, state, action, world.env_pair[pair], next_state, terminated,
            proxy_reward, world.monitor_reward[outcome], step,
        )  # fmt: skip
        cuda.syncwarp(EVERYONE)
        step += 1
        elapsed += 1
        state = np.int64(next_state)
        if terminated or elapsed == world.step_limit:
            state = draw_start(world.start_states, world.start_cumulative, start_key, episode)
            episode += 1
            elapsed = 0
    if lane == 0:
        cursor[0], cursor[1], cursor[2], cursor[3] = state, step, episode, elapsed
        cursor[4], cursor[5], cursor[6] = observed_rewards, distinct, exploring_steps
    cuda.syncthreads()
    return True


@cuda.jit(device=True)
def choose_early(memory, state, step, key, lane):
    """Action, whether it explores, and the goal, as far as they need no successor values."""
    goal = np.int64(0)
    if lane == 0:
        goal = find_goal(memory.visits, memory.n_goals, memory.goal)
    goal = cuda.shfl_sync(EVERYONE, goal, 0)
    count = memory.visits[goal]
    beta = memory.logs[step + 2] / count if count > 0 else math.inf
    n_actions = memory.q.shape[1]
    action, exploring = np.int64(TOWARD_GOAL), True
    if not beta > memory.beta_bar:
        action, exploring = np.int64(choose_best(memory.q[state], key, 2 * step + 1)), False
    elif wanders(memory, step, key):
        if memory.balanced_wandering:
            if lane == 0:
                for a in range(n_actions):
                    memory.choices[a] = -memory.visits[state * n_actions + a]
            cuda.syncwarp(EVERYONE)
            action = np.int64(choose_best(memory.choices, key, 2 * step + 1))
        else:
            action = np.int64(uniform(key, 2 * step + 1) * n_actions)
    elif memory.random_goal_policy:
        action = np.int64(uniform(key, 2 * step + 1) * n_actions)
    return action, exploring, goal


@cuda.jit(device=True)
def choose_toward(memory, first, goal, key, step, lane):
    """argmax_a Ŝ_goal(s,a), ties broken as `choose_best` does; a lane looks at an action."""
    n_actions = memory.q.shape[1]
    if n_actions > WARP:
        if lane == 0:
            for a in range(n_actions):
                memory.choices[a] = memory.successor_values[first + a, goal]
        cuda.syncwarp(EVERYONE)
        return np.int64(choose_best(memory.choices, key, 2 * step + 1))
    value = np.float32(-1.0)  # less than any successor value
    if lane < n_actions:
        value = memory.successor_values[first + lane, goal]
    return pick_tied(value == most_of_all(value), key, 2 * step + 1, lane)


@cuda.jit(device=True)
def follow(memory, step, until, told, thread, threads):
    """Learn the rows that the leader tells."""
    cuda.syncthreads()  # rows are written
    while step < until:
        cuda.syncthreads()  # the next row is known
        if told[PAIR] == STOPPED:
            return False
        if not memory.random_goal_policy:
            learn_row(
                memory.successor_values, memory.successor_best, memory.q.shape[1], told[PAIR], told[STATE],
                told[NEXT], told[ENDED] != 0, memory.successor_alpha[step], memory.successor_discount,
                memory.occupancy, thread, threads,
            )  # fmt: skip
        step += 1
        cuda.syncthreads()  # rows are written
    return True


@cuda.jit(device=True)
def learn_row(
    values, best, n_actions, pair, state, next_state, terminated, alpha, discount, occupancy, thread, threads
):
    """As the CPU's `learn_successors`; a thread has every so manieth goal to itself."""
    row, here, ahead = values[pair], best[state], best[next_state]
    discount = np.float32(0.0) if terminated else discount
    first, after = state * n_actions, (state + 1) * n_actions
    g, n = np.int64(thread), len(row)
    while g + 3 * threads < n:  # four at a time: loads do not wait for one another
        g1, g2, g3 = g + threads, g + 2 * threads, g + 3 * threads
        old, old1, old2, old3 = row[g], row[g1], row[g2], row[g3]
        top, top1, top2, top3 = here[g], here[g1], here[g2], here[g3]
        next0, next1, next2, next3 = ahead[g], ahead[g1], ahead[g2], ahead[g3]
        falls = learn_goal(row, here, g, pair, old, top, discount * next0, alpha, occupancy)
        falls1 = learn_goal(row, here, g1, pair, old1, top1, discount * next1, alpha, occupancy)
        falls2 = learn_goal(row, here, g2, pair, old2, top2, discount * next2, alpha, occupancy)
        falls3 = learn_goal(row, here, g3, pair, old3, top3, discount * next3, alpha, occupancy)
        if falls or falls1 or falls2 or falls3:
            most = most1 = most2 = most3 = np.float32(-1.0)
            for other in range(first, after):
                if falls:
                    most = max(most, values[other, g])
                if falls1:
                    most1 = max(most1, values[other, g1])
                if falls2:
                    most2 = max(most2, values[other, g2])
                if falls3:
                    most3 = max(most3, values[other, g3])
            if falls:
                here[g] = most
            if falls1:
                here[g1] = most1
            if falls2:
                here[g2] = most2
            if falls3:
                here[g3] = most3
        g += 4 * threads
    while g < n:
        if learn_goal(row, here, g, pair, row[g], here[g], discount * ahead[g], alpha, occupancy):
            most = np.float32(-1.0)
            for other in range(first, after):
                most = max(most, values[other, g])
            here[g] = most
        g += threads


@cuda.jit(device=True)
def learn_goal(row, here, g, pair, old, top, target, alpha, occupancy):
    """One goal's value; what does not change is not written. True if its maximum over actions must be looked up."""
    if g == pair:
        target = np.float32(1.0) + target if occupancy else np.float32(1.0)
    new = old + alpha * (target - old)
    if new != old:
        row[g] = new
    if new > top:
        here[g] = new
    return old == top and new < old
