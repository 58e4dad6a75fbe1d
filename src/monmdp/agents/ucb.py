"""UCB: upper confidence bounds; actions tried less often get a larger bonus.

a = argmax_a Q(s,a) + √(2 log Σ_b N(s,b) / N(s,a)); a random action with probability ε
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp.agents.base import AGENTS
from monmdp.agents.choices import choose, choose_any, explores
from monmdp.agents.q_learning import QLearner, extended_memory
from monmdp.agents.schedules import logarithms
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Floats
from monmdp.world import World

#: QMemory with log n for every possible count n, and scratch space for bounds [A].
UCBMemory: Any = extended_memory(__name__, "UCBMemory", logs=Floats, bounds=Floats)


@kernel
def confidence_bounds(values, counts, scale, log_total, bounds):
    """Upper confidence bounds [A] from values [A] and counts [A] · scale; undefined ones are infinite."""
    top = 2.0 * log_total
    for action in range(len(counts)):
        count = scale * counts[action]
        bounds[action] = values[action] + math.sqrt(top / count) if top >= 0.0 and count > 0.0 else np.inf


@inlined
def act_ucb(memory, state, draws):
    """A random action with probability ε, else the one with the largest upper confidence bound."""
    n_actions = memory.q.shape[1]
    if explores(memory.epsilon, draws):
        return choose_any(n_actions, draws), True
    counts = memory.visits[state * n_actions : (state + 1) * n_actions]
    total = 0
    for action in range(n_actions):
        total += counts[action]
    confidence_bounds(memory.q[state], counts, 1.0, memory.logs[total], memory.bounds)
    return choose(memory.bounds, draws), False


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class UCB(QLearner):
    """Upper confidence bounds on visit counts."""

    act = act_ucb
    device_kernel = "warp"

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return UCBMemory(*self.common(world, steps, seed), logarithms(steps + 2), np.zeros(world.n_actions))
