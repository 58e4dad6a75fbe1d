"""The environments as pictures, painted by the same tiles as everywhere, but as shapes instead of pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse, Patch, Polygon, Rectangle

from monmdp.environments.catalogue import TILES, Tile
from monmdp.figures import style
from monmdp.figures.data import Drawing, FigureData
from monmdp.figures.style import fitting_size, number, wrapped
from monmdp.problem import EnvironmentTable
from monmdp.render.tiles import Shape, agent_shapes, paint, tile_shapes

#: Largest number of cells across the figure, cells between pictures, cells of a name, inches per cell.
ACROSS, GAP, NAME, CELL = 24, 1, 1, style.WIDTH / 24.3
#: Cells of an environment without a map, and of an entry of the legend.
CARD, ENTRY = (6, 2), 6
#: Units of the drawing per cell.
UNITS = 100


class Picture(NamedTuple):
    """An environment, its size in cells, and its top left corner."""

    name: str
    table: EnvironmentTable | None
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


def environments(data: FigureData) -> Drawing:
    """Every environment as a picture, and what the tiles mean."""
    pictures, height = _placed(data)
    legend = _legend(pictures)
    width = max(ACROSS if len(pictures) > 1 else 0, *(one.x + one.width for one in pictures), 2 * ENTRY)
    per_line = int(width // ENTRY)
    total = height + 1.2 * -(-len(legend) // per_line)
    figure = style.new_figure((width + 0.3) * CELL, (total + 0.3) * CELL)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-0.05 * UNITS, (width + 0.05) * UNITS), ylim=(total * UNITS, 0), aspect="equal")
    draw = ShapeDraw(axes)
    for picture in pictures:
        _paint(draw, picture)
    for i, (tile, meaning) in enumerate(legend):
        x, y = i % per_line * ENTRY, height + 0.2 + 1.2 * (i // per_line)
        _paint_cell(draw, tile_shapes(tile), x, y, 0.8)
        if meaning == START:
            _paint_cell(draw, agent_shapes(None), x, y, 0.8)
        draw.text(x + 1, y + 0.4, meaning, va="center_baseline", size=style.TICK)
    names = ("environment", "row", "column", "tile", "state", "start_probability")
    return Drawing(figure, names, [row for picture in pictures for row in _rows(picture)])


def _placed(data: FigureData) -> tuple[list[Picture], float]:
    """Pictures on shelves, tall ones first, each on the first shelf with space; and the height of all shelves."""
    tables: dict[str, EnvironmentTable | None] = dict.fromkeys(data.results.environments)
    tables |= {cell.environment: cell.problem.environment for cell in data.results.cells.values() if cell.problem}
    pictures = []
    for name, table in tables.items():
        columns, rows = (table.layout.columns, table.layout.rows) if table and table.layout else CARD
        shrink = min(1.0, ACROSS / columns, ACROSS / rows)
        pictures.append(Picture(name, table, columns * shrink, rows * shrink))
    placed: list[Picture] = []
    shelves: list[tuple[float, float]] = []  # used width and top of each
    bottom = 0.0
    for one in sorted(pictures, key=lambda picture: -picture.height):
        shelf = next((i for i, (used, _) in enumerate(shelves) if used + one.width <= ACROSS), len(shelves))
        if shelf == len(shelves):
            shelves.append((0.0, bottom + NAME))
            bottom += NAME + one.height + GAP / 2
        x, y = shelves[shelf]
        placed.append(one._replace(x=x, y=y))
        shelves[shelf] = (x + one.width + GAP, y)
    return placed, bottom


Points = list[tuple[float, float]]


class ShapeDraw:
    """The methods of Pillow's `ImageDraw` that tiles use, as shapes in matplotlib axes; each covers those before."""

    def __init__(self, axes: Axes) -> None:
        self.axes = axes
        self.order = 1.0

    def rectangle(self, corners: Points, fill: Any = None, outline: Any = None, width: int = 0) -> None:
        """A box between two corners."""
        (left, top), (right, bottom) = corners
        self._add(Rectangle((left, top), right - left, bottom - top), fill, outline)

    def ellipse(self, corners: Points, fill: Any = None, outline: Any = None, width: int = 0) -> None:
        """An ellipse between two corners."""
        (left, top), (right, bottom) = corners
        self._add(Ellipse(((left + right) / 2, (top + bottom) / 2), right - left, bottom - top), fill, outline)

    def polygon(self, points: Points, fill: Any = None, outline: Any = None, width: int = 0) -> None:
        """A filled shape through points."""
        self._add(Polygon(points), fill, outline)

    def line(self, points: Points, fill: Any, width: int, joint: str = "") -> None:
        """A line through points."""
        x, y = zip(*points, strict=True)
        self.axes.plot(x, y, color=fill, linewidth=72 * CELL * width / UNITS, zorder=self._next())

    def text(self, x: float, y: float, text: str, **properties: Any) -> None:
        """A text at a point, in cells."""
        self.axes.text(x * UNITS, y * UNITS, text, zorder=self._next(), **properties)

    def _add(self, shape: Patch, fill: Any, outline: Any) -> None:
        colours = {"facecolor": fill or "none", "edgecolor": outline or "none"}
        shape.set(**colours, linewidth=0.5 if outline else 0, zorder=self._next())
        self.axes.add_patch(shape)

    def _next(self) -> float:
        self.order += 1e-4
        return self.order


