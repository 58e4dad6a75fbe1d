"""Scores over many problems: performance profiles, aggregates, and comparisons of agents.

A score is the final return on a scale on which 0 is acting uniformly at random and 1 is optimal, both exact.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from monmdp import statistics
from monmdp.errors import MonMDPError
from monmdp.figures import style
from monmdp.figures.curves import Band, Key, draw_panels, panel_rows, solving_steps
from monmdp.figures.data import Drawing, FigureData
from monmdp.figures.style import few_ticks, wrapped
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


def profiles(data: FigureData, by_monitor: bool = False) -> Drawing:
    """Performance profiles over all problems, or one panel per monitor."""
    groups = {"all problems": data.results.problems}
    if by_monitor:
        groups = {name: [key for key in data.results.problems if key[1] == name] for name in data.results.monitors}
    scores = {name: _scores(data, group) for name, group in groups.items()}
    each = [performance_profile(values, THRESHOLDS) for group in scores.values() for values in group.values()]
    kept = THRESHOLDS[np.min(each, axis=0) >= BEGIN]
    first = np.floor(10 * min(float(kept.max(initial=-1.0)), 0.8)) / 10
    thresholds = THRESHOLDS[first - 1e-9 <= THRESHOLDS]
    panels = {name: {agent: _profile(s, thresholds) for agent, s in group.items()} for name, group in scores.items()}
    labels = (f"normalised score τ {SCALE}", "runs with score ≥ τ (%)")
    return _fractions(data, panels, labels, "score", 2 if by_monitor else 5)


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
    return _fractions(data, {"all problems": bands}, labels, "part", 4, scale=0.01)


def _scores(data: FigureData, problems: list[tuple[str, str]]) -> dict[str, Floats]:
    """Agent → its scores [runs, problems], if it has any."""
    return {agent: values for agent in data.results.agents if (values := data.scores(agent, problems)).size}


def _profile(scores: Floats, thresholds: Floats) -> Band:
    """Fraction of runs with at least each threshold."""
    interval = statistics.profile_interval(scores, thresholds - SOLVED_WITHIN, repeats=REPEATS)
    return Band(thresholds, *interval, scores.shape)


def _fractions(
    data: FigureData,
    groups: Mapping[str, Mapping[str, Band]],
    labels: tuple[str, str],
    column: str,
    ticks: int,
    scale: float = 1.0,
) -> Drawing:
    """Fractions from 0 to 1 over a column, one panel per group of problems."""

    def finish(axes: Axes, bands: Mapping[str, Band], key: Key) -> None:
        axes.set_ylim(0, 1.03)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
        few_ticks(axes.xaxis, ticks, scale)

    panels = {("", name): bands for name, bands in groups.items()}
    height = 1.9 if len(groups) == 1 else 1.2
    figure = draw_panels(panels, [*groups], data.styles, labels, finish, names=data.results.labels, panel_height=height)
    names = ("problems", "agent", "runs", "number_of_problems", column, "fraction", "low", "high")
    return Drawing(figure, names, panel_rows(panels))


#: Panel → what is computed from scores [runs, problems].
AGGREGATES: dict[str, Callable[[Floats], float]] = {
    "interquartile mean": statistics.interquartile_mean,
    "mean": lambda scores: float(scores.mean()),
    "optimality gap": statistics.optimality_gap,
    "optimal runs (share)": lambda scores: float(performance_profile(scores, [1.0 - SOLVED_WITHIN])[0]),
}


def aggregates(data: FigureData) -> Drawing:
    """Interquartile mean, mean, optimality gap and fraction of optimal runs."""
    scores = _scores(data, data.results.problems)
    estimates = {
        (name, agent): statistics.bootstrap(values, statistic, repeats=REPEATS)
        for name, statistic in AGGREGATES.items()
        for agent, values in scores.items()
    }
    return _dots(data, estimates, data.results.agents, ("aggregate", "agent"), f"normalised score {SCALE}")


def improvement(data: FigureData) -> Drawing:
    """Probability that the first agent beats each other one."""
    first, *others = data.results.agents
    if not others:
        raise MonMDPError(f"{data.results.folder} has runs of {first} only, and a comparison needs another agent.")
    estimates = {}
    for other in others:
        both = [p for p in data.results.problems if {(*p, first), (*p, other)} <= data.cell_scores.keys()]
        if both:
            one, two = data.scores(first, both), data.scores(other, both)
            estimates[first, other] = statistics.improvement_interval(one, two, repeats=REPEATS)
    if not estimates:
        raise MonMDPError(f"{first} shares no problem with any other agent.")
    label = wrapped(
        f"probability that {data.results.labels[first]} ends with a higher return (ties count half)",
        style.page_size()[0] - 0.5,
    )
    drawing = _dots(data, estimates, others, ("first", "other"), label)
    [axes] = drawing.figure.axes
    axes.set(title="", xlim=(-0.06, 1.06))
    axes.axvline(0.5, color=style.FADED, linewidth=0.6, linestyle=(0, (3, 2)))
    return drawing


def _dots(
    data: FigureData, estimates: dict[Key, Interval], agents: list[str], names: tuple[str, str], x_label: str
) -> Drawing:
    """Estimates of (panel, agent) as dots and intervals as bars: panels side by side, one row per agent.

    An axis shows the range of its intervals. names: of the columns in the file.
    """
    titles = list(dict.fromkeys(title for title, _ in estimates))
    labels = [wrapped(data.results.labels[agent], 1.2, bold=True) for agent in agents]
    lines = 1 + max(label.count("\n") for label in labels)
    figure = Figure(figsize=(style.page_size()[0], 0.6 + (0.09 + 0.1 * lines) * len(agents)))
    grid = figure.subplots(1, len(titles), squeeze=False, sharey=True)[0]
    for title, axes in zip(titles, grid, strict=True):
        for row, agent in enumerate(agents):
            axes.axhline(row, color=style.PALE, linewidth=0.6, zorder=0)
            if (title, agent) in estimates:
                estimate, low, high = estimates[title, agent]
                axes.plot([low, high], [row, row], color=data.styles[agent].colour, alpha=0.45, linewidth=5)
                axes.plot([estimate], [row], "o", color=data.styles[agent].colour, markersize=2.6)
            else:
                axes.text(0.5, row, "no runs", transform=axes.get_yaxis_transform(), ha="center", va="center",
                          size=style.TICK, color=style.FADED, backgroundcolor="white")  # fmt: skip
        values = [value for key, interval in estimates.items() if key[0] == title for value in interval]
        low, high = np.nanmin(values), np.nanmax(values)
        margin = max(0.06 * (high - low), 0.05 * (high == low))
        axes.set(title=wrapped(title, 1.05, bold=True), xlim=(low - margin, high + margin))
        few_ticks(axes.xaxis, 4 if len(titles) == 1 else 3)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    grid[0].set_ylim(len(agents) - 0.35, -0.65)
    grid[0].set_yticks(range(len(agents)), labels, size=style.LABEL, weight="bold")
    for label, agent in zip(grid[0].get_yticklabels(), agents, strict=True):
        label.set_color(data.styles[agent].colour)
    figure.supxlabel(x_label)
    rows: list[tuple[Any, ...]] = [(*key, *map(float, interval)) for key, interval in estimates.items()]
    return Drawing(figure, (*names, "estimate", "low", "high"), rows)
