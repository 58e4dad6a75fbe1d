"""Coloured cells with numbers in them: heat maps and tables that are also pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.figures.style import INK, PALE, TICK
from monmdp.figures.text import text_width
from monmdp.problem import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap


def colour_map(name: str) -> Colormap:
    """A colour map in which what is not known is pale grey."""
    import matplotlib

    return matplotlib.colormaps[name].with_extremes(bad=PALE)


#: Points below which numbers in cells cannot be read.
LEAST_TEXT = 3.75

Texts = list[list[str]]


def fitting_size(texts: Iterable[Texts], size: float, cell_width: float) -> float:
    """The size in which the longest of all texts fits into a cell of so many inches."""
    longest = max((text_width(text, size) for table in texts for line in table for text in line), default=0.0)
    return min(size, size * (cell_width - 0.03) / longest) if longest else size


def draw_cells(axes: Axes, values: Floats, texts: Texts, norm: Any, colours: Colormap, size: float) -> None:
    """Values [row, column] as coloured cells with texts that stand out; texts too small to read are left out."""
    rows, columns = values.shape
    lines = 0.6 if size >= LEAST_TEXT else 0.0
    axes.pcolormesh(
        np.ma.masked_invalid(values), norm=norm, cmap=colours, edgecolors="white" if lines else "none", linewidth=lines
    )
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    axes.spines[:].set_visible(False)
    for i, j in np.ndindex(rows, columns) if lines else ():
        if texts[i][j]:
            ink = INK if np.isnan(values[i, j]) else _ink(colours(norm(values[i, j])))
            axes.text(j + 0.5, i + 0.52, texts[i][j], size=size, color=ink, ha="center", va="center")


def _ink(colour: Any) -> str:
    """Black or white, whichever is easier to read on a colour."""
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    luminance = float(np.dot([0.2126, 0.7152, 0.0722], linear))
    return "white" if luminance < 0.2 else INK


def label_cells(axes: Axes, rows: list[str], columns: list[str]) -> None:
    """Names of rows and columns of cells, without tick marks."""
    axes.set_xticks(np.arange(len(columns)) + 0.5, labels=columns)
    axes.set_yticks(np.arange(len(rows)) + 0.5, labels=rows)
    axes.tick_params(length=0, labelsize=TICK)
