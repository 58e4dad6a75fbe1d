"""The environments as pictures, painted by the same tiles as everywhere, but as shapes instead of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monmdp.environments.grid import TILES, Tile
from monmdp.figures.data import FigureData
from monmdp.figures.saving import Drawing
from monmdp.figures.style import FADED, INK, PALE, TICK, WIDTH, new_figure
from monmdp.figures.text import fitted, number, text_width
from monmdp.problem import EnvironmentTable, Layout
from monmdp.render.tiles import Brush, Colour, paint_agent, paint_tile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Cells that fit across the page, cells between pictures, inches for a name, most inches of a cell.
ACROSS, BETWEEN, NAME, MOST_CELL = 24.0, 1.0, 0.19, 0.3
#: Cells that an environment without places takes.
CARD = (6.0, 2.0)


class Picture(NamedTuple):
    """An environment, its size in cells, and its corner."""

    name: str
    table: EnvironmentTable | None
    width: float
    height: float
    left: float = 0.0
    shelf: int = 0


def environments(data: FigureData) -> Drawing:
    """Every environment as a picture."""
    pictures = [_picture(name, _table(data, name)) for name in data.results.environments]
    placed, shelves = _placed(pictures)
    used = max(one.left + one.width for one in placed)
    cell = min((WIDTH - 0.1) / used, MOST_CELL)
    legend = _legend_texts(placed)
    lines = _lines([text for _, text in legend])
    height = sum(NAME + rows * cell + 0.1 for rows in shelves) + 0.26 * len(lines) + 0.04
    page = new_figure(WIDTH, height)
    top = height
    for shelf, rows in enumerate(shelves):
        here = [one for one in placed if one.shelf == shelf]
        indent = (WIDTH - cell * max(one.left + one.width for one in here)) / 2
        for one in here:
            corner = top - NAME - one.height * cell
            left = indent + one.left * cell
            axes = page.add_axes((
                left / WIDTH, corner / height, one.width * cell / WIDTH, one.height * cell / height
            ))  # fmt: skip
            fit = fitted(one.name, one.width * cell + 0.08, 1, bold=True)
            page.text(
                (left + one.width * cell / 2) / WIDTH, (top - NAME + 0.045) / height, fit.text, size=fit.size,
                weight="bold", ha="center", va="baseline",
            )  # fmt: skip
            _paint(axes, one, cell)
        top -= NAME + rows * cell + 0.1
    _draw_legend(page, legend, lines, top - 0.02)
    return Drawing(page, ("environment", "row", "column", "tile", "state", "start_probability"), _rows(placed))


def _table(data: FigureData, name: str) -> EnvironmentTable | None:
    """The environment of a name as it was run; None where it cannot be built again."""
    for cell in data.results.cells.values():
        if cell.environment == name and cell.problem is not None:
            return cell.problem.environment
    return None


def _picture(name: str, table: EnvironmentTable | None) -> Picture:
    layout = table.layout if table else None
    if layout is None:
        return Picture(name, table, *CARD)
    shrink = min(1.0, ACROSS / layout.columns, ACROSS / layout.rows)
    return Picture(name, table, layout.columns * shrink, layout.rows * shrink)


def _placed(pictures: list[Picture]) -> tuple[list[Picture], list[float]]:
    """Pictures on shelves, the tall ones first, each on the first shelf with room; and the heights of the shelves."""
    placed: list[Picture] = []
    used: list[float] = []
    heights: list[float] = []
    for one in sorted(pictures, key=lambda picture: -picture.height):
        need = [end + BETWEEN + one.width if end else one.width for end in used]
        shelf = next((i for i, end in enumerate(need) if end <= ACROSS), len(used))
        if shelf == len(used):
            used.append(0.0)
            heights.append(one.height)
        left = used[shelf] + BETWEEN if used[shelf] else 0.0
        placed.append(one._replace(left=left, shelf=shelf))
        used[shelf] = left + one.width
    return placed, heights


class ShapeBrush(Brush):
    """Draws into a unit square of matplotlib axes what `Brush` draws as pixels."""

    def __init__(self, axes: Axes, x: float, y: float, order: float = 1.0) -> None:
        self.axes, self.left, self.top, self.order = axes, x, y, order

    def _add(self, shape: Any) -> None:
        shape.set_zorder(self.order)
        self.axes.add_patch(shape)

    def fill(self, colour: Colour) -> None:
        self.rectangle(0, 0, 1, 1, colour)

    def frame(self, colour: Colour, width: float = 0.02) -> None:
        from matplotlib.patches import Rectangle

        self._add(Rectangle((self.left, self.top), 1, 1, fill=False, edgecolor=_rgb(colour), linewidth=0.4))

    def circle(self, x: float, y: float, radius: float, fill: Colour, edge: Colour | None = None) -> None:
        from matplotlib.patches import Ellipse

        look = {"edgecolor": _rgb(edge), "linewidth": 0.5} if edge else {"linewidth": 0}
        self._add(Ellipse((self.left + x, self.top + y), 2 * radius, 2 * radius, facecolor=_rgb(fill), **look))

    def ellipse(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        from matplotlib.patches import Ellipse

        middle = (self.left + (left + right) / 2, self.top + (top + bottom) / 2)
        self._add(Ellipse(middle, right - left, bottom - top, facecolor=_rgb(fill), linewidth=0))

    def rectangle(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        from matplotlib.patches import Rectangle

        corner = (self.left + left, self.top + top)
        self._add(Rectangle(corner, right - left, bottom - top, facecolor=_rgb(fill), linewidth=0))

    def polygon(self, points: list[tuple[float, float]], fill: Colour) -> None:
        from matplotlib.patches import Polygon

        self._add(Polygon([(self.left + x, self.top + y) for x, y in points], facecolor=_rgb(fill), linewidth=0))

    def line(self, points: list[tuple[float, float]], fill: Colour, width: float = 0.05) -> None:
        xs, ys = [self.left + x for x, _ in points], [self.top + y for _, y in points]
        self.axes.plot(xs, ys, color=_rgb(fill), linewidth=12 * width, zorder=self.order)


def _rgb(colour: Colour) -> tuple[float, float, float]:
    red, green, blue = colour
    return red / 255, green / 255, blue / 255


def _paint(axes: Axes, picture: Picture, cell: float) -> None:
    layout = picture.table.layout if picture.table else None
    axes.set_axis_off()
    if picture.table is None or layout is None:
        text = "cannot be built again" if picture.table is None else f"{len(picture.table.states)} states"
        axes.add_patch(_card())
        axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", size=TICK, color=FADED)
        return
    axes.set_xlim(0, layout.columns)
    axes.set_ylim(layout.rows, 0)
    size = picture.width * cell / layout.columns
    for row, tiles in enumerate(layout.tiles):
        for column, tile in enumerate(tiles):
            paint_tile(ShapeBrush(axes, column, row), tile)
    for state, (row, column) in enumerate(layout.cells):
        reward = _untold_reward(picture.table, layout, state)
        if reward:
            told = fitted(number(reward), size * 0.78, 1, TICK)
            axes.text(
                column + 0.5, row + 0.52, told.text, size=told.size, weight="bold", color=INK, ha="center",
                va="center", zorder=4,
            )  # fmt: skip
    for state in np.flatnonzero(picture.table.start > 0)[:8]:
        row, column = layout.cells[state]
        paint_agent(ShapeBrush(axes, column, row, 3), None)


def _card() -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((0, 0), 1, 1, facecolor=PALE)


def _untold_reward(table: EnvironmentTable, layout: Layout, state: int) -> float:
    """The reward of a state that is not zero and that its tile does not tell."""
    row, column = layout.cells[state]
    if _tells(TILES.get(layout.tiles[row][column], Tile(""))):
        return 0.0
    actions = len(table.actions)
    first, last = table.offsets[state * actions], table.offsets[(state + 1) * actions]
    rewards = table.reward[first:last]
    largest = float(rewards[np.argmax(np.abs(rewards))])
    return 0.0 if table.terminated[first:last].any() and largest < 0 else largest


def _tells(tile: Tile) -> bool:
    return bool(tile.reward or tile.collect or tile.fall)


def _legend_texts(placed: list[Picture]) -> list[tuple[str, str]]:
    """A tile and what it means, for the tiles in the pictures."""
    layouts = [one.table.layout for one in placed if one.table is not None and one.table.layout is not None]
    there = dict.fromkeys(tile for layout in layouts for row in layout.tiles for tile in row)
    legend = [("agent", "start")] if layouts else []
    for tile, kind in TILES.items():
        if tile in there and tile != "." and kind.name not in (text.split(":")[0] for _, text in legend):
            legend.append((tile, _meaning(kind)))
    return legend + ([("=", "water: number is reward")] if "=" in there else [])


def _meaning(kind: Tile) -> str:
    value = kind.collect or kind.reward or kind.fall
    if value:
        return f"{kind.name}: {'+' if value > 0 else ''}{number(value)}"
    return f"{kind.name}: {kind.stuck:.0%} stuck" if kind.stuck else kind.name


def _lines(texts: list[str]) -> list[list[int]]:
    """Which entries stand in which line."""
    lines: list[list[int]] = []
    room = 0.0
    for i, text in enumerate(texts):
        need = 0.2 + text_width(text, TICK) + 0.14
        if not lines or need > room:
            lines.append([])
            room = WIDTH - 0.1
        lines[-1].append(i)
        room -= need
    return lines


def _draw_legend(page: Any, legend: list[tuple[str, str]], lines: list[list[int]], top: float) -> None:
    height = page.get_size_inches()[1]
    side = 0.15
    for number_, line in enumerate(lines):
        total = sum(0.2 + text_width(legend[i][1], TICK) + 0.14 for i in line) - 0.14
        x, y = (WIDTH - total) / 2, top - 0.26 * (number_ + 1) + 0.06
        for i in line:
            tile, text = legend[i]
            axes = page.add_axes((x / WIDTH, y / height, side / WIDTH, side / height))
            axes.set_axis_off()
            axes.set_xlim(0, 1)
            axes.set_ylim(1, 0)
            paint_tile(ShapeBrush(axes, 0, 0), "." if tile == "agent" else tile)
            if tile == "agent":
                paint_agent(ShapeBrush(axes, 0, 0, 2), None)
            page.text((x + 0.2) / WIDTH, (y + side / 2) / height, text, size=TICK, va="center_baseline")
            x += 0.2 + text_width(text, TICK) + 0.14


def _rows(placed: list[Picture]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for one in placed:
        layout = one.table.layout if one.table else None
        if one.table is None or layout is None:
            continue
        states = {cell: state for state, cell in enumerate(layout.cells)}
        for row, tiles in enumerate(layout.tiles):
            for column, tile in enumerate(tiles):
                state = states.get((row, column))
                known = state is not None
                label = one.table.state_label(state) if state is not None else ""
                rows.append((one.name, row, column, tile, label, one.table.start[state].item() if known else 0.0))
    return rows
