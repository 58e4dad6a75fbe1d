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
    from monmdp.agents import AGENTS, Agent
    from monmdp.curves import Curves
    from monmdp.experiments.runner import run_sweep
    from monmdp.experiments.store import load
    from monmdp.experiments.summary import mean_curves
    from monmdp.experiments.sweep import Sweep
    from monmdp.gym import FlattenDiscrete, MonitoredEnv, MonitoredVectorEnv
    from monmdp.live import LiveCurves, train_live
    from monmdp.training import train

__version__ = "0.1.0"

#: Imported on first use, since they bring Gymnasium's classes or the compiler with them.
_LAZY = {
    "AGENTS": "monmdp.agents",
    "Agent": "monmdp.agents",
    "Curves": "monmdp.curves",
    "FlattenDiscrete": "monmdp.gym",
    "LiveCurves": "monmdp.live",
    "MonitoredEnv": "monmdp.gym",
    "MonitoredVectorEnv": "monmdp.gym",
    "Sweep": "monmdp.experiments.sweep",
    "load": "monmdp.experiments.store",
    "mean_curves": "monmdp.experiments.summary",
    "run_sweep": "monmdp.experiments.runner",
    "train": "monmdp.training",
    "train_live": "monmdp.live",
}

__all__ = [
    "AGENTS",
    "ENVIRONMENTS",
    "MONITORS",
    "Agent",
    "Curves",
    "Environment",
    "FlattenDiscrete",
    "Grid",
    "LiveCurves",
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
    "Sweep",
    "diameter",
    "from_gymnasium",
    "goal_relative_diameter",
    "greedy_policy",
    "join",
    "load",
    "make",
    "mean_curves",
    "policy_return",
    "run_sweep",
    "solve",
    "train",
    "train_live",
]

register_all()


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'monmdp' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
