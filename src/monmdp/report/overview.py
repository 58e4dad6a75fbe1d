"""Data of the overview and the curves: every problem with the runs of every agent, with arrays in base64."""

from __future__ import annotations

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from monmdp.figures.style import agent_styles
from monmdp.machine import n_cores
from monmdp.problem import Floats, Integers
from monmdp.statistics import steps_until_solved, wilson
from monmdp.study.results import CellResults, Results
from monmdp.training.curves import half_width
from monmdp.training.metrics import METRICS

#: Points kept of a long curve: evenly spaced ones, and early ones for a logarithmic axis.
EVEN_POINTS, EARLY_POINTS = 171, 50


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
    styles = agent_styles(results.agents)
    return {
        "metrics": [
            {"name": m.column, "label": m.label, "description": m.description, "integer": m.dtype is np.int64}
            for m in METRICS
        ],
        "agents": [{"name": a, "colour": styles[a].colour, **_score(results.of_agent(a))} for a in results.agents],
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
    until = steps_until_solved(cell.steps, curves["return"], cell.target_return) if evaluated else np.inf
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


def _score(cells: list[CellResults]) -> dict[str, Any]:
    """Fraction of an agent's runs that ended solved, and the number of problems in which all of them did."""
    solved = [cell.solved for cell in cells if _evaluated(cell)]
    return {
        "share": float(np.concatenate(solved).mean()) if solved else None,
        "allSolved": sum(bool(runs.all()) for runs in solved),
        "evaluated": len(solved),
    }


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
