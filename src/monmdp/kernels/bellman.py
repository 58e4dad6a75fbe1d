"""Bellman backups over sparse successor rows, for values and for hitting times.

A model is a list of rows in compressed sparse row (CSR) format, usually one row per pair (state, action). Entries
offsets[row] … offsets[row + 1] - 1 of `weight` and `next_state` are the probabilities and indices of the row's
successors. Outcomes that end the episode have no entry, since no value follows them: the weights of a row sum to
the probability that the episode continues. Rewards and the discount are not part of a row:

    Q(row) = reward[row] + discount * backup(offsets, weight, next_state, values, row)
"""

import numpy as np

from monmdp.kernels.compile import inlined, kernel


@inlined
def backup(offsets, weight, next_state, values, row):
    """Σ weight · values[next_state] over the successors of a row, for values [S]."""
    total = 0.0
    for entry in range(offsets[row], offsets[row + 1]):
        total += weight[entry] * values[next_state[entry]]
    return total


@kernel
def value_iteration(rows, reward, discount, limits, q, values):
    """Iterate V(s) = max_a r(s,a) + γ Σ P(s'|s,a) V(s') in place; returns whether q [S, A] is accurate to `tolerance`.

    rows = (offsets, weight, next_state) and reward [S * A] by pair. limits = (tolerance, scale, sweeps): `tolerance` is
    relative to the largest value, or to `scale` if that is larger, and `sweeps` is the largest number of iterations.
    values [S] is the starting point and ends as the maximum of q over actions.
    """
    offsets, weight, next_state = rows
    tolerance, scale, sweeps = limits
    n_states, n_actions = q.shape
    for _ in range(sweeps):
        change, size = 0.0, scale
        for s in range(n_states):
            best = -np.inf
            for a in range(n_actions):
                pair = s * n_actions + a
                q[s, a] = reward[pair] + discount * backup(offsets, weight, next_state, values, pair)
                best = max(best, q[s, a])
            change = max(change, abs(best - values[s]))
            size = max(size, abs(best))
            values[s] = best
        if change * discount <= tolerance * size * (1.0 - discount):
            return True
    return False


@kernel
def hitting_sweep(search, visited, fresh, steps, hit):
    """Go backward through an episode with the best choices for the given `fresh`; returns the largest hitting time.

    Every hitting time is steps + (1 - hit) · fresh, where `steps` counts until the goal or the restart at the step
    limit, `hit` is the probability of the goal before the restart, and `fresh` is the hitting time from a new start.
    So fresh = steps(start) / hit(start), and no linear system has to be solved.
    search: the fields of `exact.hitting.Search`. visited [H, S]: the states in which the agent can act at each step.
    steps [2, S] and hit [2, S] are scratch space, whose rows 0 end as the values of the first step.
    """
    offsets, weight, next_state, row_cost, row_hit = search
    horizon, n_states = visited.shape
    n_choices = len(row_cost) // n_states
    worst = 0.0
    steps[:] = 0.0
    hit[:] = 0.0
    for t in range(horizon - 1, -1, -1):
        now, later_steps, later_hit = t % 2, steps[(t + 1) % 2], hit[(t + 1) % 2]
        for s in range(n_states):
            if not visited[t, s]:
                continue
            best_steps, best_hit = np.inf, -1.0
            for row in range(s * n_choices, (s + 1) * n_choices):
                until = row_cost[row] + backup(offsets, weight, next_state, later_steps, row)
                chance = row_hit[row] + backup(offsets, weight, next_state, later_hit, row)
                if fresh == np.inf:  # the probability decides; equal probabilities are decided by time
                    better = chance > best_hit or (chance == best_hit and until < best_steps)
                else:
                    better = until + (1.0 - chance) * fresh < best_steps + (1.0 - best_hit) * fresh
                if better:
                    best_steps, best_hit = until, chance
            steps[now, s], hit[now, s] = best_steps, best_hit
            worst = max(worst, best_steps + (1.0 - best_hit) * fresh)
    return worst
