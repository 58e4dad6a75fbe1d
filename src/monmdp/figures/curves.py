"""Curves in a grid of panels, environments down and monitors across: return, cost, β, seeds solved.

They are over training steps, or over what was spent: rewards observed, or monitor reward paid.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from monmdp.errors import MonMDPError
from monmdp.figures import style
from monmdp.figures.data import Drawing, FigureData
from monmdp.figures.style import AgentStyle, few_ticks, number, wrapped
from monmdp.paper.evidence import MissingError
from monmdp.paper.theorem import theorem_bound
from monmdp.problem import Floats, Integers
from monmdp.protocol import kind
from monmdp.statistics import STATISTICS, Interval, wilson
from monmdp.study.results import CellResults
from monmdp.training.curves import Recorded
from monmdp.training.metrics import METRICS

#: Inches that labels take left of all panels, above and below them, and below each panel; and a legend's sample line.
LEFT, AROUND, BELOW, SAMPLE = 0.75, 0.6, 0.2, 0.45
STEPS = "training steps (thousands)"
#: Column of the results → label of its axis.
LABELS = {metric.column: metric.label for metric in METRICS}
COUNTS = [metric.column for metric in METRICS if metric.dtype is np.int64]
GREEDY_RETURN = f"{LABELS['return']} of the greedy policy"
#: A note of the legend where some runs lack a metric.
NOT_RECORDED = "some runs of earlier versions did not record it"
OPTIMUM: dict[str, Any] = {"color": style.INK, "linestyle": (0, (3, 2)), "linewidth": 0.6}
#: The policy ρ toward goals → the line of its bound.
BOUNDS: dict[str, dict[str, Any]] = {"fastest ρ": OPTIMUM, "random walk": {**OPTIMUM, "linestyle": (0, (1, 1.5))}}
ENDS_BELOW: dict[str, Any] = {"color": style.FADED, "marker": "v", "markersize": 3, "linestyle": "none"}
COLUMNS = ("environment", "monitor", "agent", "runs", "step", "mean", "low", "high")
#: Curves that end at most this many typical gaps below the optimum are inside the panel.
REACH = 2.0
#: Space above and below the curves, as a fraction of their range.
SPACE = 0.08
#: Quantiles of the seeds between which the shade around a single run extends.
SHADE = (0.05, 0.95)
#: Largest number of points of a curve in a figure.
SHOWN_POINTS = 126
#: β is infinite until every pair was visited; figures show at most this value.
BETA_CEILING = 10.0


class Band(NamedTuple):
    """A curve with an interval around it, arrays [point]; the bounds are NaN where they are unknown.

    counts: what else identifies it in a file, such as the number of runs.
    """

    x: Floats | Integers
    mean: Floats
    low: Floats
    high: Floats
    counts: tuple[int, ...]


#: Names of the row and of the column of a panel.
Key = tuple[str, str]
#: Key → agent → curve.
Panels = Mapping[Key, Mapping[str, Band]]
#: Sets the vertical limits and the ticks of a panel, and adds what is special to a figure.
Finish = Callable[[Axes, Mapping[str, Band], Key], None]
#: A text of the legend, and the properties of its line.
Entry = tuple[str, dict[str, Any]]


def panel_rows(panels: Panels) -> list[tuple[Any, ...]]:
    """One row per point of every curve: names of the panel that are not empty, agent, counts, x, mean and bounds."""
    return [
        (*filter(None, key), agent, *band.counts, *values)
        for key, bands in panels.items()
        for agent, band in bands.items()
        for values in zip(*(np.asarray(column).tolist() for column in band[:4]), strict=True)
    ]


def draw_panels(
    panels: Panels,
    columns: Sequence[str],
    styles: dict[str, AgentStyle],
    labels: tuple[str, str],
    finish: Finish,
    more: Sequence[Entry] = (),
    names: Mapping[str, str] | None = None,
    panel_height: float | None = None,
    share_y: bool = True,
    empty: Mapping[Key, str] | None = None,
    missing: bool = True,
) -> Figure:
    """The curves of the agents in `styles`; labels: of the x-axis and the y-axis.

    columns: the order of the columns, of which those with a panel are drawn. more: entries of the legend after the
    agents, names: how rows, columns and agents are shown. share_y: the panels of a row have one vertical scale.
    empty: panels without curves → the reason. missing: panels name the agents that they lack.
    """
    names, empty = names or {}, empty or {}
    page_width, page_height = style.page_size()
    rows, used = list(dict.fromkeys(row for row, _ in panels)), {column for _, column in panels}
    columns = [name for name in columns if name in used]
    legend = [*((names.get(agent, agent), look.line) for agent, look in styles.items()), *more]
    across, down = len(columns), len(rows)
    least = page_width if down == across == 1 else 0.65 * across + LEFT
    width = max(min(LEFT + 2.5 * across, page_width), least)
    panel_width = (width - LEFT) / across - 0.1
    legend_columns = _legend_columns([text for text, _ in legend], width)
    above = AROUND + 0.15 * -(-len(legend) // legend_columns)
    fitting = (page_height - above) / down - BELOW
    high = panel_height or max(min(max((0.86 if across > 2 else 0.66) * panel_width, 0.62), fitting), 0.5)
    figure = Figure(figsize=(width, above + down * (high + BELOW)))
    grid = figure.subplots(down, across, squeeze=False, sharey="row" if share_y else False)
    for axes, name in zip(grid[0], columns, strict=True):
        axes.set_title(wrapped(names.get(name, name), panel_width + 0.1, bold=True))
    for axes, name in zip(grid[:, 0], rows, strict=True):
        axes.set_ylabel(wrapped(names.get(name, name), high + BELOW, bold=True), weight="bold")
    figure.align_ylabels(grid[:, 0])
    figure.supxlabel(labels[0])
    figure.supylabel(wrapped(labels[1], down * (high + BELOW) + 0.2))
    handles = [Line2D([], [], **line) for _, line in legend]
    texts = [wrapped(text, width - SAMPLE, 1) for text, _ in legend]
    figure.legend(handles, texts, loc="outside upper center", ncols=legend_columns)
    for (i, j), axes in np.ndenumerate(grid):
        key = rows[i], columns[j]
        bands = panels.get(key, {})
        if bands:
            axes.set_xlim(min(band.x[0] for band in bands.values()), max(band.x[-1] for band in bands.values()))
        finish(axes, bands, key)
        if bands and key not in empty:
            _draw_curves(axes, bands, styles)
            if missing:
                _name_absent(axes, [names.get(agent, agent) for agent in styles if agent not in bands])
        else:
            _draw_empty(axes, empty.get(key, "no runs"))
    return figure


def _legend_columns(texts: Sequence[str], width: float) -> int:
    """The most columns of a legend that fits; matplotlib fills it column by column."""
    for columns in range(len(texts), 1, -1):
        longest = [max(map(len, part)) for part in np.array_split(np.array(texts, object), columns)]
        if sum(SAMPLE + style.LABEL * style.CHARACTER * characters for characters in longest) <= width:
            return columns
    return 1


def _draw_empty(axes: Axes, reason: str) -> None:
    """A panel without curves."""
    axes.set_facecolor(style.PALE)
    axes.spines[:].set_visible(False)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    axes.text(0.5, 0.5, wrapped(reason, 0.7, 3, style.TICK), transform=axes.transAxes, ha="center", va="center",
              size=style.TICK, color=style.FADED)  # fmt: skip


def _draw_curves(axes: Axes, bands: Mapping[str, Band], styles: dict[str, AgentStyle]) -> None:
    """The curves of agents in a panel, the first one on top.

    An interval is a shade, where the mean is inside the panel; shades of many curves are lighter.
    """
    alpha = max(min(0.22, 1.32 / len(bands)), 0.06)
    for order, (agent, look) in enumerate(reversed(styles.items()), 2):
        if agent in bands:
            x, mean, low, high, _ = bands[agent]
            if not np.isnan(low).any():
                axes.fill_between(
                    x, low, high, where=mean >= axes.get_ylim()[0],
                    color=look.colour, alpha=alpha, linewidth=0, zorder=order - 0.5,
                )  # fmt: skip
            axes.plot(x, mean, zorder=order, **look.line)


def _name_absent(axes: Axes, absent: Sequence[str]) -> None:
    """The names of agents without a curve, at the bottom of a panel."""
    if absent:
        text = "no " + (", ".join(absent) if len(absent) <= 2 else f"{len(absent)} agents")
        box = {"facecolor": "white", "alpha": 0.8, "pad": 0.5, "linewidth": 0}
        axes.text(0.5, 0.03, wrapped(text, 0.7, size=style.SMALL), transform=axes.transAxes, ha="center", va="bottom",
                  color=style.FADED, size=style.SMALL, zorder=99, bbox=box)  # fmt: skip


def show_steps(axes: Axes, parts: int = 2) -> None:
    """Training steps in thousands along the horizontal axis, at its ends and between them."""
    last = axes.get_xlim()[1]
    ticks = [last * i / parts for i in range(parts + 1)]
    axes.set_xticks(ticks, [style.number(tick / 1000) for tick in ticks])


@lru_cache(maxsize=4096)
def mean_curve(cell: CellResults | Recorded, column: str, statistic: str = "mean") -> Band:
    """A statistic over seeds with its 95% interval, at the shown points; β is cut at its ceiling.

    The mean has Student's interval, which is cut at the optimum and other limits of what is possible.
    """
    values, points = _curve(cell, column), shown_points(len(cell.steps))
    if column == "beta":
        values = np.minimum(values, BETA_CEILING)
    steps, values = cell.steps[points], values[:, points]
    exact = cell.settings.get("evaluation") == "exact"
    interval = possible(STATISTICS[statistic](values), column, steps, cell.optimal_return if exact else np.inf)
    return Band(steps, *interval, (len(values),))


def possible(interval: Interval, column: str, steps: Integers, optimum: float) -> Interval:
    """An interval of a metric cut where no value can be: returns at the optimum, counts at 0 and the step."""
    estimate, low, high = interval
    limits = {"return": (-np.inf, optimum), "explored": (0, 1), "beta": (0, np.inf)}
    least, most = limits.get(column, (0, steps) if column in COUNTS else (-np.inf, np.inf))
    return Interval(estimate, np.clip(low, least, None), np.maximum(np.clip(high, None, most), estimate))


@lru_cache(maxsize=4096)
def solving_steps(cell: CellResults) -> Floats:
    """The step from which each seed stays solved, infinite if it does not end solved, [seed]."""
    _curve(cell, "return")
    if np.isnan(cell.target_return):
        raise MonMDPError(f"The best return in {cell.problem_name} is not known, so no run counts as solved.")
    return cell.steps_until_solved


def _curve(cell: CellResults | Recorded, column: str) -> np.ndarray:
    values = cell.curve(column)
    if column == "return" and np.isnan(values).any():
        raise MonMDPError(f"{cell.agent} was not evaluated in {cell.problem_name}, so it has no returns.")
    return values


def shown_points(points: int) -> Integers:
    """Indices of the points that are drawn: evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, points - 1, min(points, SHOWN_POINTS)).round().astype(np.int64))


