"""Compiled dynamic programming on flat outcome arrays; shapes as in `model`."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from monmdp.kernels.compile import kernel


@kernel
def backup(offsets, probability, next_state, reward, terminated, discount, v, pair):
    """Expected reward of a pair plus the discounted value v [S] of what follows."""
    value = 0.0
    for o in range(offsets[pair], offsets[pair + 1]):
        after = 0.0 if terminated[o] else discount * v[next_state[o]]
        value += probability[o] * (reward[o] + after)
    return value


@kernel
def value_iteration(offsets, probability, next_state, reward, terminated, discount, tolerance, q, v):
    """Bellman's optimality backups in place until v [S] is within `tolerance` of the optimum; q [S, A] follows v.

    Returns the number of sweeps.
    """
    n_states, n_actions = q.shape
    sweeps = 0
    while True:
        change, size = 0.0, 1.0
        for s in range(n_states):
            best = -np.inf
            for a in range(n_actions):
                q[s, a] = backup(offsets, probability, next_state, reward, terminated, discount, v, s * n_actions + a)
                best = max(best, q[s, a])
            change = max(change, abs(best - v[s]))
            size = max(size, abs(best))
            v[s] = best
        sweeps += 1
        if change * discount <= tolerance * size * (1.0 - discount):
            break
    for s in range(n_states):
        for a in range(n_actions):
            q[s, a] = backup(offsets, probability, next_state, reward, terminated, discount, v, s * n_actions + a)
    return sweeps


@kernel
def expected_return(
    offsets,
    probability,
    next_state,
    reward,
    terminated,
    start,
    policy,
    discount,
    horizon,
    negligible,
    mass,
    coming,
    active,
):
    """Expected discounted return of policy [S, A] from start [S] within `horizon` steps.

    Pushes the state distribution forward and touches only states that the policy reaches; stops early when
    what is left, discounted, weighs less than `negligible`. mass [S] and coming [S] must be zero and are
    left so; active [2, S] is scratch space.
    """
    n_states, n_actions = policy.shape
    now, count = 0, 0
    for s in range(n_states):
        if start[s] > 0.0:
            mass[s] = start[s]
            active[0, count] = s
            count += 1
    total, weight, step = 0.0, 1.0, 0
    while count > 0 and step < horizon:
        later, left = 0, 0.0
        for i in range(count):
            s = active[now, i]
            here = mass[s]
            mass[s] = 0.0
            for a in range(n_actions):
                chance = here * policy[s, a]
                if chance == 0.0:
                    continue
                for o in range(offsets[s * n_actions + a], offsets[s * n_actions + a + 1]):
                    moved = chance * probability[o]
                    total += weight * moved * reward[o]
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
        if weight * left < negligible:
            break
    for i in range(count):
        mass[active[now, i]] = 0.0
    return total
