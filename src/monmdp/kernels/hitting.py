"""Expected hitting times in episodes that restart at a step limit.

Within an episode every hitting time is steps + (1 - hit) · fresh, where `steps` counts until the goal or the
restart, `hit` is the probability of the goal before the restart, and `fresh` is the hitting time from a new start.
So fresh = steps(start) / hit(start), and no linear system has to be solved.

Both kernels go backward through an episode and return the largest hitting time over visited [H, S], the states in
which the agent can act at each step. `rows` are successor rows (see `bellman`); steps [2, S] and hit [2, S] are
scratch space, whose rows 0 end as the values of the first step.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from monmdp.kernels.bellman import backup
from monmdp.kernels.compile import kernel


@kernel
def policy_sweep(rows, visited, goal_pair, policy, fresh, steps, hit):
    """Hitting times until policy [S, A] takes the goal pair; the step that takes it counts."""
    offsets, weight, next_state = rows
    n_states, n_actions = policy.shape
    worst = 0.0
    steps[:] = 0.0
    hit[:] = 0.0
    for t in range(len(visited) - 1, -1, -1):
        now, later_steps, later_hit = t % 2, steps[(t + 1) % 2], hit[(t + 1) % 2]
        for s in range(n_states):
            if not visited[t, s]:
                continue
            until, chance = 1.0, 0.0
            for a in range(n_actions):
                pair = s * n_actions + a
                if pair == goal_pair:
                    chance += policy[s, a]
                elif policy[s, a] > 0.0:
                    until += policy[s, a] * backup(offsets, weight, next_state, later_steps, pair)
                    chance += policy[s, a] * backup(offsets, weight, next_state, later_hit, pair)
            steps[now, s], hit[now, s] = until, chance
            worst = max(worst, until + (1.0 - chance) * fresh)
    return worst


@kernel
def fastest_sweep(rows, visited, goal_state, n_actions, fresh, steps, hit):
    """Hitting times until the goal state is entered, with the best actions for the given `fresh`."""
    offsets, weight, next_state = rows
    worst = 0.0
    steps[:] = 0.0
    hit[:] = 0.0
    for t in range(len(visited) - 1, -1, -1):
        now, later_steps, later_hit = t % 2, steps[(t + 1) % 2], hit[(t + 1) % 2]
        for s in range(visited.shape[1]):
            if not visited[t, s]:
                continue
            if s == goal_state:
                steps[now, s], hit[now, s] = 0.0, 1.0
                continue
            best_steps, best_hit, best = 0.0, 0.0, np.inf
            for a in range(n_actions):
                pair = s * n_actions + a
                until = 1.0 + backup(offsets, weight, next_state, later_steps, pair)
                chance = backup(offsets, weight, next_state, later_hit, pair)
                if fresh == np.inf:  # the probability decides; equal probabilities are decided by time
                    better = chance > best_hit or (chance == best_hit and until < best_steps) or a == 0
                else:
                    better = until + (1.0 - chance) * fresh < best
                if better:
                    best_steps, best_hit, best = until, chance, until + (1.0 - chance) * fresh
            steps[now, s], hit[now, s] = best_steps, best_hit
            worst = max(worst, best_steps + (1.0 - best_hit) * fresh)
    return worst
