"""Optimism and Naive: Q-learning from optimistic initial values.

a = argmax_a Q(s,a); Naive takes a random action with probability ε
"""

from __future__ import annotations

from dataclasses import dataclass

from monmdp.agents.base import AGENTS
from monmdp.agents.q_learning import QLearner
from monmdp.agents.schedules import Schedule


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Naive(QLearner):
    """ε-greedy Q-learning from optimistic values."""


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Optimism(Naive):
    """Greedy Q-learning from optimistic values: unknown actions look best, so they are tried."""

    epsilon: Schedule = 0.0
