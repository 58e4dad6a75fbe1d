"""Data of the run inspector: a few runs, trained again and recorded in detail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.base import AGENTS
from monmdp.figures.style import agent_styles
from monmdp.join import make
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.report.overview import levels
from monmdp.report.packing import pack
from monmdp.study.snapshots import Snapshots, take_snapshots
from monmdp.training.metrics import METRICS

#: Snapshots per run.
SNAPSHOTS = 120
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
        if problem.environment.layout is None:
            continue
        runs = []
        for agent, style in agent_styles(replay.agents).items():
            snapshots = take_snapshots(problem, agent, seed=0, steps=replay.steps, count=SNAPSHOTS)
            runs.append({**_run(snapshots), "colour": style.colour})
            tick()
        problems.append({**_problem(problem), "description": replay.description, "runs": runs})
    return problems


def _problem(problem: MonMDP) -> dict[str, Any]:
    """Labels and geometry."""
    environment, monitor = problem.environment, problem.monitor
    assert environment.layout is not None
    return {
        "name": problem.name,
        "tiles": list(environment.layout.tiles),
        "places": [list(place) for place in environment.layout.cells],
        "states": [environment.state_label(state) for state in range(len(environment.states))],
        "actions": [str(action) for action in environment.actions],
        "monitorStates": [str(state) for state in monitor.states],
        "monitorActions": [str(action) for action in monitor.actions],
        "buttons": [int(state) for state, mark in monitor.landmarks.items() if mark == "button"],
        "reachable": pack(problem.reachable.astype(np.uint8)),
    }


def _run(run: Snapshots) -> dict[str, Any]:
    """Arrays over snapshots: sets of actions as bits, goals as pair + 1 so that 0 is none, metrics by column."""
    has_goals = bool((run.goals >= 0).any())
    metrics = {metric.column: getattr(run, metric.attribute) for metric in METRICS if hasattr(run, metric.attribute)}
    return {
        "agent": run.agent,
        "levels": levels(run.optimal_return, getattr(AGENTS.build(run.agent), "beta_bar", None)),
        "steps": pack(run.steps),
        "states": pack(run.states),
        "visits": pack(run.visits.sum(-1)),
        "best": pack(best_actions(run.q)),
        "rewardCounts": pack(run.reward_counts),
        "goals": pack(run.goals + 1) if has_goals else None,
        "goalBest": pack(best_actions(run.goal_values)) if has_goals else None,
        "goalValues": pack(_largest(run.goal_values)) if has_goals else None,
        "metrics": {name: pack(values) for name, values in metrics.items() if np.isfinite(values).any()},
    }


def best_actions(values: Floats) -> Integers:
    """The best actions as bits: values [k, S, A] → [k, S]; 0 where no value is known, or if A exceeds 32."""
    if values.shape[-1] > 32:
        return np.zeros(values.shape[:-1], np.int64)
    tied: Integers = values >= _largest(values)[..., None] - TIE
    bits: Integers = (tied * (1 << np.arange(values.shape[-1]))).sum(-1)
    return bits


def _largest(values: Floats) -> Floats:
    """The largest value along the last axis, NaN where there is none."""
    largest: Floats = np.where(np.isnan(values), -np.inf, values).max(-1)
    return np.where(np.isinf(largest), np.nan, largest)
