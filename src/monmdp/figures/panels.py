"""A grid of small panels with curves, such as environments down and monitors across, and a legend on top."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from monmdp.figures import style
from monmdp.figures.style import AgentStyle, wrapped
from monmdp.problem import Floats, Integers

#: Inches that labels take left of all panels, above and below them, and below each panel; and a legend's sample line.
LEFT, AROUND, BELOW, SAMPLE = 0.75, 0.6, 0.2, 0.45
STEPS = "training steps (thousands)"


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
) -> Figure:
    """The curves of the agents in `styles`; labels: of the x-axis and the y-axis.

    columns: the order of the columns, of which those with a panel are drawn. more: entries of the legend after the
    agents, names: agents as the legend shows them. share_y: the panels of a row have one vertical scale.
    """
    rows, used = list(dict.fromkeys(row for row, _ in panels)), {column for _, column in panels}
    columns = [name for name in columns if name in used]
    legend = [*(((names or {}).get(agent, agent), look.line) for agent, look in styles.items()), *more]
    across, down = len(columns), len(rows)
    least = style.WIDTH if down == across == 1 else 0.65 * across + LEFT
    width = max(min(LEFT + 2.5 * across, style.WIDTH), least)
    panel_width = (width - LEFT) / across - 0.1
    legend_columns = _legend_columns([text for text, _ in legend], width)
    above = AROUND + 0.15 * -(-len(legend) // legend_columns)
    fitting = (style.HEIGHT - above) / down - BELOW
    high = panel_height or max(min(max((0.86 if across > 2 else 0.66) * panel_width, 0.62), fitting), 0.5)
    figure = style.new_figure(width, above + down * (high + BELOW))
    grid = figure.subplots(down, across, squeeze=False, sharey="row" if share_y else False)
    for axes, name in zip(grid[0], columns, strict=True):
        axes.set_title(wrapped(name, panel_width + 0.1, bold=True))
    for axes, name in zip(grid[:, 0], rows, strict=True):
        axes.set_ylabel(wrapped(name, high + BELOW, bold=True), weight="bold")
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
        _draw_curves(axes, bands, styles)
    return figure


def _legend_columns(texts: Sequence[str], width: float) -> int:
    """The most columns of a legend that fits; matplotlib fills it column by column."""
    for columns in range(len(texts), 1, -1):
        longest = [max(map(len, part)) for part in np.array_split(np.array(texts, object), columns)]
        if sum(SAMPLE + style.LABEL * style.CHARACTER * characters for characters in longest) <= width:
            return columns
    return 1


def _draw_curves(axes: Axes, bands: Mapping[str, Band], styles: dict[str, AgentStyle]) -> None:
    """The curves of agents in a panel, the first one on top; missing ones are named.

    An interval is a shade, where the mean is inside the panel.
    """
    for order, (agent, look) in enumerate(reversed(styles.items()), 2):
        if agent in bands:
            x, mean, low, high, _ = bands[agent]
            if not np.isnan(low).any():
                axes.fill_between(
                    x, low, high, where=mean >= axes.get_ylim()[0],
                    color=look.colour, alpha=0.22, linewidth=0, zorder=order - 0.5,
                )  # fmt: skip
            axes.plot(x, mean, zorder=order, **look.line)
    absent = [agent for agent in styles if agent not in bands]
    text: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "color": style.FADED}
    if not bands:
        axes.set_facecolor(style.PALE)
        axes.spines[:].set_visible(False)
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0)
        axes.text(0.5, 0.5, "no runs", va="center", size=style.TICK, **text)
    elif absent:
        names = "no " + (", ".join(absent) if len(absent) <= 2 else f"{len(absent)} agents")
        box = {"facecolor": "white", "alpha": 0.8, "pad": 0.5, "linewidth": 0}
        name = wrapped(names, 0.7, size=style.SMALL)
        axes.text(0.5, 0.03, name, va="bottom", size=style.SMALL, zorder=99, bbox=box, **text)


def show_steps(axes: Axes, parts: int = 2) -> None:
    """Training steps in thousands along the horizontal axis; two parts have a bare mark between them."""
    last = axes.get_xlim()[1]
    ticks = [last * i / parts for i in range(parts + 1)]
    labels = [style.number(tick / 1000) for tick in ticks]
    axes.set_xticks(ticks, labels if parts > 2 else [labels[0], "", labels[-1]])
