"""Intrinsic: seldom visited pairs pay a bonus.

target = R̂ + rM + 0.01 / √N(s,a) + γ max Q(s′,·)
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from monmdp.agents.base import AGENTS, QLearner, extended_memory, learn_q, learn_reward
from monmdp.agents.greedy import act_epsilon_greedy
from monmdp.kernels.compile import inlined
from monmdp.world import World

#: QMemory with the size of the bonus.
IntrinsicMemory: Any = extended_memory(
    __name__,
    "IntrinsicMemory",
    bonus=float,
)


@inlined
def update_with_bonus(memory, state, action, env_pair, next_state, terminated, proxy_reward, monitor_reward, step):
    """Q-learning on the reward plus bonus / √N(s,a)."""
    count = memory.visits[state * memory.q.shape[1] + action]
    reward = learn_reward(memory, env_pair, proxy_reward) + monitor_reward + memory.bonus / math.sqrt(count)
    learn_q(memory, state, action, next_state, terminated, reward, step)


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Intrinsic(QLearner):
    """ε-greedy Q-learning with an intrinsic reward for novelty.

    bonus: the intrinsic reward of a first visit.
    """

    bonus: float = 0.01

    act = act_epsilon_greedy
    update = update_with_bonus

    def memory(self, world: World, steps: int, seed: int) -> Any:
        return IntrinsicMemory(*self.common(world, steps, seed), float(self.bonus))
