"""UCB: the less an action was tried, the larger its confidence bonus.

a = argmax_a Q(s,a) + √(2 log Σ_b N(s,b) / N(s,a)), with probability ε at random
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp.agents.base import AGENTS, QLearner, extended_memory, logarithms, update_q_learner
from monmdp.agents.greedy import wanders
from monmdp.kernels.compile import inlined, kernel
from monmdp.kernels.random import uniform
from monmdp.problem import Floats
from monmdp.training.evaluation import choose_best
from monmdp.world import World

#: QMemory with log n for all counts n that can occur, and space for the bounds of a state's actions, [A].
UCBMemory: Any = extended_memory(
    __name__,
    "UCBMemory",
    logs=Floats,
    bounds=Floats,
)


@kernel
def confidence_bounds(values, counts, scale, log_total, bounds):
    """Upper confidence bounds [A] from values [A] and counts [A] · scale; undefined ones are infinite."""
    top = 2.0 * log_total
    for action in range(len(counts)):
        count = scale * counts[action]
        bounds[action] = values[action] + math.sqrt(top / count) if top >= 0.0 and count > 0.0 else np.inf


@inlined
def act_ucb(memory, state, step, key):
    """A random action with probability ε, else the largest upper confidence bound."""
    n_actions = memory.q.shape[1]
    if wanders(memory, step, key):
        return int(uniform(key, 2 * step + 1) * n_actions), True
    counts = memory.visits[state * n_actions : (state + 1) * n_actions]
    total = 0
    for action in range(n_actions):
        total += counts[action]
    confidence_bounds(memory.q[state], counts, 1.0, memory.logs[total], memory.bounds)
    return choose_best(memory.bounds, key, 2 * step + 1), False


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class UCB(QLearner):
    """Upper confidence bounds on visit counts."""

    act = act_ucb
    update = update_q_learner

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return UCBMemory(*self.common(world, steps, seed), logarithms(steps + 2), np.zeros(world.n_actions))
