"""Data of the run inspector: a few runs, trained again and recorded in detail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.base import AGENTS
from monmdp.figures.style import agent_styles
from monmdp.join import make
from monmdp.problem import Floats, Integers, Layout, MonMDP
from monmdp.report.overview import levels, pack
from monmdp.study.snapshots import Snapshots, take_snapshots
from monmdp.training.metrics import METRICS

#: Action values closer than this are ties.
TIE = 1e-9


class Replay(NamedTuple):
    """A problem whose runs the page replays; steps None is the paper's budget."""

    environment: str
    monitor: str
    description: str
    agents: tuple[str, ...] = ("Directed", "Optimism", "UCB")
    steps: int | None = None


REPLAYS = (
    Replay("Empty", "Ask", "The agent observes a reward only if it asks, which costs 0.2 per step. An agent that stops "
           "asking too early never learns which coin is the large one."),
    Replay("Walk", "Button", "The button (LEFT in the start cell) turns the monitor on: rewards are then observed, and "
           "each step costs 0.2. A small coin is near, the large coin is far away.", steps=4_000),
    Replay("Hazard", "Button", "Toxic clouds, quicksand and small distracting coins. Rewards are observed only while "
           "the monitor is on."),
    Replay("RiverSwim", "Button", "The current pushes left. The large reward is at the right end, the button at the "
           "left end."),
)  # fmt: skip


def inspector_data(replays: Sequence[Replay], tick: Callable[[], None]) -> list[dict[str, Any]]:
    """Problems with their runs, without problems that have no map. Calls tick after each run."""
    problems = []
    for replay in replays:
        problem = make(replay.environment, replay.monitor)
        if (layout := problem.environment.layout) is None:
            continue
        runs = []
        for agent, style in agent_styles(replay.agents).items():
            runs.append({**_run(take_snapshots(problem, agent, steps=replay.steps)), "colour": style.colour})
            tick()
        problems.append({**_problem(problem, layout), "description": replay.description, "runs": runs})
    return problems


def _problem(problem: MonMDP, layout: Layout) -> dict[str, Any]:
    """Labels and geometry."""
    environment, monitor = problem.environment, problem.monitor
    return {
        "name": problem.name,
        "tiles": list(layout.tiles),
        "places": [list(place) for place in layout.cells],
        "states": [environment.state_label(state) for state in range(len(environment.states))],
        "actions": [str(action) for action in environment.actions],
        "monitorStates": [str(state) for state in monitor.states],
        "monitorActions": [str(action) for action in monitor.actions],
        "buttons": [int(state) for state, mark in monitor.landmarks.items() if mark == "button"],
        "reachable": pack(problem.reachable),
    }


def _run(run: Snapshots) -> dict[str, Any]:
    """Arrays over snapshots: sets of actions as bits, goals as pair + 1 so that 0 is none, metrics by column."""
    arrays = {
        "steps": run.steps,
        "states": run.states,
        "visits": run.visits.sum(-1),
        "best": best_actions(run.q),
        "rewardCounts": run.reward_counts,
    }
    if (run.goals >= 0).any():
        best = best_actions(run.goal_values)
        arrays |= {"goals": run.goals + 1, "goalBest": best, "goalValues": np.fmax.reduce(run.goal_values, axis=-1)}
    metrics = {metric.column: getattr(run, metric.attribute) for metric in METRICS}
    return {
        "agent": run.agent,
        "levels": levels(run.optimal_return, getattr(AGENTS.build(run.agent), "beta_bar", None)),
        "metrics": {name: pack(values) for name, values in metrics.items() if np.isfinite(values).any()},
        **{name: pack(values) for name, values in arrays.items()},
    }


def best_actions(values: Floats) -> Integers:
    """The best actions as bits: values [k, S, A] → [k, S]; 0 where no value is known, or if A exceeds 32."""
    if values.shape[-1] > 32:
        return np.zeros(values.shape[:-1], np.int64)
    tied = values >= np.fmax.reduce(values, axis=-1, keepdims=True) - TIE
    return np.asarray((tied << np.arange(values.shape[-1])).sum(-1))
