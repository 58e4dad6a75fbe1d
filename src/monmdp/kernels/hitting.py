"""Expected hitting times in episodes that restart at a step limit.

Within an episode every hitting time is steps + (1 - hit) · fresh, where `steps` counts until the goal or the
restart, `hit` is the probability of the goal before the restart, and `fresh` is the hitting time from a new start.
So fresh = steps(start) / hit(start), and no linear system has to be solved.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from monmdp.kernels.bellman import backup
from monmdp.kernels.compile import kernel


@kernel
def hitting_sweep(search, visited, fresh, steps, hit):
    """Go backward through an episode with the best choices for the given `fresh`; returns the largest hitting time.

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
