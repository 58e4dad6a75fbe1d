"""Curves over training: greedy return, rewards observed, β, fraction of seeds solved; and β of a single run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from monmdp.errors import MonMDPError
from monmdp.figures import style
from monmdp.figures.data import BETA_CEILING, LABELS, Drawing, FigureData, mean_curve, solving_steps
from monmdp.figures.panels import STEPS, Band, Entry, draw_curves, panel_grid, show_steps
from monmdp.figures.style import agent_styles, few_ticks, number
from monmdp.problem import Floats
from monmdp.statistics import wilson
from monmdp.study.results import CellResults

GREEDY_RETURN = f"{LABELS['return']} of the greedy policy"
OPTIMUM: dict[str, Any] = {"color": style.INK, "linestyle": (0, (3, 2)), "linewidth": 0.6}
ENDS_BELOW: dict[str, Any] = {"color": style.FADED, "marker": "v", "markersize": 3, "linestyle": "none"}
COLUMNS = ("environment", "monitor", "agent", "runs", "step", "mean", "low", "high")
#: Curves that end at most this many typical gaps below the optimum are inside the panel.
REACH = 2.0
#: Space above and below the curves, as a fraction of their range.
SPACE = 0.08
#: Quantiles of the seeds between which the shade around a single run extends.
SHADE = (0.05, 0.95)

#: Problem → agent → curve.
Panels = dict[tuple[str, str], dict[str, Band]]
#: Sets the limits of the panel of a problem, and adds what is special to a figure.
Finish = Callable[[Axes, dict[str, Band], tuple[str, str]], None]


def returns(data: FigureData, main: bool = False) -> Drawing:
    """Greedy return during training, with the optimum; curves that end far below it are marked under the panel."""
    environments = data.main_environments if main else data.results.environments
    agents, styles = data.results.agents, agent_styles(data.results.agents)
    panels = _panels(data, environments, agents, lambda cell: mean_curve(cell, "return"))
    optima = {problem: sorted({cell.target_return for cell in data.results.of_problem(*problem)}) for problem in panels}
    limits = {
        name: return_limits(
            [optimum for (row, _), values in optima.items() if row == name for optimum in values],
            [band.mean for (row, _), bands in panels.items() if row == name for band in bands.values()],
        )
        for name in environments
    }
    below = any(band.mean[-1] < limits[row][0] for (row, _), bands in panels.items() for band in bands.values())

    def finish(axes: Axes, bands: dict[str, Band], problem: tuple[str, str]) -> None:
        low, high = limits[problem[0]]
        axes.set_ylim(low, high)
        few_ticks(axes.yaxis, 3)
        for optimum in optima.get(problem, ()):
            axes.axhline(optimum, zorder=1, **OPTIMUM)
        lost = {agent: float(band.mean[-1]) for agent, band in bands.items() if band.mean[-1] < low}
        for i, (agent, value) in enumerate(lost.items(), 1):
            text = "▾" + (number(round(value, 1 if abs(value) < 10 else 0)) if len(lost) <= 2 else "")
            axes.annotate(
                text, (i / (len(lost) + 1), 0), (0, -3.5), xycoords="axes fraction", textcoords="offset points",
                ha="center", va="top", size=style.TICK - 0.5, color=styles[agent].colour,
            )  # fmt: skip

    legend = [("optimum", OPTIMUM)] + ([("final return, below the axis", ENDS_BELOW)] if below else [])
    drawing = _grid(data, environments, agents, panels, GREEDY_RETURN, finish, legend)
    drawing.rows.extend(
        (*problem, "optimum", "", step, optimum, "", "")
        for problem, bands in panels.items()
        for optimum in optima[problem]
        for step in (0, max(int(band.x[-1]) for band in bands.values()))
    )
    return drawing


def return_limits(optima: Sequence[float], curves: Sequence[Floats]) -> tuple[float, float]:
    """Lowest and highest return of an axis for curves [point] that end at or below one of the optima.

    The typical gap is the distance from the best optimum to earning nothing, or the median gap at the end if that is
    larger. Curves that end much further down are outside, so that they do not flatten all others.
    """
    best = max(optima)
    gaps = best - np.array([curve[-1] for curve in curves])
    typical = max(best, float(np.quantile(gaps, 0.5, method="lower")))
    if typical < 1e-9:  # the optimum is 0 and all end there: show where the curves start
        typical = max(float(np.max(best - np.concatenate(curves))), abs(best), 1.0)
    reached = gaps[gaps <= REACH * typical]
    gap = max(typical, float(reached.max(initial=0.0)))
    return best - (1.0 + SPACE) * gap, best + SPACE * gap


def observed(data: FigureData, main: bool = False) -> Drawing:
    """Rewards observed during training."""

    def finish(axes: Axes, bands: dict[str, Band], problem: tuple[str, str]) -> None:
        most = max((float(np.nanmax([band.mean, band.high])) for band in bands.values()), default=0.0) or 1.0
        axes.set_ylim(-0.03 * most, 1.06 * most)
        few_ticks(axes.yaxis, 3, scale=1000)

    environments = data.main_environments if main else data.results.environments
    agents = data.results.agents
    panels = _panels(data, environments, agents, lambda cell: mean_curve(cell, "observed"))
    label = f"{LABELS['observed']} (thousands)"
    return _grid(data, environments, agents, panels, label, finish, share_y=False)


def beta(data: FigureData) -> Drawing:
    """β during training and its threshold."""
    agents = [agent for agent in data.results.agents if data.records_beta(agent)]
    if not agents:
        raise MonMDPError(f"No agent in {data.results.folder} records β; Directed does.")
    panels = _panels(data, data.results.environments, agents, lambda cell: mean_curve(cell, "beta"))
    thresholds = _thresholds(data.results.cells.values())
    least = min(float(band.mean.min()) for bands in panels.values() for band in bands.values())
    label = f"{LABELS['beta']} (logarithmic; infinite and above 10 shown as 10)"
    finish = partial(_finish_beta, least=least / 2, thresholds=thresholds)
    return _grid(data, data.results.environments, agents, panels, label, finish, _threshold_entry(thresholds))


def beta_run(data: FigureData) -> Drawing:
    """β of one run among all seeds of a problem."""
    cells = [cell for cell in data.cells_of_problem() if not np.isnan(cell.curve("beta")).any()]
    problem = " + ".join(data.problem)
    if not cells:
        raise MonMDPError(f"No agent in {problem} records β; Directed does.")
    bands = {}
    for cell in cells:
        values = np.minimum(cell.curve("beta"), BETA_CEILING)
        low, high = np.quantile(values, SHADE, axis=0)
        bands[cell.agent] = Band(cell.steps, values[0], low, high, (cell.seeds[0], len(cell.seeds)))
    agents, thresholds = data.results.agents, _thresholds(cells)
    legend = _threshold_entry(thresholds)
    for agent, (seed, runs) in reversed([(agent, band.counts) for agent, band in bands.items()]):
        name = f"{agent}, seed {seed}" + (f" (shade: 5% to 95% of {runs} seeds)" if runs > 1 else "")
        legend.insert(0, (name, agent_styles(agents)[agent].line))
    label = f"{LABELS['beta']} (infinite: shown as 10)"
    figure, [[axes]] = panel_grid([""], [problem], STEPS, label, legend, panel_height=1.75)
    _finish_beta(axes, bands, data.problem, min(float(band.low.min()) for band in bands.values()) / 1.6, thresholds)
    draw_curves(axes, bands, [*bands], agents)
    show_steps(axes, max(float(band.x[-1]) for band in bands.values()), 4)
    names = ("environment", "monitor", "agent", "seed", "runs", "step", "beta", "low_5", "high_95")
    return Drawing(figure, names, [row for agent, band in bands.items() for row in band.rows(*data.problem, agent)])


def _finish_beta(
    axes: Axes, bands: dict[str, Band], problem: tuple[str, str], least: float, thresholds: list[float]
) -> None:
    """A logarithmic axis from below the smallest β to its ceiling, and the thresholds."""
    for value in thresholds if bands else ():
        axes.axhline(value, zorder=1, **OPTIMUM)
    low = min([least, *(value / 2 for value in thresholds)])
    ticks = [10.0**power for power in range(int(np.ceil(np.log10(low))), 2)]
    axes.set(yscale="log", ylim=(low, BETA_CEILING * 1.4))
    axes.set_yticks(ticks, [number(tick) for tick in ticks])
    axes.minorticks_off()


def _thresholds(cells: Iterable[CellResults]) -> list[float]:
    """All values of β̄ of the agents of some cells."""
    values = (cell.settings.get("agent_options", {}).get("beta_bar") for cell in cells)
    return sorted({float(value) for value in values if isinstance(value, int | float) and value})


def _threshold_entry(thresholds: list[float]) -> list[Entry]:
    return [(f"threshold {', '.join(number(value) for value in thresholds)}", OPTIMUM)] if thresholds else []


def steps_to_solve(data: FigureData) -> Drawing:
    """Fraction of seeds solved permanently by each step, with Wilson's interval."""

    def band(cell: CellResults) -> Band:
        steps, solving = mean_curve(cell, "return").x, solving_steps(cell)
        fraction, low, high = wilson((solving[:, None] <= steps).sum(0), len(solving))
        if len(solving) == 1:
            low, high = np.full((2, len(steps)), np.nan)
        return Band(steps, fraction, low, high, (len(solving),))

    def finish(axes: Axes, bands: dict[str, Band], problem: tuple[str, str]) -> None:
        axes.set_ylim(-0.04, 1.06)
        axes.set_yticks([0, 0.5, 1], ["0", "50", "100"])

    environments, agents = data.results.environments, data.results.agents
    panels = _panels(data, environments, agents, band)
    return _grid(data, environments, agents, panels, "seeds solved permanently (%)", finish)


