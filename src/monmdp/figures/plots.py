"""`monmdp.plot` and `monmdp.heatmap`: figures of curves and tables that are in memory."""

import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from monmdp.errors import MonMDPError, nearest
from monmdp.figures import style
from monmdp.figures.curves import (
    GREEDY_RETURN,
    LABELS,
    STEPS,
    Band,
    Key,
    beta_axis,
    count_axis,
    draw_panels,
    mean_curve,
    return_axis,
    show_steps,
)  # fmt: skip
from monmdp.figures.heatmaps import draw_map
from monmdp.files import write_atomically
from monmdp.problem import Floats, MonMDP
from monmdp.registry import short_labels
from monmdp.render.text import action_symbol
from monmdp.statistics import STATISTICS
from monmdp.training.curves import Recorded

#: Most maps side by side, and the largest height of maps in inches.
MAPS, HEIGHT = 4, 7.0
#: Inches of a cell of a map: at most, and at least if arrows are to be readable; and their size in points per inch.
CELL, LEAST_CELL, ARROW = 0.42, 0.16, 25.0
#: Actions whose values differ by at most this, times the scale of the problem, are equally good.
TIE = 1e-9

Size = tuple[float, float]


def plot(
    curves: Recorded | Iterable[Recorded] | Mapping[str, Recorded],
    metric: str = "return",
    *,
    statistic: str = "mean",
    size: Size | None = None,
    path: Path | str | None = None,
) -> Figure:
    """Draw a metric of several `Curves` over training steps: a statistic over seeds with its 95% interval.

    curves: of any agents and problems; each problem gets a panel. A mapping has labels as keys. metric: return,
    observed, visited, beta, explored, paid or collected. statistic: mean, median or iqm. size: width and height in
    inches. path: a .png, .pdf or .svg file. Returns a matplotlib figure.
    """
    named = _labelled(curves)
    if metric not in LABELS:
        raise MonMDPError(f"There is no metric called {metric!r}. {nearest(metric, list(LABELS))}")
    if statistic not in STATISTICS:
        raise MonMDPError(f"A curve shows {', '.join(STATISTICS)}, not {statistic!r}.")
    problems = {(one.environment, one.monitor) for _, one in named}
    factorial = len(problems) == len({row for row, _ in problems}) * len({column for _, column in problems})
    panels: dict[Key, dict[str, Band]] = {}
    optima: dict[Key, list[float]] = {}
    for label, one in named:
        key = (one.environment, one.monitor) if factorial else (one.problem_name, "")
        panels.setdefault(key, {})[label] = mean_curve(one, metric, statistic)
        if not np.isnan(one.target_return):  # unknown in live training
            optima[key] = sorted({*optima.get(key, ()), one.target_return})
    styles = style.agent_styles(list(dict.fromkeys(label for label, _ in named)))
    if metric == "return":
        finish, more = return_axis(panels, optima, styles)
    elif metric == "beta":
        lowest = min((float(np.nanmin(band.mean)) for b in panels.values() for band in b.values()), default=1.0)
        finish, more = beta_axis([one for _, one in named], lowest / 2)
    else:
        finish, more = count_axis(), []

    def finish_steps(axes: Axes, bands: Mapping[str, Band], problem: Key) -> None:
        finish(axes, bands, problem)
        show_steps(axes, 4 if len(panels) == 1 else 2)

    runs = {len(one.seeds) for _, one in named}
    over = f"; {statistic} of {min(runs)} seeds with its 95% interval" if len(runs) == 1 and min(runs) > 1 else ""
    labels = STEPS + over, GREEDY_RETURN if metric == "return" else LABELS[metric]
    columns = list(dict.fromkeys(column for _, column in panels))
    height = 2.2 if len(panels) == 1 else None
    with style.styled(None if size is None else size[0]):
        figure = draw_panels(
            panels, columns, styles, labels, finish_steps, more, panel_height=height, missing=False
        )  # fmt: skip
        return _finished(figure, size, path)


def _labelled(curves: Recorded | Iterable[Recorded] | Mapping[str, Recorded]) -> list[tuple[str, Recorded]]:
    """Labels with their curves; two curves of one problem have different labels."""
    if isinstance(curves, Mapping):
        named = [(str(label), one) for label, one in curves.items()]
    else:
        several = [curves] if isinstance(curves, Recorded) else list(curves)
        if not all(isinstance(one, Recorded) for one in several):
            raise MonMDPError("plot needs Curves, as monmdp.train, record and train_live return them.")
        agents = list(dict.fromkeys(one.agent for one in several))
        labels = dict(zip(agents, short_labels(agents), strict=True))
        named = [(labels[one.agent], one) for one in several]
    if not named:
        raise MonMDPError("There are no curves to plot.")
    [(key, times)] = Counter((label, one.problem_name) for label, one in named).most_common(1)
    if times > 1:
        raise MonMDPError(
            f"{times} curves of {key[1]} are called {key[0]}; name them, as in plot({{'mine': a, 'theirs': b}})."
        )
    return named


