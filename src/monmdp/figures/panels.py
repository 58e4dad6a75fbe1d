"""A grid of small panels, environments down and monitors across, laid out in inches with a legend on top."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monmdp.figures.style import FADED, HEIGHT, LABEL, PALE, SMALLEST, TICK, WIDTH, AgentStyle, new_figure
from monmdp.figures.text import cut, fitted, line_height, one_line, set_ticks, text_width, thousands

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: before the names of the rows, for numbers, right of all, between panels with and without numbers of
#: their own, below each, below all; room for the name of a row; and the smallest and largest panels.
NAMES, NUMBERS, RIGHT, GAP_NUMBERED, GAP, GAP_BELOW, BOTTOM, SIDE = 0.16, 0.33, 0.06, 0.27, 0.1, 0.21, 0.36, 0.8
LEAST_WIDTH, MOST_WIDTH, LEAST_HEIGHT = 0.55, 2.4, 0.5
#: Inches of a legend's sample of line, the space after it, and between entries.
SAMPLE, AFTER, BETWEEN = 0.26, 0.06, 0.18


@dataclass(frozen=True, eq=False)
class PanelGrid:
    """A figure and its axes [row][column]."""

    figure: Figure
    axes: list[list[Axes]]


def panel_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    x_label: str,
    y_label: str,
    legend: Sequence[tuple[str, dict[str, Any]]],
    own_numbers: bool = False,
    panel: tuple[float, float] | None = None,
) -> PanelGrid:
    """Empty panels under labels of the columns, beside labels of the rows.

    legend: text and properties of a line, one entry each. own_numbers: every panel has its own vertical scale,
    and room for its numbers. panel: inches of a panel; by default what fits on a page.
    """
    across, down = len(columns), len(rows)
    gap = GAP_NUMBERED if own_numbers else GAP
    sides = [fitted(name, SIDE, 2, bold=True) for name in rows]
    beside = max(line_height(one.size) * len(one.text.splitlines()) for one in sides)
    left = NAMES + beside + NUMBERS
    wide = (WIDTH - left - RIGHT - gap * (across - 1)) / across
    wide = panel[0] if panel else min(max(wide, LEAST_WIDTH), MOST_WIDTH)
    width = max(left + RIGHT + across * wide + gap * (across - 1), 2.6)
    heads = [fitted(name, wide + gap * 0.8, lines=2, bold=True) for name in columns]
    head = max(line_height(one.size) * len(one.text.splitlines()) for one in heads) + 0.05
    legend = [(cut(one_line(text), width - SAMPLE - AFTER - 0.1), look) for text, look in legend]
    lines = _legend_lines([text for text, _ in legend], width)
    above = 0.04 + line_height(LABEL) * 1.15 * len(lines) + 0.05
    room = HEIGHT - above - head - BOTTOM
    high = min(max(0.86 * wide, 0.62) if across > 2 else 0.66 * wide, room / down - GAP_BELOW)
    high = panel[1] if panel else max(high, LEAST_HEIGHT)
    height = above + head + down * high + (down - 1) * GAP_BELOW + BOTTOM
    figure = new_figure(width, height)
    axes = []
    for i, name in enumerate(rows):
        bottom = BOTTOM + (down - 1 - i) * (high + GAP_BELOW)
        axes.append([
            figure.add_axes((
                (left + j * (wide + gap)) / width, bottom / height, wide / width, high / height
            ))
            for j in range(across)
        ])  # fmt: skip
        label = fitted(name, max(high + GAP_BELOW * 0.8, SIDE), lines=2, bold=True)
        figure.text(
            (NAMES + beside / 2) / width, (bottom + high / 2) / height, label.text, size=label.size, weight="bold",
            rotation=90, ha="center", va="center", multialignment="center", linespacing=1.05,
        )  # fmt: skip
    for j, one in enumerate(heads):
        figure.text(
            (left + j * (wide + gap) + wide / 2) / width, 1 - (above + head - 0.04) / height, one.text,
            size=one.size, weight="bold", ha="center", va="baseline", multialignment="center", linespacing=1.05,
        )  # fmt: skip
    label = fitted(y_label, height - 0.1, lines=1)
    middle = BOTTOM + (down * high + (down - 1) * GAP_BELOW) / 2
    half = text_width(label.text, label.size) / 2
    middle = min(max(middle, half + 0.03), height - half - 0.03)
    figure.text(
        (0.02 if any(rows) else 0.16) / width, middle / height, label.text, size=label.size, rotation=90, ha="left",
        va="center",
    )  # fmt: skip
    figure.text((left + (width - left - RIGHT) / 2) / width, 0.03 / height, x_label, ha="center", va="bottom")
    _draw_legend(figure, legend, lines)
    return PanelGrid(figure, axes)


def _legend_lines(texts: Sequence[str], width: float) -> list[list[int]]:
    """Which entries stand in which line, as many as fit."""
    lines: list[list[int]] = [[]]
    used = 0.0
    for i, text in enumerate(texts):
        need = SAMPLE + AFTER + text_width(text, LABEL) + BETWEEN
        if lines[-1] and used + need - BETWEEN > width - 0.1:
            lines.append([])
            used = 0.0
        lines[-1].append(i)
        used += need
    if len(lines) > 1:  # about as many in each
        each = math.ceil(len(texts) / len(lines))
        even = [list(range(start, min(start + each, len(texts)))) for start in range(0, len(texts), each)]
        widths = [sum(SAMPLE + AFTER + text_width(texts[i], LABEL) + BETWEEN for i in line) for line in even]
        if len(even) == len(lines) and max(widths) - BETWEEN <= width - 0.1:
            return even
    return lines


def _draw_legend(figure: Figure, legend: Sequence[tuple[str, dict[str, Any]]], lines: list[list[int]]) -> None:
    from matplotlib.lines import Line2D

    width, height = figure.get_size_inches()
    for number, line in enumerate(lines):
        texts = [legend[i][0] for i in line]
        total = sum(SAMPLE + AFTER + text_width(text, LABEL) + BETWEEN for text in texts) - BETWEEN
        x = max((width - total) / 2, 0.05)
        y = 1 - (0.04 + line_height(LABEL) * 1.15 * (number + 0.5)) / height
        for i, text in zip(line, texts, strict=True):
            properties = legend[i][1]
            ends = [x + SAMPLE - 0.05] if properties.get("marker") else [x, x + SAMPLE]
            figure.add_artist(
                Line2D([end / width for end in ends], [y] * len(ends), transform=figure.transFigure, **properties)
            )
            figure.text((x + SAMPLE + AFTER) / width, y, text, va="center_baseline")
            x += SAMPLE + AFTER + text_width(text, LABEL) + BETWEEN


def line_of(style: AgentStyle) -> dict[str, Any]:
    """Properties of an agent's line."""
    return {"color": style.colour, "linestyle": style.dashes, "linewidth": style.width}


