"""Scores over many problems: performance profiles, aggregates, and comparisons of agents.

A score is the final return on a scale on which 0 is acting uniformly at random and 1 is optimal, both exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from monmdp import statistics
from monmdp.errors import MonMDPError
from monmdp.figures import style
from monmdp.figures.data import Drawing, FigureData, solving_steps
from monmdp.figures.panels import Band, draw_curves, panel_grid
from monmdp.figures.style import agent_styles, few_ticks, wrapped
from monmdp.problem import Floats
from monmdp.statistics import Interval, performance_profile
from monmdp.training.curves import SOLVED_WITHIN

#: Resamples of an interval: enough for the resolution of a line.
REPEATS = 500
#: Scores at which profiles may be drawn; worse than random is below 0. The last one is an optimal run.
THRESHOLDS: Floats = np.linspace(-1.0, 1.0, 201)
#: Profiles begin where the weakest agent still has this fraction of its runs, rounded down to a tenth.
BEGIN = 0.9
#: Fractions of the training budget at which the fraction of solved runs is drawn.
PARTS: Floats = np.linspace(0.0, 1.0, 101)
SCALE = "(0: random policy, 1: optimal)"

Estimates = dict[tuple[str, str], Interval]


def profiles(data: FigureData) -> Drawing:
    """Performance profiles over all problems."""
    return _profiles(data, {"all problems": data.results.problems}, 1.9, 5)


def profiles_monitors(data: FigureData) -> Drawing:
    """Performance profiles, one panel per monitor."""
    problems = data.results.problems
    groups = {name: [problem for problem in problems if problem[1] == name] for name in data.results.monitors}
    return _profiles(data, groups, 1.2, 2)


def solving(data: FigureData) -> Drawing:
    """Fraction of all runs solved permanently by each fraction of the training budget."""
    bands = {}
    for agent in data.results.agents:
        cells = data.results.of_agent(agent)
        runs = min(len(cell.seeds) for cell in cells)
        parts = np.stack([solving_steps(cell)[:runs] / cell.steps[-1] for cell in cells], axis=1)
        # Solved within a part of the budget: a profile of the part that is left, and -1 for never.
        left = _profile(np.where(np.isinf(parts), -1.0, 1.0 - parts), 1.0 - PARTS)
        bands[agent] = left._replace(x=PARTS)
    labels = ("part of the training budget (%)", "runs solved permanently (%)")
    drawing, [axes] = _fractions(data, {"all problems": bands}, labels, "part", 1.9)
    axes.set_xlim(0.0, 1.0)
    few_ticks(axes.xaxis, 4, scale=0.01)
    return drawing


def _profiles(data: FigureData, groups: dict[str, list[tuple[str, str]]], height: float, ticks: int) -> Drawing:
    _check_scored(data)
    scores = {
        name: {agent: values for agent in data.results.agents if (values := data.scores(agent, group)).size}
        for name, group in groups.items()
    }
    each = [performance_profile(values, THRESHOLDS) for group in scores.values() for values in group.values()]
    kept = THRESHOLDS[np.min(each, axis=0) >= BEGIN]
    first = np.floor(10 * min(max(float(kept.max(initial=-1.0)), -1.0), 0.8)) / 10
    thresholds = THRESHOLDS[first - 1e-9 <= THRESHOLDS]
    panels = {name: {agent: _profile(s, thresholds) for agent, s in group.items()} for name, group in scores.items()}
    labels = (f"normalised score τ {SCALE}", "runs with score ≥ τ (%)")
    drawing, grid = _fractions(data, panels, labels, "score", height)
    for axes in grid:
        axes.set_xlim(thresholds[0], 1.0)
        few_ticks(axes.xaxis, ticks)
    return drawing


def _profile(scores: Floats, thresholds: Floats) -> Band:
    """Fraction of runs with at least each threshold."""
    interval = statistics.profile_interval(scores, thresholds - SOLVED_WITHIN, repeats=REPEATS)
    return Band(thresholds, *interval, scores.shape)


def _fractions(
    data: FigureData, panels: dict[str, dict[str, Band]], labels: tuple[str, str], column: str, height: float
) -> tuple[Drawing, list[Axes]]:
    """Fractions from 0 to 1 over a column, one panel per group of problems."""
    agents, styles = data.results.agents, agent_styles(data.results.agents)
    legend = [(agent, styles[agent].line) for agent in agents]
    figure, [grid] = panel_grid([""], [*panels], *labels, legend, height)
    for axes, bands in zip(grid, panels.values(), strict=True):
        axes.set_ylim(0, 1.03)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "50", "", "100"])
        draw_curves(axes, bands, agents, agents)
    rows = [row for name, bands in panels.items() for agent, band in bands.items() for row in band.rows(name, agent)]
    names = ("problems", "agent", "runs", "number_of_problems", column, "fraction", "low", "high")
    return Drawing(figure, names, rows), grid


#: Panel → what is computed from scores [runs, problems].
AGGREGATES: dict[str, Callable[[Floats], float]] = {
    "interquartile mean": statistics.interquartile_mean,
    "mean": lambda scores: float(scores.mean()),
    "optimality gap": statistics.optimality_gap,
    "optimal runs (share)": lambda scores: float(performance_profile(scores, [1.0 - SOLVED_WITHIN])[0]),
}


def aggregates(data: FigureData) -> Drawing:
    """Interquartile mean, mean, optimality gap and fraction of optimal runs."""
    _check_scored(data)
    scores = {agent: values for agent in data.results.agents if (values := data.scores(agent)).size}
    estimates = {
        (name, agent): statistics.bootstrap(values, statistic, repeats=REPEATS)
        for name, statistic in AGGREGATES.items()
        for agent, values in scores.items()
    }
    figure, _ = _dots(data, [*AGGREGATES], data.results.agents, estimates, f"normalised score {SCALE}")
    return Drawing(figure, ("aggregate", "agent", "estimate", "low", "high"), _rows(estimates))


def improvement(data: FigureData) -> Drawing:
    """Probability that the first agent beats each other one."""
    _check_scored(data)
    results, (first, *others) = data.results, data.results.agents
    if not others:
        raise MonMDPError(f"{results.folder} has runs of {first} only, and a comparison needs another agent.")
    estimates: Estimates = {}
    for other in others:
        pairs = {problem: [results.cell(*problem, agent) for agent in (first, other)] for problem in results.problems}
        shared = [problem for problem, cells in pairs.items() if all(cell and data.is_scored(cell) for cell in cells)]
        if shared:
            one, two = data.scores(first, shared), data.scores(other, shared)
            estimates[first, other] = statistics.improvement_interval(one, two, repeats=REPEATS)
    if not estimates:
        raise MonMDPError(f"{first} shares no problem with any other agent.")
    label = wrapped(f"probability that {first} ends with a higher return (ties count half)", style.WIDTH - 0.5)
    figure, [axes] = _dots(data, [first], others, estimates, label, limits=(0.0, 1.0))
    axes.set_title("")
    axes.axvline(0.5, color=style.FADED, linewidth=0.6, linestyle=(0, (3, 2)))
    return Drawing(figure, ("first", "other", "estimate", "low", "high"), _rows(estimates))


def _check_scored(data: FigureData) -> None:
    if not any(data.scores(agent).size for agent in data.results.agents):
        raise MonMDPError(
            f"No problem in {data.results.folder} can be built again from its name, so there are no normalised scores."
        )


def _rows(estimates: Estimates) -> list[tuple[Any, ...]]:
    return [(*key, *(float(value) for value in interval)) for key, interval in estimates.items()]


def _dots(
    data: FigureData,
    names: list[str],
    agents: list[str],
    estimates: Estimates,
    x_label: str,
    limits: tuple[float, float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """Estimates as dots and intervals as bars: panels side by side, one row per agent.

    Without limits, an axis shows the range of its intervals.
    """
    styles = agent_styles(data.results.agents)
    labels = [wrapped(agent, 1.2, bold=True) for agent in agents]
    lines = 1 + max(label.count("\n") for label in labels)
    figure = style.new_figure(style.WIDTH, 0.6 + (0.09 + 0.1 * lines) * len(agents))
    panels: list[Axes] = figure.subplots(1, len(names), squeeze=False, sharey=True)[0].tolist()
    for name, axes in zip(names, panels, strict=True):
        for row, agent in enumerate(agents):
            axes.axhline(row, color=style.PALE, linewidth=0.6, zorder=0)
            if (name, agent) in estimates:
                estimate, low, high = estimates[name, agent]
                axes.plot([low, high], [row, row], color=styles[agent].colour, alpha=0.45, linewidth=5)
                axes.plot([estimate], [row], "o", color=styles[agent].colour, markersize=2.6)
            else:
                axes.text(0.5, row, "no runs", transform=axes.get_yaxis_transform(), ha="center", va="center",
                          size=style.TICK, color=style.FADED, backgroundcolor="white")  # fmt: skip
        values = [value for key, interval in estimates.items() if key[0] == name for value in interval]
        low, high = limits or (np.nanmin(values), np.nanmax(values))
        margin = max(0.06 * (high - low), 0.05 * (high == low))
        axes.set_xlim(low - margin, high + margin)
        few_ticks(axes.xaxis, 4 if len(names) == 1 else 3)
        axes.set_title(name)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_ylim(len(agents) - 0.35, -0.65)
    panels[0].set_yticks(range(len(agents)), labels)
    for label, agent in zip(panels[0].get_yticklabels(), agents, strict=True):
        label.set(size=style.LABEL, weight="bold", color=styles[agent].colour)
    figure.supxlabel(x_label)
    return figure, panels
