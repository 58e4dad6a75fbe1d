"""The greedy policy's return: exact, from the model, or sampled, as the paper did it."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monmdp.agents.choices import choose_best
from monmdp.exact.solve import NEGLIGIBLE
from monmdp.kernels.compile import inlined, kernel
from monmdp.kernels.stepping import draw_outcome, draw_start
from monmdp.problem import Floats, Integers
from monmdp.world import World


class Evaluator(NamedTuple):
    """What the last exact evaluation saw, so that the next one need not look again, and scratch space.

    best_actions [S, A] and n_best [S] list the greedy actions of states; reached [S] the states that the
    policy came to, totals = (number of them, evaluations so far); value [1] the last return.
    """

    best_actions: Integers
    n_best: Integers
    seen_in: Integers
    reached: Integers
    totals: Integers
    value: Floats
    mass: Floats
    coming: Floats
    active: Integers


def new_evaluator(world: World) -> Evaluator:
    """An evaluator that has seen nothing yet."""
    n, m = world.n_states, world.n_actions
    return Evaluator(
        best_actions=np.zeros((n, m), np.int32),
        n_best=np.zeros(n, np.int32),
        seen_in=np.zeros(n, np.int64),
        reached=np.zeros(n, np.int64),
        totals=np.zeros(2, np.int64),
        value=np.zeros(1),
        mass=np.zeros(n),
        coming=np.zeros(n),
        active=np.zeros((2, n), np.int64),
    )


@kernel
def note_best_actions(q, state, best_actions, n_best):
    """List the greedy actions of a state, exact ties included; returns whether the list changed."""
    n_actions = q.shape[1]
    best = q[state, 0]
    for action in range(1, n_actions):
        best = max(best, q[state, action])
    count, changed = 0, False
    for action in range(n_actions):
        if q[state, action] == best:
            if count >= n_best[state] or best_actions[state, count] != action:
                changed = True
            best_actions[state, count] = action
            count += 1
    changed = changed or count != n_best[state]
    n_best[state] = count
    return changed


@inlined
def exact_return(world, q, memo):
    """Expected discounted return of the policy greedy on q [S, A] within the step limit, ties shared evenly.

    The state distribution is pushed forward step by step, over the states it reaches. If the greedy actions
    of all states that the last evaluation reached are unchanged, so is the return.
    """
    changed = memo.totals[1] == 0
    for i in range(memo.totals[0]):
        if note_best_actions(q, memo.reached[i], memo.best_actions, memo.n_best):
            changed = True
    if changed:
        memo.totals[1] += 1
        memo.totals[0], memo.value[0] = push_forward(
            world.offsets, world.probability, world.next_state, world.terminated, world.pair_reward,
            world.start_states, world.start_probability, world.discount, world.step_limit, q,
            memo.best_actions, memo.n_best, memo.seen_in, memo.totals[1], memo.reached,
            memo.mass, memo.coming, memo.active,
        )  # fmt: skip
    return memo.value[0]


@kernel
def push_forward(
    offsets, probability, next_state, terminated, pair_reward, start_states, start_probability, discount, step_limit,
    q, best_actions, n_best, seen_in, evaluation, reached, mass, coming, active,
):  # fmt: skip
    """Number of states reached, and the return; see `exact_return`."""
    n_actions = q.shape[1]
    now, count, n_reached = 0, len(start_states), 0
    for i in range(count):
        mass[start_states[i]] = start_probability[i]
        active[0, i] = start_states[i]
    total, weight, step = 0.0, 1.0, 0
    while count > 0 and (step_limit == 0 or step < step_limit):
        later, left = 0, 0.0
        for i in range(count):
            s = active[now, i]
            if seen_in[s] != evaluation:
                seen_in[s] = evaluation
                note_best_actions(q, s, best_actions, n_best)
                reached[n_reached] = s
                n_reached += 1
            share = mass[s] / n_best[s]
            mass[s] = 0.0
            for k in range(n_best[s]):
                pair = s * n_actions + best_actions[s, k]
                total += weight * share * pair_reward[pair]
                for o in range(offsets[pair], offsets[pair + 1]):
                    moved = share * probability[o]
                    if not terminated[o] and moved > 0.0:
                        after = next_state[o]
                        if coming[after] == 0.0:
                            active[1 - now, later] = after
                            later += 1
                        coming[after] += moved
                        left += moved
        for i in range(later):
            s = active[1 - now, i]
            mass[s] = coming[s]
            coming[s] = 0.0
        now, count, step = 1 - now, later, step + 1
        weight *= discount
        if weight * left < NEGLIGIBLE:
            break
    for i in range(count):
        mass[active[now, i]] = 0.0
    return n_reached, total


@inlined
def sampled_return(world, q, episodes, key, clock):
    """Mean discounted return of greedy test episodes; noise has mean zero and is left out. clock [1] counts draws."""
    total = 0.0
    for _ in range(episodes):
        state = draw_start(world.start_states, world.start_cumulative, key, clock[0])
        clock[0] += 1
        weight, step = 1.0, 0
        while (world.step_limit == 0 or step < world.step_limit) and weight > NEGLIGIBLE:
            action = choose_best(q[state], key, clock[0])
            outcome = draw_outcome(world, state * world.n_actions + action, key, clock[0] + 1)
            clock[0] += 2
            total += weight * (world.env_reward[outcome] + world.monitor_reward[outcome])
            weight *= world.discount
            step += 1
            if world.terminated[outcome]:
                break
            state = world.next_state[outcome]
    return total / episodes
