"""Optimism and Naive: greedy on Q, the latter with probability ε at random.

a = argmax_a Q(s,a)
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monmdp.agents.base import AGENTS, QLearner, Schedule, update_q_learner
from monmdp.kernels.compile import inlined
from monmdp.kernels.random import uniform
from monmdp.training.evaluation import choose_best
from monmdp.world import World


@inlined
def wanders(memory, step, key):
    """Whether this step takes a random action, with probability ε."""
    return memory.epsilon[step] > 0.0 and uniform(key, 2 * step) < memory.epsilon[step]


@inlined
def act_epsilon_greedy(memory, state, step, key):
    """A random action with probability ε, else greedy on Q."""
    if wanders(memory, step, key):
        return int(uniform(key, 2 * step + 1) * memory.q.shape[1]), True
    return choose_best(memory.q[state], key, 2 * step + 1), False


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Naive(QLearner):
    """ε-greedy Q-learning from optimistic values."""

    act = act_epsilon_greedy
    update = update_q_learner

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return self.common(world, steps, seed)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Optimism(Naive):
    """Greedy Q-learning from optimistic values: what is unknown looks good, so go there."""

    epsilon: Schedule = 0.0