def _paint_cell(draw: ShapeDraw, shapes: list[Shape], x: float, y: float, size: float) -> None:
    """Paint shapes into the square with this corner and side, in cells."""
    paint(draw, shapes, round(x * UNITS), round(y * UNITS), round(size * UNITS))


def _paint(draw: ShapeDraw, picture: Picture) -> None:
    name, table, width, height, left, top = picture
    middle = left + width / 2
    draw.text(middle, top - 0.25, wrapped(name, (width + 0.7) * CELL, 1, bold=True), weight="bold", ha="center")
    if table is None or table.layout is None:
        text = "cannot be built again" if table is None else f"{len(table.states)} states"
        corners = [(left * UNITS, top * UNITS), ((left + width) * UNITS, (top + height) * UNITS)]
        draw.rectangle(corners, fill=style.PALE)
        draw.text(middle, top + height / 2, text, ha="center", va="center", size=style.TICK, color=style.FADED)
        return
    side = width / table.layout.columns
    for row, tiles in enumerate(table.layout.tiles):
        for column, tile in enumerate(tiles):
            _paint_cell(draw, tile_shapes(tile), left + column * side, top + row * side, side)
    for state, (row, column) in enumerate(table.layout.cells):
        x, y = left + column * side, top + row * side
        reward = _unmarked_reward(table, state, table.layout.tiles[row][column])
        if reward:
            size = fitting_size(len(number(reward)) + 1, side * CELL)
            draw.text(x + side / 2, y + side / 2, number(reward), size=size, weight="bold", ha="center", va="center")
        if state in np.flatnonzero(table.start > 0)[:8]:
            _paint_cell(draw, agent_shapes(None), x, y, side)


def _unmarked_reward(table: EnvironmentTable, state: int, tile: str) -> float:
    """The nonzero reward of a state whose tile does not show one; 0 if there is none."""
    kind = TILES.get(tile, Tile(""))
    if kind.reward or kind.collect or kind.fall:
        return 0.0
    first, last = table.offsets[state * len(table.actions)], table.offsets[(state + 1) * len(table.actions)]
    rewards = table.reward[first:last]
    largest = float(rewards[np.argmax(np.abs(rewards))])
    return 0.0 if table.terminated[first:last].any() and largest < 0 else largest


START = "start"


def _legend(pictures: list[Picture]) -> list[tuple[str, str]]:
    """Tiles in the pictures and their meanings, each meaning once."""
    layouts = [one.table.layout for one in pictures if one.table is not None and one.table.layout is not None]
    used = {tile for layout in layouts for row in layout.tiles for tile in row}
    legend = {START: "."} if layouts else {}
    for tile, kind in TILES.items():
        value = kind.collect or kind.reward or kind.fall
        detail = f": {'+' if value > 0 else ''}{number(value)}" if value else f": {kind.stuck:.0%} stuck"
        if tile in used and tile != ".":
            legend.setdefault(kind.name + (detail if value or kind.stuck else ""), tile)
    if "=" in used:
        legend["water: number is reward"] = "="
    return [(tile, meaning) for meaning, tile in legend.items()]


def _rows(picture: Picture) -> list[tuple[Any, ...]]:
    """One row per tile; a wall has no state."""
    table = picture.table
    if table is None or table.layout is None:
        return []
    states = {cell: state for state, cell in enumerate(table.layout.cells)}
    rows: list[tuple[Any, ...]] = []
    for row, tiles in enumerate(table.layout.tiles):
        for column, tile in enumerate(tiles):
            state = states.get((row, column))
            known = ("", 0.0) if state is None else (table.state_label(state), table.start[state].item())
            rows.append((picture.name, row, column, tile, *known))
    return rows