def _panels(
    data: FigureData, environments: Sequence[str], agents: Sequence[str], band: Callable[[CellResults], Band]
) -> Panels:
    """The curves of all problems that have runs."""
    problems = {problem: data.results.of_problem(*problem) for problem in data.results.problems}
    panels = {
        problem: {cell.agent: band(cell) for cell in cells if cell.agent in agents}
        for problem, cells in problems.items()
        if problem[0] in environments
    }
    return {problem: bands for problem, bands in panels.items() if bands}


def _grid(
    data: FigureData,
    environments: Sequence[str],
    agents: Sequence[str],
    panels: Panels,
    y_label: str,
    finish: Finish,
    legend: Sequence[Entry] = (),
    share_y: bool = True,
) -> Drawing:
    """Curves in panels of environments × monitors."""
    monitors, styles = data.results.monitors, agent_styles(data.results.agents)
    entries = [*((agent, styles[agent].line) for agent in agents), *legend]
    figure, grid = panel_grid(environments, monitors, STEPS, y_label, entries, share_y=share_y)
    for environment, row in zip(environments, grid, strict=True):
        for monitor, axes in zip(monitors, row, strict=True):
            bands = panels.get((environment, monitor), {})
            finish(axes, bands, (environment, monitor))
            if bands:
                show_steps(axes, max(float(band.x[-1]) for band in bands.values()))
            draw_curves(axes, bands, agents, data.results.agents)
    rows = [row for key, bands in panels.items() for agent, band in bands.items() for row in band.rows(*key, agent)]
    return Drawing(figure, COLUMNS, rows)