def returns(data: FigureData, main: bool = False) -> Drawing:
    """Greedy return during training, with the optimum; curves that end far below it are marked under the panel."""
    return _return_grid(data, _panels(data, lambda cell: mean_curve(cell, "return", data.statistic), main))


def _return_grid(data: FigureData, panels: Panels, **options: Any) -> Drawing:
    """Curves of returns with the optimum. options: those of `_grid`."""
    targets = {problem: {cell.target_return for cell in data.results.of_problem(*problem)} for problem in panels}
    optima = {problem: sorted(filter(np.isfinite, values)) for problem, values in targets.items()}
    finish, legend = return_axis(panels, optima, data.styles)
    drawing = _grid(data, panels, GREEDY_RETURN, finish, more=[*legend, *options.pop("more", ())], **options)
    drawing.rows.extend(
        (*problem, "optimum", "", x, optimum, "", "")
        for problem, bands in panels.items()
        for optimum in optima[problem]
        for x in (min(band.x[0].item() for band in bands.values()), max(band.x[-1].item() for band in bands.values()))
    )
    return drawing


def against(data: FigureData, column: str) -> Drawing:
    """Greedy return over what a metric counted until then, such as rewards observed; its axis is logarithmic."""
    recorded, note = _recorded(data, column)
    first = {}
    for problem in data.results.problems:
        spent = [
            cell.curve(column).astype(np.float64) for cell in data.results.of_problem(*problem) if cell in recorded
        ]
        first[problem] = min((float(np.min(each, initial=np.inf, where=each > 0)) for each in spent), default=np.inf)

    def band(cell: CellResults) -> Band | None:
        start = first[cell.environment, cell.monitor]
        return _spent_curve(cell, column, start, data.statistic) if cell in recorded and start < np.inf else None

    panels = _panels(data, band)
    if not panels:
        raise MonMDPError(f"In {data.results.folder}, the metric {column!r} is never above zero.")
    return _return_grid(data, panels, more=note, x=(column, f"{LABELS[column]} (logarithmic)", show_powers))


