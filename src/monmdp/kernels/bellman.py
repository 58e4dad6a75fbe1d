"""Bellman backups over sparse successor rows.

A model is a list of rows in compressed sparse row (CSR) format, usually one row per pair (state, action). Entries
offsets[row] … offsets[row + 1] - 1 of `weight` and `next_state` are the probabilities and indices of the row's
successors. Outcomes that end the episode have no entry, since no value follows them: the weights of a row sum to
the probability that the episode continues. Rewards and the discount are not part of a row:

    Q(row) = reward[row] + discount * backup(offsets, weight, next_state, values, row)
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

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
def value_iteration(rows, reward, discount, tolerance, q, values):
    """Iterate V(s) = max_a r(s,a) + γ Σ P(s'|s,a) V(s') in place until q [S, A] is accurate to `tolerance`.

    rows = (offsets, weight, next_state) and reward [S * A] by pair; `tolerance` is relative to the largest value.
    values [S] is the starting point and ends as the maximum of q over actions.
    """
    offsets, weight, next_state = rows
    n_states, n_actions = q.shape
    while True:
        change, size = 0.0, 1.0
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
            return
