"""The return of a greedy policy: exact, by pushing the state distribution forward, or sampled, as in the paper.

A model is a `World`, of which only transitions, pair_reward, start distribution, discount and step limit are used.
"""

from typing import Any, NamedTuple

import numpy as np

from monmdp.kernels.compile import inlined, internal, kernel
from monmdp.kernels.random import choose_best
from monmdp.kernels.references import by_reference
from monmdp.kernels.stepping import draw_outcome, draw_start

#: A return is summed until the probability that remains, discounted, is less than this.
NEGLIGIBLE = 1e-14


@by_reference
class Evaluator(NamedTuple):
    """The policy and result of the last evaluation, which are reused if the policy is unchanged, and scratch space.

    reached [S] lists the states that the policy reaches, n_reached [1] of them; best_actions [S, A] and n_best [S]
    list their greedy actions (n_best is 0 for other states). value [1] is the return. mass [2, S] (zero between
    calls) and active [2, S] are scratch space.
    """

    best_actions: Any
    n_best: Any
    reached: Any
    n_reached: Any
    value: Any
    mass: Any
    active: Any


def new_evaluator(model: Any) -> Evaluator:
    """An evaluator for a model, before its first evaluation."""
    n_states = model.n_states
    return Evaluator(
        best_actions=np.zeros((n_states, model.n_actions), np.int32),
        n_best=np.zeros(n_states, np.int32),
        reached=np.zeros(n_states, np.int64),
        n_reached=np.zeros(1, np.int64),
        value=np.zeros(1),
        mass=np.zeros((2, n_states)),
        active=np.zeros((2, n_states), np.int64),
    )


@internal
def list_best_actions(q, state, best_actions, n_best):
    """Store the greedy actions of a state, including exact ties; returns whether they have changed."""
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


@kernel
def exact_return(model, q, memo):
    """Expected discounted return within the step limit of the policy that is greedy on q [S, A], ties shared evenly.

    If the greedy actions of all states that the last evaluation reached are unchanged, so is the return.
    """
    changed = memo.n_reached[0] == 0
    for i in range(memo.n_reached[0]):
        if list_best_actions(q, memo.reached[i], memo.best_actions, memo.n_best):
            changed = True
    if changed:
        memo.value[0] = push_forward(model, q, memo)
    return memo.value[0]


@inlined
def push_forward(model, q, memo):
    """The return of `exact_return`, computed from the start distribution; updates the states reached."""
    best_actions, n_best, reached, mass, active = memo.best_actions, memo.n_best, memo.reached, memo.mass, memo.active
    for i in range(memo.n_reached[0]):
        n_best[reached[i]] = 0
    now, count, n_reached = 0, len(model.start_states), 0
    for i in range(count):
        active[0, i] = model.start_states[i]
        mass[0, active[0, i]] = model.start_probability[i]
    total, weight, step = 0.0, 1.0, 0
    while model.step_limit == 0 or step < model.step_limit:
        later, next_count, remaining = 1 - now, 0, 0.0
        for i in range(count):
            s = active[now, i]
            if n_best[s] == 0:
                list_best_actions(q, s, best_actions, n_best)
                reached[n_reached] = s
                n_reached += 1
            share = mass[now, s] / n_best[s]
            mass[now, s] = 0.0
            for k in range(n_best[s]):
                pair = s * q.shape[1] + best_actions[s, k]
                total += weight * share * model.pair_reward[pair]
                for o in range(model.offsets[pair], model.offsets[pair + 1]):
                    moved = share * model.probability[o]
                    if not model.terminated[o] and moved > 0.0:
                        after = model.next_state[o]
                        if mass[later, after] == 0.0:
                            active[later, next_count] = after
                            next_count += 1
                        mass[later, after] += moved
                        remaining += moved
        now, count, step = later, next_count, step + 1
        weight *= model.discount
        if weight * remaining < NEGLIGIBLE:
            break
    for i in range(count):
        mass[now, active[now, i]] = 0.0
    memo.n_reached[0] = n_reached
    return total


@inlined
def sampled_return(world, q, episodes, key, clock):
    """Mean discounted return of greedy test episodes, without reward noise (mean zero).

    clock is the number of draws so far; also returns the number after these episodes.
    """
    total = 0.0
    for _ in range(episodes):
        state = draw_start(world.start_states, world.start_cumulative, key, clock)
        clock += 1
        weight, step = 1.0, 0
        while (world.step_limit == 0 or step < world.step_limit) and weight > NEGLIGIBLE:
            action = choose_best(q[state], key, clock)
            outcome = draw_outcome(world, state * world.n_actions + action, key, clock + 1)
            clock += 2
            total += weight * (world.env_reward[outcome] + world.monitor_reward[outcome])
            weight *= world.discount
            step += 1
            if world.terminated[outcome]:
                break
            state = world.next_state[outcome]
    return total / episodes, clock
