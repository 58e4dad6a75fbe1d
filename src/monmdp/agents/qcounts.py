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
from monmdp.agents.base import AGENTS
from monmdp.agents.choices import choose, choose_any, explores, smallest
from monmdp.agents.q_learning import QLearner, extended_memory, update_q_learner
from monmdp.agents.schedules import Schedule, schedule
from monmdp.agents.ucb import confidence_bounds
from monmdp.kernels.compile import inlined
from monmdp.problem import Floats
from monmdp.world import World

#: QMemory with count values C [S, A], their learning rate and discount, and scratch space for bounds [A].
QCountsMemory: Any = extended_memory(
    __name__, "QCountsMemory", count_values=Floats, count_alpha=Floats, count_discount=float, bounds=Floats
)


@inlined
def act_qcounts(memory, state, draws):
    """A random action with probability ε, else the one with the largest bound on count values."""
    if explores(memory.epsilon, draws):
        return choose_any(memory.q.shape[1], draws), True
    scale, total = 1.0 - memory.count_discount, 0.0
    for action in range(memory.q.shape[1]):
        total += scale * memory.count_values[state, action]
    log_total = math.log(total) if total > 0.0 else -np.inf
    confidence_bounds(memory.q[state], memory.count_values[state], scale, log_total, memory.bounds)
    return choose(memory.bounds, draws), False


@inlined
def update_qcounts(memory, transition):
    """Q-learning, and the same for count values with the minimum ahead."""
    update_q_learner(memory, transition)
    state, action = transition.state, transition.action
    count = memory.visits[state * memory.q.shape[1] + action]
    if transition.terminated:
        target = count / (1.0 - memory.count_discount)
    else:
        target = count + memory.count_discount * smallest(memory.count_values[transition.next_state])
    error = target - memory.count_values[state, action]
    memory.count_values[state, action] += memory.count_alpha[transition.step] * error


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class QCounts(QLearner):
    """Upper confidence bounds on count values, so that distant novelty attracts too.

    count_alpha, count_discount: learning rate and discount of the count values; by default those of Q.
    """

    count_alpha: Schedule | None = None
    count_discount: check.Discount | None = None

    act = act_qcounts
    update = update_qcounts
    device_kernel = "warp"

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
