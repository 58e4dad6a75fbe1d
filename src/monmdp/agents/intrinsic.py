"""Intrinsic: a bonus for rarely visited pairs.

target = R̂ + rM + bonus / √N(s,a) + γ max Q(s′,·)
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from monmdp.agents.base import AGENTS
from monmdp.agents.q_learning import QLearner, extended_memory, learn_q, learn_reward
from monmdp.kernels.compile import inlined
from monmdp.world import World

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
