"""Reinforcement learning when rewards cannot always be seen: Monitored MDPs as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monmdp.environments import ENVIRONMENTS, Environment, Grid, Rule, Step, from_gymnasium
from monmdp.errors import MonMDPError
from monmdp.gym.registration import register_all
from monmdp.hitting import diameter, goal_relative_diameter
from monmdp.join import join, make
from monmdp.model import MonMDP
from monmdp.monitors import MONITORS, Moment, Monitor, Outcome
from monmdp.solve import Solution, greedy_policy, policy_return, solve

if TYPE_CHECKING:
    from monmdp.gym import FlattenDiscrete, MonitoredEnv, MonitoredVectorEnv

__version__ = "0.1.0"

__all__ = [
    "ENVIRONMENTS",
    "MONITORS",
    "Environment",
    "FlattenDiscrete",
    "Grid",
    "Moment",
    "MonMDP",
    "MonMDPError",
    "Monitor",
    "MonitoredEnv",
    "MonitoredVectorEnv",
    "Outcome",
    "Rule",
    "Solution",
    "Step",
    "diameter",
    "from_gymnasium",
    "goal_relative_diameter",
    "greedy_policy",
    "join",
    "make",
    "policy_return",
    "solve",
]

register_all()


def __getattr__(name: str) -> Any:
    """The Gymnasium classes are imported on first use."""
    if name in ("FlattenDiscrete", "MonitoredEnv", "MonitoredVectorEnv"):
        import monmdp.gym

        return getattr(monmdp.gym, name)
    raise AttributeError(f"module 'monmdp' has no attribute {name!r}")
