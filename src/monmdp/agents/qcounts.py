"""QCounts: UCB on counts that look ahead, propagated like values.

C(s,a) += α (N(s,a) + γ min C(s′,·) − C(s,a)), target N(s,a) / (1 − γ) on termination
a = argmax_a Q(s,a) + √(2 log Σ_b n(s,b) / n(s,a)) with n = (1 − γ) C
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp import check
from monmdp.agents.base import AGENTS, QLearner, Schedule, extended_memory, schedule, smallest, update_q_learner
from monmdp.agents.greedy import wanders
from monmdp.agents.ucb import confidence_bounds
from monmdp.kernels.compile import inlined
from monmdp.kernels.random import uniform
from monmdp.problem import Floats
from monmdp.training.evaluation import choose_best
from monmdp.world import World

#: QMemory with count values C [S, A], their schedule and discount, and space for bounds [A].
QCountsMemory: Any = extended_memory(
    __name__,
    "QCountsMemory",
    count_values=Floats,
    count_alpha=Floats,
    count_discount=float,
    bounds=Floats,
)


@inlined
def act_qcounts(memory, state, step, key):
    """A random action with probability ε, else the largest upper confidence bound on count values."""
    if wanders(memory, step, key):
        return int(uniform(key, 2 * step + 1) * memory.q.shape[1]), True
    scale, total = 1.0 - memory.count_discount, 0.0
    for action in range(memory.q.shape[1]):
        total += scale * memory.count_values[state, action]
    log_total = math.log(total) if total > 0.0 else -np.inf
    confidence_bounds(memory.q[state], memory.count_values[state], scale, log_total, memory.bounds)
    return choose_best(memory.bounds, key, 2 * step + 1), False


@inlined
def update_qcounts(memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step):
    """Q-learning, and the same for count values with the smallest ones ahead."""
    update_q_learner(memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step)
    count = memory.visits[state * memory.q.shape[1] + action]
    if terminated:
        target = count / (1.0 - memory.count_discount)
    else:
        target = count + memory.count_discount * smallest(memory.count_values[next_state])
    memory.count_values[state, action] += memory.count_alpha[step] * (target - memory.count_values[state, action])


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class QCounts(QLearner):
    """Upper confidence bounds on count values, so that novelty far away attracts too.

    count_alpha, count_discount: learning rate and discount of the count values; None takes those of Q.
    """

    count_alpha: Schedule | None = None
    count_discount: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check.discount(self.count_discount, 0.0, "The count discount")

    act = act_qcounts
    update = update_qcounts

    def memory(self, world: World, steps: int, seed: int) -> Any:
        common = self.common(world, steps, seed)
        own_alpha = None if self.count_alpha is None else schedule(self.count_alpha, steps, "The count learning rate")
        return QCountsMemory(
            *common,
            count_values=np.zeros((world.n_states, world.n_actions)),
            count_alpha=common.alpha if own_alpha is None else own_alpha,
            count_discount=world.discount if self.count_discount is None else float(self.count_discount),
            bounds=np.zeros(world.n_actions),
        )