def show_steps(axes: Axes, last: float, parts: int = 0) -> None:
    """The horizontal axis from 0 to the end of training, in thousands; the last number stays inside the panel.

    parts: with numbers between so many parts; by default a bare mark in the middle.
    """
    axes.set_xlim(0, last)
    places = [last * i / (parts or 2) for i in range((parts or 2) + 1)]
    inner = [thousands(place) if parts else "" for place in places[1:-1]]
    set_ticks(axes.xaxis, places, ["0", *inner, thousands(last)])
    tuck_ends(axes)


def tuck_ends(axes: Axes) -> None:
    """The first and the last number of a horizontal axis stay inside the panel."""
    labels = axes.get_xticklabels()
    labels[0].set_horizontalalignment("left")
    labels[-1].set_horizontalalignment("right")


def show_missing(axes: Axes, numbers: bool = False) -> None:
    """A panel without data says so; it keeps the numbers of its row if they stand there."""
    axes.set_facecolor(PALE)
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="x", length=0, labelbottom=False)
    axes.tick_params(axis="y", length=0, labelleft=numbers)
    axes.text(0.5, 0.5, "no runs", transform=axes.transAxes, ha="center", va="center", color=FADED, size=TICK)


def hide_numbers(axes: Axes) -> None:
    """Leave the numbers of a shared vertical axis to the first panel of the row."""
    axes.tick_params(axis="y", labelleft=False)


def note_absent(axes: Axes, agents: Sequence[str]) -> None:
    """Say in the panel which agents have no runs in it."""
    if agents:
        named = ", ".join(agents) if len(agents) <= 2 else f"{len(agents)} agents"
        box = axes.get_position().width * axes.figure.get_figure(root=True).get_size_inches()[0]
        text = fitted(f"no {named}", box, lines=2, size=SMALLEST + 0.5)
        axes.text(
            0.5, 0.03, text.text, transform=axes.transAxes, ha="center", va="bottom", color=FADED, size=text.size,
            multialignment="center", zorder=20, bbox={"facecolor": "white", "alpha": 0.8, "pad": 0.5, "linewidth": 0},
        )  # fmt: skip
