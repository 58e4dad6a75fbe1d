"""Reinforcement learning when rewards cannot always be seen: Monitored MDPs as data."""

from typing import TYPE_CHECKING, Any

from monmdp.environments import ENVIRONMENTS, Environment, Grid, Rule, Step, from_gymnasium
from monmdp.errors import MonMDPError
from monmdp.exact.hitting import diameter, goal_relative_diameter
from monmdp.exact.solve import Solution, greedy_policy, policy_return, solve
from monmdp.gym.registration import register_all
from monmdp.join import join, make
from monmdp.monitors import MONITORS, Moment, Monitor, Outcome
from monmdp.problem import MonMDP
from monmdp.registry import grid

if TYPE_CHECKING:
    from monmdp.agents import AGENTS, Agent
    from monmdp.deep.policy import Policy, load_policy
    from monmdp.figures.plots import heatmap, plot
    from monmdp.gym.answers import (
        AnswerQueue,
        ConsoleAnswers,
        DelayedAnswers,
        EpisodeAnswers,
        Question,
        late_answers,
    )
    from monmdp.gym.filled import fill_rewards
    from monmdp.gym.single import FlattenDiscrete, MonitoredEnv
    from monmdp.gym.vector import MonitoredVectorEnv
    from monmdp.gym.worlds import LiveWorld
    from monmdp.gym.wrapper import monitored
    from monmdp.kernels.compile import kernel
    from monmdp.study.compare import Comparison, compare
    from monmdp.study.results import load, mean_curves
    from monmdp.study.runner import run_sweep, train
    from monmdp.study.store import save
    from monmdp.study.sweep import Sweep
    from monmdp.training.curves import Curves
    from monmdp.training.discretizers import Bins, Tiles
    from monmdp.training.live import LiveCurves, train_live
    from monmdp.training.record import record

__version__ = "0.2.0"

#: Imported on first use, since they bring Gymnasium's classes or the compiler with them.
_LAZY = {
    "plot": "monmdp.figures.plots",
    "heatmap": "monmdp.figures.plots",
    "compare": "monmdp.study.compare",
    "Comparison": "monmdp.study.compare",
    "AGENTS": "monmdp.agents",
    "Agent": "monmdp.agents",
    "AnswerQueue": "monmdp.gym.answers",
    "ConsoleAnswers": "monmdp.gym.answers",
    "Bins": "monmdp.training.discretizers",
    "Curves": "monmdp.training.curves",
    "DelayedAnswers": "monmdp.gym.answers",
    "EpisodeAnswers": "monmdp.gym.answers",
    "FlattenDiscrete": "monmdp.gym.single",
    "LiveCurves": "monmdp.training.live",
    "LiveWorld": "monmdp.gym.worlds",
    "MonitoredEnv": "monmdp.gym.single",
    "MonitoredVectorEnv": "monmdp.gym.vector",
    "Policy": "monmdp.deep.policy",
    "Question": "monmdp.gym.answers",
    "Sweep": "monmdp.study.sweep",
    "Tiles": "monmdp.training.discretizers",
    "fill_rewards": "monmdp.gym.filled",
    "kernel": "monmdp.kernels.compile",
    "late_answers": "monmdp.gym.answers",
    "load": "monmdp.study.results",
    "load_policy": "monmdp.deep.policy",
    "mean_curves": "monmdp.study.results",
    "monitored": "monmdp.gym.wrapper",
    "record": "monmdp.training.record",
    "run_sweep": "monmdp.study.runner",
    "save": "monmdp.study.store",
    "train": "monmdp.study.runner",
    "train_live": "monmdp.training.live",
}

__all__ = [
    "AGENTS",
    "ENVIRONMENTS",
    "MONITORS",
    "Agent",
    "AnswerQueue",
    "Bins",
    "Comparison",
    "ConsoleAnswers",
    "Curves",
    "DelayedAnswers",
    "Environment",
    "EpisodeAnswers",
    "FlattenDiscrete",
    "Grid",
    "LiveCurves",
    "LiveWorld",
    "Moment",
    "MonMDP",
    "MonMDPError",
    "Monitor",
    "MonitoredEnv",
    "MonitoredVectorEnv",
    "Outcome",
    "Policy",
    "Question",
    "Rule",
    "Solution",
    "Step",
    "Sweep",
    "Tiles",
    "compare",
    "diameter",
    "fill_rewards",
    "from_gymnasium",
    "goal_relative_diameter",
    "greedy_policy",
    "grid",
    "heatmap",
    "join",
    "kernel",
    "late_answers",
    "load",
    "load_policy",
    "make",
    "mean_curves",
    "monitored",
    "plot",
    "policy_return",
    "record",
    "run_sweep",
    "save",
    "solve",
    "train",
    "train_live",
]

register_all()


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'monmdp' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
