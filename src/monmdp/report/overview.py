"""What the overview and the curves of the page show: every problem, and every agent's runs in it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from monmdp.machine import n_cores
from monmdp.problem import Integers, MonMDP
from monmdp.report.packing import number, pack, pack_widths
from monmdp.statistics import Interval, mean_interval, steps_until_solved, wilson
from monmdp.study.results import CellResults, Results

#: Curves that can be looked at, by their column.
METRICS = ("return", "observed", "beta", "visited", "explored")
#: Points of a curve: evenly spaced ones, and early ones for a logarithmic axis.
EVEN_POINTS, EARLY_POINTS = 171, 50

#: Called after every cell.
Tick = Callable[[], None]


def overview_data(results: Results, tick: Tick) -> dict[str, Any]:
    """Problems in order, each with one entry an agent, None where there are no runs."""
    told = _told(results, tick)
    axes: dict[bytes, tuple[int, dict[str, Any]]] = {}  # cells share their steps, so each set of them is told once
    problems = []
    for environment, monitor in results.problems:
        cells: list[dict[str, Any] | None] = []
        for agent in results.agents:
            cell = results.cell(environment, monitor, agent)
            if cell is None:
                cells.append(None)
                continue
            steps = cell.steps[thinned(len(cell.steps))]
            axis, _ = axes.setdefault(steps.tobytes(), (len(axes), pack(steps)))
            cells.append({**told[environment, monitor, agent], "axis": axis})
        picture = _picture(results.of_problem(environment, monitor)[0].problem)
        problems.append({"environment": environment, "monitor": monitor, "picture": picture, "cells": cells})
    return {"problems": problems, "axes": [packed for _, packed in axes.values()]}


def _told(results: Results, tick: Tick) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Every cell's data; reading is mostly decompression and hashing, which threads do side by side."""
    told = {}
    with ThreadPoolExecutor(n_cores()) as pool:
        try:
            for key, data in zip(results.cells, pool.map(cell_data, results.cells.values()), strict=True):
                told[key] = data
                tick()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return told


def cell_data(cell: CellResults) -> dict[str, Any]:
    """The numbers of a cell, and its curves at the kept points."""
    curves, kept = cell.curves(METRICS), thinned(len(cell.steps))
    runs, final = len(cell.seeds), cell.final_returns
    evaluated = bool(np.isfinite(final).all())
    return {
        "seeds": runs,
        "steps": int(cell.steps[-1]),
        "optimum": number(cell.target_return),
        "solved": int(cell.solved.sum()) if evaluated else None,
        "interval": _bounds(wilson(int(cell.solved.sum()), runs)) if evaluated else None,
        "final": _estimate(final) if evaluated else None,
        "observed": _estimate(curves["observed"][:, -1]),
        "until": _median_until_solved(cell, curves["return"]) if evaluated else None,
        "betaBar": cell.settings.get("agent_options", {}).get("beta_bar"),
        "curves": {name: _band(curves[name][:, kept]) for name in METRICS},
    }


def thinned(points: int) -> Integers:
    """Indices of the points that the page keeps of so many."""
    if points <= EVEN_POINTS + EARLY_POINTS:
        return np.arange(points)
    even = np.linspace(0, points - 1, EVEN_POINTS)
    early = np.geomspace(1, points - 1, EARLY_POINTS)
    return np.unique(np.rint(np.concatenate([even, early])).astype(np.int64))


def _band(values: np.ndarray) -> dict[str, Any] | None:
    """Mean over seeds and half width of its 95% interval where all seeds have a value; None without any."""
    known = np.isfinite(values).all(0)
    if not known.any():
        return None
    mean, half = np.full((2, values.shape[1]), np.nan)
    estimate, _, high = mean_interval(values[:, known])
    mean[known], half[known] = estimate, high - estimate
    return {"mean": pack(mean), "half": pack_widths(half)}


def _estimate(values: np.ndarray) -> dict[str, float | None]:
    """Mean over seeds and half width of its 95% interval, None for a single seed."""
    estimate, _, high = mean_interval(values)
    return {"mean": number(estimate), "half": number(high - estimate)}


def _bounds(interval: Interval) -> list[float]:
    return [float(interval.low), float(interval.high)]


def _median_until_solved(cell: CellResults, returns: np.ndarray) -> float | None:
    """Median over all seeds of the steps until solved for good; None if fewer than half of them get there."""
    return number(float(np.median(steps_until_solved(cell.steps, returns, cell.target_return))))


def _picture(problem: MonMDP | None) -> list[str] | None:
    """The map of a problem that can be built again and has one."""
    if problem is None or problem.environment.layout is None:
        return None
    return list(problem.environment.layout.tiles)
