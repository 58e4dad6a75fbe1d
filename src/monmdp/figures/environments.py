"""The environments as pictures, painted with the same tiles as everywhere, and what the tiles mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from PIL import Image, ImageDraw

from monmdp.environments.catalogue import TILES, Tile
from monmdp.figures import style
from monmdp.figures.data import Drawing, FigureData
from monmdp.figures.style import fitting_size, number, wrapped
from monmdp.problem import EnvironmentTable
from monmdp.render.tiles import agent_shapes, paint, tile_shapes

#: Largest number of cells across the figure, cells between pictures, inches and pixels per cell.
ACROSS, GAP, CELL, PIXELS = 24, 1, style.WIDTH / 24.3, 100
#: Cells of an environment without a map, and of an entry of the legend.
CARD, ENTRY = (6, 2), 6
START = "start"


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
    tables = {picture.name: picture.table for picture in pictures if picture.table is not None}
    legend = _legend({tile for table in tables.values() for _, _, tile, _ in _tiles(table)})
    width = max(ACROSS if len(pictures) > 1 else 0, *(one.x + one.width for one in pictures), 2 * ENTRY)
    per_line = int(width // ENTRY)
    total = height + 1.2 * -(-len(legend) // per_line)
    figure = style.new_figure((width + 0.3) * CELL, (total + 0.3) * CELL)
    axes = figure.subplots()
    axes.set_axis_off()
    image = Image.new("RGB", (round(width * PIXELS) + 1, round(total * PIXELS) + 1), "white")
    draw = ImageDraw.Draw(image)
    for picture in pictures:
        _paint(draw, axes, picture)
    for i, (meaning, tile) in enumerate(legend.items()):
        x, y = i % per_line * ENTRY, height + 0.2 + 1.2 * (i // per_line)
        _paint_cell(draw, tile, x, y, 0.8, starts=meaning == START)
        axes.text(x + 1, y + 0.4, meaning, va="center_baseline", size=style.TICK)
    axes.imshow(image, extent=(0, image.width / PIXELS, image.height / PIXELS, 0))
    rows: list[tuple[Any, ...]] = []
    for name, table in tables.items():
        for row, column, tile, state in _tiles(table):
            known = ("", 0.0) if state is None else (table.state_label(state), table.start[state].item())
            rows.append((name, row, column, tile, *known))
    return Drawing(figure, ("environment", "row", "column", "tile", "state", "start_probability"), rows)


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
            shelves.append((0.0, bottom + 1))  # the name takes one cell
            bottom += 1 + one.height + GAP / 2
        x, y = shelves[shelf]
        placed.append(one._replace(x=x, y=y))
        shelves[shelf] = (x + one.width + GAP, y)
    return placed, bottom


def _paint_cell(draw: ImageDraw.ImageDraw, tile: str, x: float, y: float, size: float, starts: bool) -> None:
    """Paint a tile into the square with this corner and side, in cells, and the agent if it starts there."""
    shapes = [*tile_shapes(tile), *(agent_shapes(None) if starts else [])]
    paint(draw, shapes, round(x * PIXELS), round(y * PIXELS), round(size * PIXELS))


def _paint(draw: ImageDraw.ImageDraw, axes: Axes, picture: Picture) -> None:
    """Paint the tiles and agents at the starts into an image, and write names and rewards into the axes."""
    name, table, width, height, left, top = picture
    title = wrapped(name, (width + 0.7) * CELL, 1, bold=True)
    axes.text(left + width / 2, top - 0.25, title, weight="bold", ha="center")
    centred: dict[str, Any] = {"ha": "center", "va": "center"}
    if table is None or table.layout is None:
        text = "cannot be built again" if table is None else f"{len(table.states)} states"
        corners = [(left * PIXELS, top * PIXELS), ((left + width) * PIXELS, (top + height) * PIXELS)]
        draw.rectangle(corners, fill=style.PALE)
        axes.text(left + width / 2, top + height / 2, text, size=style.TICK, color=style.FADED, **centred)
        return
    side, starts = width / table.layout.columns, np.flatnonzero(table.start > 0)[:8]
    for row, column, tile, state in _tiles(table):
        x, y = left + column * side, top + row * side
        _paint_cell(draw, tile, x, y, side, starts=state in starts)
        reward = _unmarked_reward(table, state, tile)
        if reward:
            size = fitting_size(len(number(reward)) + 1, side * CELL)
            axes.text(x + side / 2, y + side / 2, number(reward), size=size, weight="bold", **centred)


def _tiles(table: EnvironmentTable) -> list[tuple[int, int, str, int | None]]:
    """Row, column, character and state of every tile of a map; a wall has no state."""
    if table.layout is None:
        return []
    states = {cell: state for state, cell in enumerate(table.layout.cells)}
    return [
        (row, column, tile, states.get((row, column)))
        for row, tiles in enumerate(table.layout.tiles)
        for column, tile in enumerate(tiles)
    ]


def _unmarked_reward(table: EnvironmentTable, state: int | None, tile: str) -> float:
    """The nonzero reward of a state whose tile does not show one; 0 if there is none."""
    kind = TILES.get(tile, Tile(""))
    if state is None or kind.reward or kind.collect or kind.fall:
        return 0.0
    first, last = table.offsets[state * len(table.actions)], table.offsets[(state + 1) * len(table.actions)]
    rewards = table.reward[first:last]
    largest = float(rewards[np.argmax(np.abs(rewards))])
    return 0.0 if table.terminated[first:last].any() and largest < 0 else largest


def _legend(used: set[str]) -> dict[str, str]:
    """Meaning → tile, for these tiles."""
    legend = {START: "."} if used else {}
    for tile, kind in TILES.items():
        value = kind.collect or kind.reward or kind.fall
        detail = f": {'+' if value > 0 else ''}{number(value)}" if value else f": {kind.stuck:.0%} stuck"
        if tile in used and tile != ".":
            legend.setdefault(kind.name + (detail if value or kind.stuck else ""), tile)
    if "=" in used:
        legend["water: number is reward"] = "="
    return legend
