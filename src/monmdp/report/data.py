"""The data of the page as plain values, with arrays in base64: summaries and curves of all cells, and replayed runs."""

import base64
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from monmdp.agents.base import AGENTS
from monmdp.figures.style import agent_styles
from monmdp.join import make
from monmdp.machine import n_cores
from monmdp.problem import Floats, Integers, Layout, MonMDP
from monmdp.statistics import wilson
from monmdp.study.results import CellResults, Results
from monmdp.study.snapshots import Snapshots, take_snapshots
from monmdp.training.curves import half_width
from monmdp.training.metrics import METRICS

#: Points kept of a long curve: evenly spaced ones, and early ones for a logarithmic axis.
EVEN_POINTS, EARLY_POINTS = 171, 50
#: Action values closer than this are ties.
TIE = 1e-9


def overview_data(results: Results, tick: Callable[[], None]) -> dict[str, Any]:
    """Metrics, agents and problems; a problem has one cell per agent, None without runs. Calls tick after each cell."""
    cells = {}
    axes: dict[bytes, tuple[int, dict[str, str]]] = {}  # most cells record at the same steps: write each array once
    with ThreadPoolExecutor(n_cores()) as pool:  # most of the time goes into decompression and hashing
        for (key, cell), data in zip(results.cells.items(), pool.map(cell_data, results.cells.values()), strict=True):
            steps = cell.steps[kept_points(len(cell.steps))]
            axis, _ = axes.setdefault(steps.tobytes(), (len(axes), pack(steps)))
            cells[key] = {**data, "axis": axis}
            tick()
    problems = []
    for environment, monitor in results.problems:
        problem = results.of_problem(environment, monitor)[0].problem  # None if it cannot be rebuilt
        layout = problem and problem.environment.layout
        tiles = list(layout.tiles) if layout else None
        row = [cells.get((environment, monitor, agent)) for agent in results.agents]
        problems.append({"environment": environment, "monitor": monitor, "tiles": tiles, "cells": row})
    styles = agent_styles(results.agents).items()
    return {
        "metrics": [
            {"name": m.column, "label": m.label, "description": m.description, "integer": m.dtype is np.int64}
            for m in METRICS
        ],
        "agents": [{"name": a, "colour": s.colour, "share": _share(results.of_agent(a))} for a, s in styles],
        "problems": problems,
        "axes": [steps for _, steps in axes.values()],
        "runs": sum(len(cell.seeds) for cell in results.cells.values()),
    }


def cell_data(cell: CellResults) -> dict[str, Any]:
    """Summary numbers and curves of a cell; intervals have a level of 95%. None stands for numbers without evaluation.

    until: the median over seeds of the step from which on a run is solved, None if fewer than half end solved.
    """
    curves, kept = cell.curves([metric.column for metric in METRICS]), kept_points(len(cell.steps))
    n_solved, evaluated = int(cell.solved.sum()), _evaluated(cell)
    until = cell.steps_until_solved if evaluated else np.inf
    return {
        "seeds": len(cell.seeds),
        "steps": int(cell.steps[-1]),
        "solved": n_solved if evaluated else None,
        "share": [float(value) for value in wilson(n_solved, len(cell.seeds))] if evaluated else None,
        "until": number(float(np.median(until))),
        "levels": levels(cell.target_return, cell.settings.get("agent_options", {}).get("beta_bar")),
        "curves": {name: _curve(values[:, kept]) for name, values in curves.items()},
    }


def levels(optimum: float, beta_bar: float | None) -> dict[str, dict[str, Any]]:
    """Metric → a horizontal line of its chart: the optimal return, and the β above which the agent explores."""
    lines = {"return": ("optimum", number(optimum)), "beta": ("explores above", beta_bar)}
    return {name: {"text": text, "value": value} for name, (text, value) in lines.items() if value is not None}


def kept_points(points: int) -> Integers:
    """Indices of the points that the page keeps of a curve of that length."""
    if points <= EVEN_POINTS + EARLY_POINTS:
        return np.arange(points)
    even = np.linspace(0, points - 1, EVEN_POINTS)
    early = np.geomspace(1, points - 1, EARLY_POINTS)
    return np.unique(np.rint(np.concatenate([even, early])).astype(np.int64))


def _curve(values: Floats) -> dict[str, Any] | None:
    """Mean over seeds and half width of its interval, unknown where a seed has no value; None if that is everywhere."""
    known = np.where(np.isfinite(values), values, np.nan)
    mean, half = known.mean(0), half_width(known)
    if np.isnan(mean).all():
        return None
    band = pack(half) if len(values) > 1 else None
    return {"mean": pack(mean), "half": band, "final": [number(mean[-1]), number(half[-1])]}


def _share(cells: list[CellResults]) -> float | None:
    """Fraction of an agent's runs that ended solved."""
    solved = [cell.solved for cell in cells if _evaluated(cell)]
    return float(np.concatenate(solved).mean()) if solved else None


def _evaluated(cell: CellResults) -> bool:
    return bool(np.isfinite(cell.final_returns).all())


def pack(values: npt.ArrayLike) -> dict[str, str]:
    """Base64 of little-endian numbers: floats in 32 bits, integers ≥ 0 in the fewest bytes that hold them."""
    array = np.asarray(values)
    kind = "f4" if array.dtype.kind == "f" else np.min_scalar_type(int(array.max(initial=0))).str[1:]
    return {"type": kind, "data": base64.b64encode(array.astype(f"<{kind}").tobytes()).decode()}


def number(value: float) -> float | None:
    """A number as JSON allows it: None unless it is finite."""
    return float(value) if np.isfinite(value) else None


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
