"""Agents: one file per idea, each opening with the equation it implements."""

from monmdp.agents.base import AGENTS, Agent
from monmdp.agents.baselines import UCB, Intrinsic, Naive, Optimism, QCounts
from monmdp.agents.directed import Directed
from monmdp.agents.directed_model import DirectedModel
from monmdp.agents.mbie import MonitoredMBIE
from monmdp.agents.q_learning import QLearner
from monmdp.agents.unobserved import Ignore, Joint, Oracle, RewardModel, Sequential, ZeroReward

__all__ = [
    "AGENTS", "UCB", "Agent", "Directed", "DirectedModel", "Ignore", "Intrinsic", "Joint", "MonitoredMBIE", "Naive",
    "Optimism", "Oracle", "QCounts", "QLearner", "RewardModel", "Sequential", "ZeroReward",
]  # fmt: skip