def _spent_curve(cell: CellResults, column: str, start: float, statistic: str) -> Band:
    """A statistic over seeds of the last return that a seed had before its metric exceeded x, from x = start on."""
    returns, spent = _curve(cell, "return"), np.maximum.accumulate(cell.curve(column), axis=1)
    x = np.geomspace(start, max(float(spent.max()), start), SHOWN_POINTS)
    before = [np.searchsorted(one, x * (1 + 1e-12), "right") - 1 for one in spent]
    values = np.take_along_axis(returns, np.array(before), axis=1)
    optimum = cell.optimal_return if cell.settings.get("evaluation") == "exact" else np.inf
    return Band(x, *possible(STATISTICS[statistic](values), "return", cell.steps, optimum), (len(values),))


def regret(data: FigureData) -> Drawing:
    """Reward that the policy that can be learned would have collected in the same steps, minus what was collected."""
    recorded, note = _recorded(data, "collected")

    def band(cell: CellResults) -> Band | None:
        if cell not in recorded or np.isnan(cell.best_gain):
            return None
        points = shown_points(len(cell.steps))
        lost = (cell.best_gain * cell.steps - cell.curve("collected"))[:, points]
        return Band(cell.steps[points], *STATISTICS[data.statistic](lost), (len(lost),))

    panels = _panels(data, band)
    if not panels:
        raise MonMDPError(f"No problem in {data.results.folder} can be built again from its name, so it has no regret.")
    return _grid(data, panels, "regret: reward lost while learning", count_axis(), more=note, share_y=False)


