"""The plain twin of each compiled agent, by name."""

from __future__ import annotations

from typing import Any

from monmdp.problem import MonMDP
from reference.base import PlainAgent, PlainQLearner
from reference.directed_model import PlainDirectedModel
from reference.mbie import PlainMBIE
from reference.paper import PlainDirected, PlainIntrinsic, PlainQCounts, PlainUCB
from reference.unseen import PlainIgnore, PlainJoint, PlainOracle, PlainSequential, PlainZeroReward

PLAIN_AGENTS: dict[str, type[PlainAgent]] = {
    "Directed": PlainDirected,
    "Optimism": PlainQLearner,
    "UCB": PlainUCB,
    "QCounts": PlainQCounts,
    "Intrinsic": PlainIntrinsic,
    "Naive": PlainQLearner,
    "Oracle": PlainOracle,
    "ZeroReward": PlainZeroReward,
    "Ignore": PlainIgnore,
    "RewardModel": PlainQLearner,
    "Joint": PlainJoint,
    "Sequential": PlainSequential,
    "MonitoredMBIE": PlainMBIE,
    "DirectedModel": PlainDirectedModel,
}


def plain_agent(options: Any, problem: MonMDP, steps: int, seed: int) -> PlainAgent:
    """The plain twin of an agent whose defaults are resolved."""
    return PLAIN_AGENTS[type(options).__name__](options, problem, steps, seed)
