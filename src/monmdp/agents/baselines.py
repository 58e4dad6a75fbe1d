"""The baselines of the paper: five ways to explore with Q-learning.

Optimism:   a = argmax_a Q(s,a) from optimistic initial values
Naive:      the same, with a random action with probability ε; so do the following
Intrinsic:  target = R̂ + rM + bonus / √N(s,a) + γ max Q(s′,·)
UCB:        a = argmax_a Q(s,a) + √(2 log Σ_b N(s,b) / N(s,a))
QCounts:    UCB with n = (1 − γ) C in place of N, where counts are propagated like values:
            C(s,a) += α (N(s,a) + γ min C(s′,·) − C(s,a)), target N(s,a) / (1 − γ) on termination
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from monmdp.agents.base import AGENTS
from monmdp.agents.choices import choose, choose_any, explores, smallest
from monmdp.agents.q_learning import QLearner, extended_memory, learn_q, learn_reward, update_q_learner
from monmdp.agents.schedules import TABULATED, Schedule, log_of, logarithms, schedule, value_at
from monmdp.check import Discount
from monmdp.kernels.compile import inlined, kernel
from monmdp.problem import Floats
from monmdp.world import World


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Naive(QLearner):
    """ε-greedy Q-learning from optimistic values."""


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Optimism(Naive):
    """Greedy Q-learning from optimistic values: unknown actions look best, so they are tried."""

    epsilon: Schedule = 0.0


#: QMemory with the size of the bonus.
IntrinsicMemory: Any = extended_memory(__name__, "IntrinsicMemory", bonus=float)


@inlined
def update_with_bonus(memory, transition):
    """Q-learning on the reward plus bonus / √N(s,a)."""
    count = memory.visits[transition.state * memory.q.shape[1] + transition.action]
    reward = learn_reward(memory, transition.env_pair, transition.proxy_reward) + transition.monitor_reward
    learn_q(memory, transition, reward + memory.bonus / math.sqrt(count))


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Intrinsic(QLearner):
    """ε-greedy Q-learning with an intrinsic reward for novelty.

    bonus: the intrinsic reward of a first visit.
    """

    bonus: float = 0.01

    update = update_with_bonus
    device_kernel = "warp"

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return IntrinsicMemory(*self.common(world, steps, seed), float(self.bonus))


#: QMemory with a table of logarithms, and scratch space for bounds [A].
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
    confidence_bounds(memory.q[state], counts, 1.0, log_of(memory.logs, total), memory.bounds)
    return choose(memory.bounds, draws), False


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class UCB(QLearner):
    """Upper confidence bounds on visit counts."""

    act = act_ucb
    device_kernel = "warp"

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return UCBMemory(
            *self.common(world, steps, seed), logarithms(min(steps + 2, TABULATED)), np.zeros(world.n_actions)
        )


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
    memory.count_values[state, action] += value_at(memory.count_alpha, transition.step) * error


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class QCounts(QLearner):
    """Upper confidence bounds on count values, so that distant novelty attracts too.

    count_alpha, count_discount: learning rate and discount of the count values; by default those of Q.
    """

    count_alpha: Schedule | None = None
    count_discount: Discount | None = None

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