def _recorded(data: FigureData, column: str) -> tuple[list[CellResults], list[Entry]]:
    """The cells whose runs all have a metric, and a note for the legend if others do not."""
    cells = list(data.results.cells.values())
    recorded = [cell for cell in cells if not np.isnan(cell.curve(column)).any()]
    if not recorded:
        raise MonMDPError(
            f"No agent in {data.results.folder} has {column!r} in all its runs: an earlier version made them; "
            "make them again in another folder."
        )
    return recorded, [] if len(recorded) == len(cells) else [(NOT_RECORDED, {"linestyle": "none"})]


def return_axis(
    panels: Panels, optima: Mapping[Key, Sequence[float]], styles: Mapping[str, AgentStyle]
) -> tuple[Finish, list[Entry]]:
    """An axis of returns for the panels of a row with the optima; curves that end far below are marked under it.

    A row without optima has the axis that fits its curves; intervals of few runs may be much wider.
    """
    known = {
        name: [optimum for (row, _), values in optima.items() if row == name for optimum in values]
        for name, _ in panels
    }
    limits = {
        name: return_limits(
            values, [band.mean for (row, _), bands in panels.items() if row == name for band in bands.values()]
        )
        for name, values in known.items()
        if values
    }
    below = any(
        band.mean[-1] < limits[row][0] for (row, _), bands in panels.items() if row in limits for band in bands.values()
    )

    def finish(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        few_ticks(axes.yaxis, 3 if len(panels) > 1 else 5)
        if problem[0] not in limits:
            means = [band.mean for (row, _), own in panels.items() if row == problem[0] for band in own.values()]
            least, most = float(np.nanmin(np.concatenate(means))), float(np.nanmax(np.concatenate(means)))
            margin = 0.1 * (most - least) or 1.0
            axes.set_ylim(least - margin, most + margin)
            return
        low, high = limits[problem[0]]
        axes.set_ylim(low, high)
        for optimum in optima.get(problem, ()):
            axes.axhline(optimum, zorder=1, **OPTIMUM)
        lost = {agent: float(band.mean[-1]) for agent, band in bands.items() if band.mean[-1] < low}
        parts = _intervals(panels)
        for i, (agent, value) in enumerate(lost.items()):  # between the numbers at the ticks
            text = "▾" + (number(round(value, 1 if abs(value) < 10 else 0)) if len(lost) <= parts else "")
            x = (i % parts + 0.25 + 0.5 * (i // parts + 0.5) / -(-len(lost) // parts)) / parts
            axes.annotate(
                text, (x, 0), (0, -3.5), xycoords="axes fraction", textcoords="offset points",
                ha="center", va="top", size=style.TICK - 0.5, color=styles[agent].colour,
            )  # fmt: skip

    return finish, [("optimum", OPTIMUM)] * bool(limits) + (
        [("final return, below the axis", ENDS_BELOW)] if below else []
    )


def return_limits(optima: Sequence[float], curves: Sequence[Floats]) -> tuple[float, float]:
    """Lowest and highest return of an axis for curves [point] that end at or below one of the optima.

    The typical gap is the distance from the best optimum to earning nothing, or the median gap at the end if that is
    larger. Curves that end much further down are outside, so that they do not flatten others; all optima are inside.
    """
    best = max(optima)
    gaps = best - np.array([curve[-1] for curve in curves])
    typical = max(best, float(np.quantile(gaps, 0.5, method="lower")))
    if typical < 1e-9:  # the optimum is 0 and all end there: show where the curves start
        typical = max(float(np.max(best - np.concatenate(curves))), abs(best), 1.0)
    reached = gaps[gaps <= REACH * typical]
    gap = max(typical, float(reached.max(initial=0.0)), best - min(optima))
    return best - (1.0 + SPACE) * gap, best + SPACE * gap


def observed(data: FigureData, main: bool = False) -> Drawing:
    """Rewards observed during training."""
    panels = _panels(data, lambda cell: mean_curve(cell, "observed", data.statistic), main)
    return _grid(data, panels, f"{LABELS['observed']} (thousands)", count_axis(1000), share_y=False)


def count_axis(scale: float = 1.0) -> Finish:
    """An axis from zero or the smallest value to a little above the largest, with numbers divided by `scale`."""

    def finish(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        edges = [edge for band in bands.values() for edge in (band.mean, band.low, band.high)]
        most = max((float(np.nanmax(edge, initial=0.0)) for edge in edges), default=0.0)
        least = min((float(np.nanmin(edge, initial=0.0)) for edge in edges), default=0.0)
        size = most - least or 1.0
        axes.set_ylim(least - 0.03 * size, least + 1.06 * size)
        few_ticks(axes.yaxis, 3, scale)

    return finish


def exploring(data: FigureData) -> Drawing:
    """Fraction of the steps that explored, with the bounds of Theorem 1 for variants of Directed."""
    recorded, note = _recorded(data, "explored")

    def band(cell: CellResults) -> Band | None:
        if cell not in recorded:
            return None
        wanted = np.geomspace(cell.steps[1], cell.steps[-1], SHOWN_POINTS)
        points = np.unique(np.searchsorted(cell.steps[:-1], wanted))
        steps, values = cell.steps[points], cell.curve("explored")[:, points]
        interval = possible(STATISTICS[data.statistic](values), "explored", steps, np.inf)
        return Band(steps, *interval, (len(values),))

    panels = _panels(data, band)
    bounds: dict[Key, dict[str, tuple[Integers, Floats]]] = {problem: {} for problem in panels}
    for (*problem, agent), cell in data.results.cells.items():
        if kind(agent) == "Directed" and cell in recorded:
            with suppress(MissingError):
                rho, _, _, values = theorem_bound(cell)
                x = panels[problem[0], problem[1]][agent].x
                bounds[problem[0], problem[1]][rho] = x, values[np.isin(cell.steps, x)]
    shown = [band.mean[band.mean > 0] for bands in panels.values() for band in bands.values()]
    low = min((float(values.min()) for values in shown if len(values)), default=0.1) / 1.6
    ticks = [10.0**power for power in range(int(np.ceil(np.log10(low))), 1)]

    def finish(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        for rho, line in bounds.get(problem, {}).items():
            axes.plot(*line, zorder=1, **BOUNDS[rho])
        axes.set(yscale="log", ylim=(low, 3.0))
        axes.set_yticks(ticks, [number(tick) for tick in ticks])
        axes.minorticks_off()

    used = {rho: None for lines in bounds.values() for rho in lines}
    more = [*((f"bound of Theorem 1, {rho}", BOUNDS[rho]) for rho in used), *note]
    x_axis = "step", "training steps (logarithmic)", show_powers
    drawing = _grid(data, panels, "fraction of exploring steps (logarithmic)", finish, x_axis, more=more)
    drawing.rows.extend(
        (*problem, f"bound, {rho}", "", step, value, "", "")
        for problem, lines in bounds.items()
        for rho, line in lines.items()
        for step, value in zip(*(column.tolist() for column in line), strict=True)
    )
    return drawing


def beta(data: FigureData) -> Drawing:
    """β during training and its threshold."""
    panels = _panels(data, lambda cell: mean_curve(cell, "beta", data.statistic) if _records_beta(cell) else None)
    if not panels:
        raise MonMDPError(f"No agent in {data.results.folder} records β; Directed does.")
    least = min(float(band.mean.min()) for bands in panels.values() for band in bands.values())
    finish, legend = beta_axis(list(data.results.cells.values()), least / 2)
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
        names[cell.agent] = f"{data.results.labels[cell.agent]}, seed {seed}{shade}"
    finish, legend = beta_axis(cells, min(float(band.low.min()) for band in bands.values()) / 1.6)
    label = f"{LABELS['beta']} (infinite: shown as 10)"
    drawing = _grid(data, {data.problem: bands}, label, finish, more=legend, names=names, panel_height=1.75)
    columns = ("environment", "monitor", "agent", "seed", "runs", "step", "beta", "low_5", "high_95")
    return Drawing(drawing.figure, columns, drawing.rows)


def _records_beta(cell: CellResults) -> bool:
    """Whether the agent has an explore-exploit ratio."""
    return not np.isnan(cell.curve("beta")).any()


def beta_axis(cells: Sequence[CellResults | Recorded], least: float) -> tuple[Finish, list[Entry]]:
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

    panels = _panels(data, band)
    unsolved = [problem for problem, bands in panels.items() if not any(one.mean.any() for one in bands.values())]
    empty = dict.fromkeys(unsolved, "no seed solved")
    return _grid(data, panels, "seeds solved permanently (%)", finish, empty=empty)


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


def _intervals(panels: Panels) -> int:
    """The number of intervals of the axis of training steps."""
    return 4 if len(panels) == 1 else 2


def show_powers(axes: Axes, parts: int = 2) -> None:
    """A logarithmic horizontal axis with few numbers."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    wanted = [factor * 10.0**power for power in range(-9, 16) for factor in (1, 2, 5)]
    ticks = [tick for tick in wanted if low * 0.999 <= tick <= high * 1.001]
    powers = [tick for tick in ticks if f"{tick:e}".startswith("1.0")]
    chosen = powers if len(powers) > 1 else ticks
    chosen = chosen[:: -(-len(chosen) // (2 * parts)) or 1]
    axes.set_xticks(chosen, [_short(tick) for tick in chosen])
    axes.minorticks_off()


def _short(tick: float) -> str:
    """A number with k or M for its thousands or millions."""
    return f"{tick:g}" if tick < 1e4 else f"{tick / 1e3:g}k" if tick < 1e6 else f"{tick / 1e6:g}M"


#: The horizontal axis: its column in a file, its label, and a function that sets the ticks.
XAxis = tuple[str, str, Callable[[Axes, int], None]]


def _grid(
    data: FigureData,
    panels: Panels,
    y_label: str,
    finish: Finish,
    x: XAxis = ("step", STEPS, show_steps),
    **options: Any,
) -> Drawing:
    """Curves over training steps in panels of environments × monitors. options: those of `draw_panels`."""
    column, x_label, show_x = x
    styles = {agent: look for agent, look in data.styles.items() if any(agent in bands for bands in panels.values())}

    def finish_x(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        finish(axes, bands, problem)
        show_x(axes, _intervals(panels))

    options["names"] = data.results.labels | options.get("names", {})
    figure = draw_panels(panels, data.results.monitors, styles, (x_label, y_label), finish_x, **options)
    renamed = {"mean": data.statistic, "step": column}
    return Drawing(figure, tuple(renamed.get(name, name) for name in COLUMNS), panel_rows(panels))
