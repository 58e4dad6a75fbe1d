"""Words and numbers on paper: names of any length made to fit, thousands, ticks."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from monmdp.figures.style import LABEL, SMALLEST

if TYPE_CHECKING:
    from matplotlib.axis import Axis

#: Where a name may be broken: after these signs.
_BREAKS = re.compile(r"(?<=[ ,(_+\[=-])")


class Fitted(NamedTuple):
    """A text, perhaps broken into lines, and the size in which it fits."""

    text: str
    size: float


@lru_cache(maxsize=4096)
def text_width(text: str, size: float, bold: bool = False) -> float:
    """Inches that a line takes."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")))
    font.set_size(size, 72)
    font.set_text(text)
    width, _ = font.get_width_height()
    return float(width / 64 / 72)


def line_height(size: float) -> float:
    """Inches from line to line."""
    return size * 1.2 / 72


def one_line(text: str) -> str:
    """A name without line breaks and other signs that cannot be printed."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def fitted(name: str, width: float, lines: int = 2, size: float = LABEL, bold: bool = False) -> Fitted:
    """A name in at most so many lines of so many inches: broken, then smaller, then cut."""
    name = one_line(name)
    while True:
        broken = _broken(name, width, size, bold)
        if len(broken) <= lines and all(text_width(line, size, bold) <= width for line in broken):
            return Fitted("\n".join(broken), size)
        if size <= SMALLEST:
            break
        size = max(size - 0.5, SMALLEST)
    kept = broken[:lines]
    if len(broken) > lines:
        kept[-1] += "…"
    return Fitted("\n".join(cut(line, width, size, bold) for line in kept), size)


def _broken(name: str, width: float, size: float, bold: bool) -> list[str]:
    lines = [""]
    for part in _BREAKS.split(name):
        if lines[-1] and text_width((lines[-1] + part).rstrip(), size, bold) > width:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines]


def cut(line: str, width: float, size: float = LABEL, bold: bool = False) -> str:
    """As much of a line as fits."""
    while len(line) > 1 and text_width(line, size, bold) > width:
        line = line.rstrip("…")[:-1] + "…"
    return line


def number(value: float) -> str:
    """A number as a tick says it: −0.5, 0, 2.5, 1,200."""
    text = f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return text.replace("-", "−")


def thousands(value: float) -> str:
    """A number of steps in thousands: 5 for 5,000."""
    return number(value / 1000)


def even_ticks(low: float, high: float, most: int = 4) -> list[float]:
    """A few round numbers between two others."""
    from matplotlib.ticker import MaxNLocator

    places = MaxNLocator(nbins=most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2).tick_values(low, high)
    slack = 1e-9 * (high - low)
    return [float(np.round(place, 12)) for place in places if low - slack <= place <= high + slack]


def set_ticks(axis: Axis, places: list[float], labels: list[str] | None = None) -> None:
    """Ticks with plain text, so that nothing is taken for a formula."""
    axis.set_ticks(places, labels=[number(place) for place in places] if labels is None else labels)
    axis.set_ticks([], minor=True)
