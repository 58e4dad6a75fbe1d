"""Compiled expected hitting times in episodes that restart at a step limit; shapes as in `model`.

Within an episode every hitting time is steps + (1 - hit) · x, where `steps` counts until the goal or the
restart, `hit` is the chance of the goal before the restart, and x is the hitting time from a fresh start.
So x = steps(start) / hit(start), exactly, and no linear system has to be solved.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from monmdp.kernels.compile import kernel


@kernel
def policy_hitting(offsets, probability, next_state, terminated, start, visited, goal_pair, policy, steps, hit):
    """Worst expected number of steps until policy [S, A] takes the goal pair, over visited [H, S].

    steps [2, S] and hit [2, S] are scratch space.
    """
    horizon = visited.shape[0]
    n_states, n_actions = policy.shape
    # Twice the same backward pass: the first finds the time from a fresh start, the second the worst case.
    fresh, worst = 0.0, 0.0
    for last_pass in range(2):
        steps[:] = 0.0
        hit[:] = 0.0
        now = 0
        for t in range(horizon - 1, -1, -1):
            now = 1 - now
            for s in range(n_states):
                if not visited[t, s]:
                    continue
                until, chance = 1.0, 0.0
                for a in range(n_actions):
                    if policy[s, a] == 0.0:
                        continue
                    pair = s * n_actions + a
                    if pair == goal_pair:
                        chance += policy[s, a]
                        continue
                    for o in range(offsets[pair], offsets[pair + 1]):
                        if not terminated[o] and t + 1 < horizon:
                            weight = policy[s, a] * probability[o]
                            until += weight * steps[1 - now, next_state[o]]
                            chance += weight * hit[1 - now, next_state[o]]
                steps[now, s], hit[now, s] = until, chance
                if last_pass == 1:
                    worst = max(worst, until + (1.0 - chance) * fresh)
        if last_pass == 0:
            start_steps, start_hit = 0.0, 0.0
            for s in range(n_states):
                start_steps += start[s] * steps[now, s]
                start_hit += start[s] * hit[now, s]
            if start_hit <= 0.0:
                return np.inf
            fresh = start_steps / start_hit
    return worst


@kernel
def fastest_hitting(offsets, probability, next_state, terminated, start, visited, goal_state, n_actions, steps, hit):
    """Worst over visited [H, S] of the least expected number of steps until the goal state is entered.

    Improves the time x from a fresh start until no action choice shortens it (Newton's method on a concave
    function: a handful of rounds). steps [2, S] and hit [2, S] are scratch space.
    """
    horizon, n_states = visited.shape
    fresh, settled = np.inf, False
    while True:
        worst = 0.0
        steps[:] = 0.0
        hit[:] = 0.0
        now = 0
        for t in range(horizon - 1, -1, -1):
            now = 1 - now
            for s in range(n_states):
                if not visited[t, s]:
                    continue
                if s == goal_state:
                    steps[now, s], hit[now, s] = 0.0, 1.0
                    continue
                best_steps, best_hit, best = 0.0, 0.0, np.inf
                for a in range(n_actions):
                    until, chance = 1.0, 0.0
                    for o in range(offsets[s * n_actions + a], offsets[s * n_actions + a + 1]):
                        if not terminated[o] and t + 1 < horizon:
                            until += probability[o] * steps[1 - now, next_state[o]]
                            chance += probability[o] * hit[1 - now, next_state[o]]
                    if fresh == np.inf:  # at first only the chance counts; equal chances are decided by time
                        better = chance > best_hit or (chance == best_hit and until < best_steps) or a == 0
                    else:
                        better = until + (1.0 - chance) * fresh < best
                    if better:
                        best_steps, best_hit, best = until, chance, until + (1.0 - chance) * fresh
                steps[now, s], hit[now, s] = best_steps, best_hit
                worst = max(worst, best_steps + (1.0 - best_hit) * fresh)
        if settled:
            return worst
        start_steps, start_hit = 0.0, 0.0
        for s in range(n_states):
            start_steps += start[s] * steps[now, s]
            start_hit += start[s] * hit[now, s]
        if start_hit <= 0.0:
            return np.inf
        shorter = start_steps / start_hit
        settled = shorter >= fresh * (1.0 - 1e-13)
        fresh = min(fresh, shorter)
