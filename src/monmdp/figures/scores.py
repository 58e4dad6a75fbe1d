"""Scores over many problems: performance profiles, aggregates, and who is better than whom.

A score is the final return on a scale on which 0 is acting uniformly at random and 1 is optimal, both exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.figures.curves import draw_band
from monmdp.figures.data import Band, FigureData
from monmdp.figures.panels import PanelGrid, hide_numbers, line_of, panel_grid, show_missing, tuck_ends
from monmdp.figures.saving import Drawing
from monmdp.figures.style import FADED, PALE, TICK, WIDTH, agent_styles, new_figure
from monmdp.figures.text import even_ticks, fitted, set_ticks, text_width
from monmdp.problem import Floats
from monmdp.statistics import (
    Interval,
    bootstrap,
    improvement_interval,
    interquartile_mean,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    profile_interval,
)  # fmt: skip
from monmdp.training.curves import SOLVED_WITHIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Resamples of an interval: enough for what a line can show.
REPEATS = 500
#: Scores at which profiles may be drawn; worse than random is below 0. The last one asks for an optimal run.
THRESHOLDS: Floats = np.linspace(-1.0, 1.0, 201)
#: Profiles begin where the weakest agent still has this share of its runs, rounded down to a tenth.
BEGIN = 0.9
#: Parts of the training budget at which the share of solved runs is drawn.
PARTS: Floats = np.linspace(0.0, 1.0, 101)
SCORE = "normalised score τ (0: random policy, 1: optimal)"
COLUMNS = ("problems", "agent", "runs", "number_of_problems")


def profiles(data: FigureData) -> Drawing:
    """Performance profiles over all problems."""
    return _profiles(data, {"all problems": data.results.problems}, (WIDTH - 0.72, 1.9))


def profiles_monitors(data: FigureData) -> Drawing:
    """Performance profiles, one panel a monitor."""
    problems = data.results.problems
    groups = {name: [problem for problem in problems if problem[1] == name] for name in data.results.monitors}
    wide = min(max((WIDTH - 0.66 - 0.1 * (len(groups) - 1)) / len(groups), 0.62), 2.4)
    return _profiles(data, groups, (wide, 1.2))


def solving(data: FigureData) -> Drawing:
    """All runs solved for good by each part of the training budget."""
    found = {}
    for agent in data.results.agents:
        cells = data.results.of_agent(agent)
        runs = min(len(cell.seeds) for cell in cells)
        parts = np.stack([data.solving_steps(cell)[:runs] / cell.steps[-1] for cell in cells], axis=1)
        # Solved within a part of the budget: a profile of the part that is left, and -1 for never.
        found["all problems", agent] = profile(np.where(np.isinf(parts), -1.0, 1.0 - parts), 1.0 - PARTS), parts.shape
    grid = _single_grid(data, ["all problems"], "part of the training budget (%)", "runs solved for good (%)",
                        (WIDTH - 0.72, 1.9))  # fmt: skip
    rows = _curves(data, grid, ["all problems"], found, PARTS)
    axes = grid.axes[0][0]
    set_ticks(axes.xaxis, [0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
    tuck_ends(axes)
    return Drawing(grid.figure, (*COLUMNS, "part", "fraction", "low", "high"), rows)


def _profiles(data: FigureData, groups: dict[str, list[tuple[str, str]]], panel: tuple[float, float]) -> Drawing:
    _check_scored(data)
    scores = {
        (name, agent): data.scores(agent, group) for name, group in groups.items() for agent in data.results.agents
    }
    scores = {key: values for key, values in scores.items() if values.size}
    kept = np.min([performance_profile(values, THRESHOLDS) for values in scores.values()], axis=0) >= BEGIN
    first = np.floor(10 * min(max(float(THRESHOLDS[kept].max(initial=-1.0)), -1.0), 0.8)) / 10
    thresholds = THRESHOLDS[first - 1e-9 <= THRESHOLDS]
    grid = _single_grid(data, list(groups), SCORE, "runs with score ≥ τ (%)", panel)
    found = {key: (profile(values, thresholds), values.shape) for key, values in scores.items()}
    rows = _curves(data, grid, list(groups), found, thresholds)
    for axes in grid.axes[0]:
        ticks = even_ticks(float(thresholds[0]), 1.0, 5 if panel[0] > 2 else 2)
        set_ticks(axes.xaxis, sorted({*ticks, 1.0}))
        if ticks[0] == thresholds[0]:
            tuck_ends(axes)
    return Drawing(grid.figure, (*COLUMNS, "score", "fraction", "low", "high"), rows)


def profile(scores: Floats, thresholds: Floats) -> Interval:
    """Fraction of runs with at least each threshold; no interval for a single run."""
    slightly_below = thresholds - SOLVED_WITHIN
    if len(scores) == 1:
        unknown = np.full(len(thresholds), np.nan)
        return Interval(performance_profile(scores, slightly_below), unknown, unknown)
    return profile_interval(scores, slightly_below, repeats=REPEATS)


def _single_grid(data: FigureData, names: list[str], x: str, y: str, panel: tuple[float, float]) -> PanelGrid:
    """A row of panels with all agents in the legend."""
    legend = [(agent, line_of(style)) for agent, style in agent_styles(data.results.agents).items()]
    return panel_grid([""], names, x, y, legend, panel=panel)


def _curves(
    data: FigureData,
    grid: PanelGrid,
    names: list[str],
    found: dict[tuple[str, str], tuple[Interval, tuple[int, ...]]],
    places: Floats,
) -> list[tuple[Any, ...]]:
    """Shares from 0 to 1 over places, one panel a group of problems; returns what is drawn as rows."""
    rows: list[tuple[Any, ...]] = []
    styles = agent_styles(data.results.agents)
    for axes in grid.axes[0]:
        axes.set_xlim(float(places[0]), float(places[-1]))
        axes.set_ylim(0, 1.03)
        set_ticks(axes.yaxis, [0, 0.25, 0.5, 0.75, 1], ["0", "", "50", "", "100"])
        if axes is not grid.axes[0][0]:
            hide_numbers(axes)
    for axes, name in zip(grid.axes[0], names, strict=True):
        if not any(other == name for other, _ in found):
            show_missing(axes, numbers=axes is grid.axes[0][0])
    for (name, agent), (interval, shape) in found.items():
        axes = grid.axes[0][names.index(name)]
        order = 2 + len(data.results.agents) - data.results.agents.index(agent)
        draw_band(axes, Band(places, *interval, shape[0]), styles[agent], order)
        parts = (np.asarray(part).tolist() for part in (places, *interval))
        rows += [(name, agent, *shape, *values) for values in zip(*parts, strict=True)]
    return rows


def _mean(scores: Floats) -> float:
    return float(scores.mean())


def _share_optimal(scores: Floats) -> float:
    return float(performance_profile(scores, [1.0 - SOLVED_WITHIN])[0])


#: Panel → what is computed from scores [runs, problems].
AGGREGATES: dict[str, Callable[[Floats], float]] = {
    "interquartile mean": interquartile_mean,
    "mean": _mean,
    "optimality gap": optimality_gap,
    "optimal runs (share)": _share_optimal,
}


def aggregates(data: FigureData) -> Drawing:
    """Interquartile mean, mean, optimality gap and optimal runs."""
    _check_scored(data)
    agents = data.results.agents
    scores = {agent: values for agent in agents if (values := data.scores(agent)).size}
    found = {
        (name, agent): _interval(values, statistic)
        for name, statistic in AGGREGATES.items()
        for agent, values in scores.items()
    }
    page, panels = _rows_of_dots(data, list(AGGREGATES), agents, "normalised score (0: random policy, 1: optimal)")
    return Drawing(page, ("aggregate", "agent", "estimate", "low", "high"), _dots(data, panels, agents, found))


def improvement(data: FigureData) -> Drawing:
    """Probability that the first agent beats each other one."""
    _check_scored(data)
    first, *others = data.results.agents
    if not others:
        raise MonMDPError(f"{data.results.folder} has runs of {first} only, and a comparison needs another agent.")
    found = {}
    for other in others:
        shared = [
            problem for problem in data.results.problems
            if all((cell := data.results.cell(*problem, agent)) and data.is_scored(cell) for agent in (first, other))
        ]  # fmt: skip
        if shared:
            one, two = data.scores(first, shared), data.scores(other, shared)
            found["", other] = (
                improvement_interval(one, two, repeats=REPEATS)
                if min(len(one), len(two)) > 1
                else Interval(probability_of_improvement(one, two), np.nan, np.nan)
            )
    if not found:
        raise MonMDPError(f"{first} shares no problem with any other agent.")
    label = fitted(f"probability that {first} ends with a higher return (ties count half)", WIDTH - 1, 1).text
    page, panels = _rows_of_dots(data, [""], others, label)
    panels[""].axvline(0.5, color=FADED, linewidth=0.6, linestyle=(0, (3, 2)))
    rows = [(first, *row[1:]) for row in _dots(data, panels, others, found, limits=(0.0, 1.0))]
    return Drawing(page, ("first", "other", "estimate", "low", "high"), rows)


def _check_scored(data: FigureData) -> None:
    if not any(data.scores(agent).size for agent in data.results.agents):
        raise MonMDPError(
            f"No problem in {data.results.folder} can be built again from its name, so there are no normalised scores."
        )


def _interval(scores: Floats, statistic: Callable[[Floats], float]) -> Interval:
    if len(scores) == 1:
        return Interval(statistic(scores), np.nan, np.nan)
    return bootstrap(scores, statistic, repeats=REPEATS)


def _rows_of_dots(
    data: FigureData, panels: list[str], agents: list[str], x_label: str
) -> tuple[Figure, dict[str, Axes]]:
    """Panels side by side with one row an agent."""
    styles = agent_styles(data.results.agents)
    fits = [fitted(agent, 1.2, 2, bold=True) for agent in agents]
    left = 0.1 + max(text_width(line, fit.size, True) for fit in fits for line in fit.text.splitlines()) + 0.06
    gap = 0.14
    wide = (WIDTH - left - 0.12 - gap * (len(panels) - 1)) / len(panels)
    pitch = 0.19 if all("\n" not in fit.text for fit in fits) else 0.28
    high, above, below = pitch * len(agents) + 0.06, 0.24 if any(panels) else 0.06, 0.36
    height = above + high + below
    size = min(fitted(name, wide, 1, bold=True).size for name in panels)
    page = new_figure(WIDTH, height)
    made = {}
    for j, name in enumerate(panels):
        axes = page.add_axes((
            (left + j * (wide + gap)) / WIDTH, below / height, wide / WIDTH, high / height
        ))  # fmt: skip
        axes.set_ylim(len(agents) - 0.35, -0.65)
        axes.spines["left"].set_visible(False)
        axes.set_yticks(range(len(agents)), labels=[fit.text for fit in fits] if j == 0 else [""] * len(agents))
        axes.tick_params(axis="y", length=0)
        for row, (label, fit, agent) in enumerate(zip(axes.get_yticklabels(), fits, agents, strict=True)):
            label.set(size=fit.size, weight="bold", color=styles[agent].colour)
            axes.axhline(row, color=PALE, linewidth=0.6, zorder=0)
        axes.set_title(name, size=size, weight="bold", pad=3)
        made[name] = axes
    page.text((left + (WIDTH - left) / 2) / WIDTH, 0.03 / height, x_label, ha="center", va="bottom")
    return page, made


def _dots(
    data: FigureData, panels: dict[str, Axes], agents: list[str], found: dict[tuple[str, str], Interval],
    limits: tuple[float, float] | None = None,
) -> list[tuple[Any, ...]]:  # fmt: skip
    """Estimates as dots, intervals as bars; without limits, an axis shows the range of what is on it."""
    styles = agent_styles(data.results.agents)
    rows = []
    for name, axes in panels.items():
        ends = []
        for place, agent in enumerate(agents):
            if (name, agent) not in found:
                axes.text(0.5, place, "no runs", transform=axes.get_yaxis_transform(), ha="center", va="center",
                          size=TICK, color=FADED, backgroundcolor="white")  # fmt: skip
                continue
            estimate, low, high = (float(value) for value in found[name, agent])
            if not np.isnan(low):
                axes.plot([low, high], [place, place], color=styles[agent].colour, alpha=0.45, linewidth=5)
            axes.plot([estimate], [place], "o", color=styles[agent].colour, markersize=2.6)
            ends += [value for value in (estimate, low, high) if not np.isnan(value)]
            rows.append((name, agent, estimate, low, high))
        low, high = limits or (min(ends), max(ends))
        room = max(0.06 * (high - low), 0.05 * (high == low))
        axes.set_xlim(low - room, high + room)
        set_ticks(axes.xaxis, even_ticks(low - room * 0.4, high + room * 0.4, 4))
    return rows
