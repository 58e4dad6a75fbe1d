"""Curves over training: greedy return, rewards observed, β, fraction of seeds solved; and β of a single run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from monmdp.errors import MonMDPError
from monmdp.figures import style
from monmdp.figures.data import BETA_CEILING, LABELS, Drawing, FigureData, mean_curve, solving_steps
from monmdp.figures.panels import STEPS, Band, Entry, Finish, Key, Panels, draw_panels, panel_rows, show_steps
from monmdp.figures.style import agent_styles, few_ticks, number
from monmdp.problem import Floats
from monmdp.statistics import mean_interval, wilson
from monmdp.study.results import CellResults
from monmdp.training.curves import Curves

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


def returns(data: FigureData, main: bool = False) -> Drawing:
    """Greedy return during training, with the optimum; curves that end far below it are marked under the panel."""
    panels = _panels(data, lambda cell: mean_curve(cell, "return"), main)
    optima = {problem: sorted({cell.target_return for cell in data.results.of_problem(*problem)}) for problem in panels}
    limits = {
        name: return_limits(
            [optimum for (row, _), values in optima.items() if row == name for optimum in values],
            [band.mean for (row, _), bands in panels.items() if row == name for band in bands.values()],
        )
        for name, _ in panels
    }
    below = any(band.mean[-1] < limits[row][0] for (row, _), bands in panels.items() for band in bands.values())

    def finish(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
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
                ha="center", va="top", size=style.TICK - 0.5, color=data.styles[agent].colour,
            )  # fmt: skip

    legend = [("optimum", OPTIMUM)] + ([("final return, below the axis", ENDS_BELOW)] if below else [])
    drawing = _grid(data, panels, GREEDY_RETURN, finish, more=legend)
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


def plot_curves(curves: Curves, path: Path) -> None:
    """Draw the mean greedy return of fresh curves with its 95% confidence interval, and the optimum, into a file."""
    problem, agent, runs = curves.problem, curves.agent, len(curves.seeds)
    key = (problem.environment.name, problem.monitor.name)
    band = Band(curves.steps, *mean_interval(curves.returns), (runs,))

    def finish(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        axes.set_ylim(return_limits([curves.target_return], [band.mean]))
        few_ticks(axes.yaxis, 5)
        axes.axhline(curves.target_return, zorder=1, **OPTIMUM)
        show_steps(axes, 4)

    names, labels = {agent: f"{agent}, {'1 seed' if runs == 1 else f'{runs} seeds'}"}, (STEPS, GREEDY_RETURN)
    panels, optimum = {key: {agent: band}}, [("optimum", OPTIMUM)]
    with style.styled():
        draw_panels(panels, key[1:], agent_styles([agent]), labels, finish, optimum, names, 2.2).savefig(path)


def observed(data: FigureData, main: bool = False) -> Drawing:
    """Rewards observed during training."""

    def finish(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        most = max((float(np.nanmax([band.mean, band.high])) for band in bands.values()), default=0.0) or 1.0
        axes.set_ylim(-0.03 * most, 1.06 * most)
        few_ticks(axes.yaxis, 3, scale=1000)

    panels = _panels(data, lambda cell: mean_curve(cell, "observed"), main)
    return _grid(data, panels, f"{LABELS['observed']} (thousands)", finish, share_y=False)


def beta(data: FigureData) -> Drawing:
    """β during training and its threshold."""
    panels = _panels(data, lambda cell: mean_curve(cell, "beta") if _records_beta(cell) else None)
    if not panels:
        raise MonMDPError(f"No agent in {data.results.folder} records β; Directed does.")
    least = min(float(band.mean.min()) for bands in panels.values() for band in bands.values())
    finish, legend = _beta_axis(list(data.results.cells.values()), least / 2)
    label = f"{LABELS['beta']} (logarithmic; infinite and above 10 shown as 10)"
    return _grid(data, panels, label, finish, more=legend)


def beta_run(data: FigureData) -> Drawing:
    """β of one run among all seeds of a problem."""
    cells = [cell for cell in data.cells_of_problem() if _records_beta(cell)]
    if not cells:
        raise MonMDPError(f"No agent in {' + '.join(data.problem)} records β; Directed does.")
    bands, names = {}, {}
    for cell in cells:
        values = np.minimum(cell.curve("beta"), BETA_CEILING)
        seed, runs = cell.seeds[0], len(cell.seeds)
        low, high = np.quantile(values, SHADE, axis=0)
        bands[cell.agent] = Band(cell.steps, values[0], low, high, (seed, runs))
        shade = f" (shade: 5% to 95% of {runs} seeds)" if runs > 1 else ""
        names[cell.agent] = f"{cell.agent}, seed {seed}{shade}"
    finish, legend = _beta_axis(cells, min(float(band.low.min()) for band in bands.values()) / 1.6)
    label = f"{LABELS['beta']} (infinite: shown as 10)"
    drawing = _grid(data, {data.problem: bands}, label, finish, more=legend, names=names, panel_height=1.75)
    columns = ("environment", "monitor", "agent", "seed", "runs", "step", "beta", "low_5", "high_95")
    return Drawing(drawing.figure, columns, drawing.rows)


def _records_beta(cell: CellResults) -> bool:
    """Whether the agent has an explore-exploit ratio."""
    return not np.isnan(cell.curve("beta")).any()


def _beta_axis(cells: Sequence[CellResults], least: float) -> tuple[Finish, list[Entry]]:
    """A logarithmic axis from below the smallest β to its ceiling with the thresholds β̄ of all agents; their entry."""
    values = (cell.settings.get("agent_options", {}).get("beta_bar") for cell in cells)
    thresholds = sorted({float(value) for value in values if isinstance(value, int | float) and value})
    low = min([least, *(value / 2 for value in thresholds)])
    ticks = [10.0**power for power in range(int(np.ceil(np.log10(low))), 2)]

    def finish(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        for value in thresholds if bands else ():
            axes.axhline(value, zorder=1, **OPTIMUM)
        axes.set(yscale="log", ylim=(low, BETA_CEILING * 1.4))
        axes.set_yticks(ticks, [number(tick) for tick in ticks])
        axes.minorticks_off()

    return finish, [(f"threshold {', '.join(map(number, thresholds))}", OPTIMUM)] if thresholds else []


def steps_to_solve(data: FigureData) -> Drawing:
    """Fraction of seeds solved permanently by each step, with Wilson's interval."""

    def band(cell: CellResults) -> Band:
        steps, solving = mean_curve(cell, "return").x, solving_steps(cell)
        fraction, low, high = wilson((solving[:, None] <= steps).sum(0), len(solving))
        if len(solving) == 1:
            low, high = np.full((2, len(steps)), np.nan)
        return Band(steps, fraction, low, high, (len(solving),))

    def finish(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        axes.set_ylim(-0.04, 1.06)
        axes.set_yticks([0, 0.5, 1], ["0", "50", "100"])

    return _grid(data, _panels(data, band), "seeds solved permanently (%)", finish)


def _panels(data: FigureData, band: Callable[[CellResults], Band | None], main: bool = False) -> Panels:
    """The curves of all problems, or of those with the paper's main environments."""
    environments = data.main_environments if main else data.results.environments
    panels: dict[Key, dict[str, Band]] = {}
    for problem in data.results.problems:
        for cell in data.results.of_problem(*problem) if problem[0] in environments else ():
            curve = band(cell)
            if curve is not None:
                panels.setdefault(problem, {})[cell.agent] = curve
    return panels


def _grid(data: FigureData, panels: Panels, y_label: str, finish: Finish, **options: Any) -> Drawing:
    """Curves over training steps in panels of environments × monitors. options: those of `draw_panels`."""
    styles = {agent: look for agent, look in data.styles.items() if any(agent in bands for bands in panels.values())}

    def finish_steps(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        finish(axes, bands, problem)
        show_steps(axes, 4 if len(panels) == 1 else 2)

    figure = draw_panels(panels, data.results.monitors, styles, (STEPS, y_label), finish_steps, **options)
    return Drawing(figure, COLUMNS, panel_rows(panels))