def heatmap(
    problem: MonMDP,
    values: npt.ArrayLike,
    *,
    greedy: npt.ArrayLike | None = None,
    label: str = "value",
    title: str = "",
    log: bool = False,
    size: Size | None = None,
    path: Path | str | None = None,
) -> Figure:
    """Draw values of states on the grid of a problem, one map per monitor state.

    values: [S], or [S, A] such as `solve(problem).q`, of which each state shows the largest. greedy [S, A]: its best
    environment actions are drawn as arrows; by default those of values [S, A]. log: logarithmic colours, zero is grey.
    """
    table, shapes = np.asarray(values, np.float64), [(problem.n_states,), (problem.n_states, problem.n_actions)]
    actions = table if greedy is None else np.asarray(greedy, np.float64)
    if table.shape not in shapes or (greedy is not None and actions.shape != shapes[1]):
        raise MonMDPError(
            f"A heat map of {problem.name} needs values of shape {shapes[0]} or {shapes[1]}, not {table.shape}."
        )
    colour = np.where(problem.reachable, table if table.ndim == 1 else table.max(1), np.nan)
    arrows = _arrows(problem, actions) if actions.ndim == 2 else np.full(problem.n_states, "")
    layout, monitor_states = problem.environment.layout, problem.monitor.states
    places, shape = _places(problem) if layout is None else (layout.cells, (layout.rows, layout.columns))
    across = min(len(monitor_states), MAPS)
    down = -(-len(monitor_states) // across)
    with style.styled(None if size is None else size[0]):
        cell = min(CELL, (style.page_size()[0] - 0.4) / across / shape[1], HEIGHT / down / shape[0])
        figure = Figure(figsize=(0.4 + across * (cell * shape[1] + 0.15), 0.9 + down * (cell * shape[0] + 0.25)))
        grid = figure.subplots(down, across, squeeze=False)
        norm, colours = _norm(colour, log), matplotlib.colormaps["viridis"].with_extremes(bad=style.PALE)
        for monitor_state, axes in enumerate(grid.flat):
            if monitor_state >= len(monitor_states):
                axes.set_visible(False)
                continue
            picture, texts = np.full(shape, np.nan), np.full(shape, "", object)
            for env_state, place in enumerate(places):
                state = env_state * len(monitor_states) + monitor_state
                picture[place], texts[place] = colour[state], arrows[state]
            draw_map(axes, picture, norm, colours, texts, ARROW * cell if cell >= LEAST_CELL else 0.0)
            axes.set_aspect("equal")
            if len(monitor_states) > 1:
                axes.set_title(f"monitor {monitor_states[monitor_state]}", size=style.TICK)
        bar = figure.colorbar(
            ScalarMappable(norm, colours), ax=grid, location="bottom", label=label, aspect=40, pad=0.03,
            format=lambda value, _: style.number(round(value, 9)),
        )  # fmt: skip
        bar.ax.minorticks_off()
        if log:
            ends = math.log10(float(norm.vmin or 1.0)), math.log10(float(norm.vmax or 10.0))
            bar.set_ticks([float(f"{value:.2g}") for value in np.logspace(*ends, 4)])
        figure.set_layout_engine("compressed")
        figure.suptitle(title or problem.name, size=style.LABEL, weight="bold")
        return _finished(figure, size, path)


def _places(problem: MonMDP) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """Row and column of every environment state without a position, in rows twice as long as there are; their shape."""
    n_states = len(problem.environment.states)
    columns = math.ceil(math.sqrt(2 * n_states))
    return [divmod(state, columns) for state in range(n_states)], (math.ceil(n_states / columns), columns)


def _norm(values: Floats, log: bool) -> Normalize:
    """A scale of colours for values, of which some are NaN."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if not log:
        return Normalize(low, high if high > low else low + 1.0)
    least = float(np.min(values[values > 0], initial=np.inf))
    return LogNorm(least, max(high, 10 * least)) if least < np.inf else LogNorm(1.0, 10.0)


def _arrows(problem: MonMDP, actions: Floats) -> Any:
    """The best environment actions of every state as symbols, [S]; a dot if there are more than two."""
    texts = np.full(problem.n_states, "", object)
    for state in np.flatnonzero(problem.reachable & ~np.isnan(actions).any(1)):
        best = np.flatnonzero(actions[state] >= actions[state].max() - TIE * problem.scale)
        chosen = sorted({problem.split_action(int(action))[0] for action in best})
        symbols = [action_symbol(problem.environment.actions[action]) for action in chosen]
        texts[state] = "".join(symbols) if len(symbols) <= 2 else "·"
    return texts


def _finished(figure: Figure, size: Size | None, path: Path | str | None) -> Figure:
    """A figure of the wanted size, written to a file if there is a path."""
    if size is not None:
        figure.set_size_inches(*size)
    figure.draw_without_rendering()
    if path is not None:
        write_atomically(Path(path), picture_bytes(figure, Path(path).suffix))
    return figure


def picture_bytes(figure: Figure, suffix: str) -> bytes:
    """A figure as the bytes of a file."""
    kind, sink = suffix.lstrip(".").lower(), io.BytesIO()
    if kind not in ("png", "pdf", "svg"):
        raise MonMDPError(f"A figure is written as .png, .pdf or .svg, not {suffix!r}.")
    figure.savefig(sink, format=kind)
    return sink.getvalue()
