"""The environments as pictures, painted with the same tiles as everywhere, and what the tiles mean."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

from monmdp.environments.catalogue import TILES, Tile
from monmdp.errors import MonMDPError
from monmdp.figures import style
from monmdp.figures.data import Drawing, FigureData
from monmdp.figures.style import fitting_size, number, wrapped
from monmdp.problem import EnvironmentTable, Layout
from monmdp.render.tiles import agent_shapes, paint, tile_shapes

#: Largest number of cells across the figure, inches and pixels per cell.
ACROSS, CELL, PIXELS = 24, 5.5 / 24.3, 100
#: Cells across an entry of the legend.
ENTRY = 6
START = "start"


class Picture(NamedTuple):
    """An environment with its map, its size in cells, and its top left corner."""

    name: str
    table: EnvironmentTable
    layout: Layout
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


def environments(data: FigureData) -> Drawing:
    """Every environment that has a map as a picture, and what the tiles mean."""
    pictures, height = _placed(data)
    legend = _legend({tile for picture in pictures for line in picture.layout.tiles for tile in line})
    width = max(ACROSS if len(pictures) > 1 else 0, *(one.x + one.width for one in pictures), 2 * ENTRY)
    per_line = int(width // ENTRY)
    total = height + 1.2 * -(-len(legend) // per_line)
    figure = Figure(figsize=((width + 0.3) * CELL, (total + 0.3) * CELL))
    axes = figure.subplots()
    for picture in pictures:
        _show(axes, picture)
    for i, (meaning, tile) in enumerate(legend.items()):
        x, y = i % per_line * ENTRY, height + 0.2 + 1.2 * (i // per_line)
        axes.imshow(_image([tile], {(0, 0)} if meaning == START else set()), extent=(x, x + 0.8, y + 0.8, y))
        axes.text(x + 1, y + 0.4, meaning, va="center_baseline", size=style.TICK)
    axes.set(xlim=(0, width + 0.01), ylim=(total + 0.01, 0))
    axes.set_axis_off()
    rows: list[tuple[Any, ...]] = []
    for name, table, layout, *_ in pictures:
        for row, column, tile, state in _tiles(layout):
            known = ("", 0.0) if state is None else (table.state_label(state), table.start[state].item())
            rows.append((name, row, column, tile, *known))
    return Drawing(figure, ("environment", "row", "column", "tile", "state", "start_probability"), rows)


def _placed(data: FigureData) -> tuple[list[Picture], float]:
    """Pictures in lines, tall ones first, with one cell between them; and the height of all lines."""
    tables = {cell.environment: cell.problem.environment for cell in data.results.cells.values() if cell.problem}
    pictures = []
    for name, table in tables.items():
        if layout := table.layout:
            scale = min(1.0, ACROSS / layout.columns, ACROSS / layout.rows)
            pictures.append(Picture(name, table, layout, layout.columns * scale, layout.rows * scale))
    if not pictures:
        raise MonMDPError(f"No environment in {data.results.folder} has a map.")
    placed: list[Picture] = []
    x, y, bottom = math.inf, 0.0, 0.0
    for one in sorted(pictures, key=lambda picture: -picture.height):
        if x + one.width > ACROSS:
            x, y = 0.0, bottom + 1  # the name takes one cell
            bottom = y + one.height + 0.5
        placed.append(one._replace(x=x, y=y))
        x += one.width + 1
    return placed, bottom


def _image(tiles: Sequence[str], starts: set[tuple[int, int]]) -> Image.Image:
    """Rows of tiles as an image, with an agent in every cell (row, column) of `starts`."""
    image = Image.new("RGB", (len(tiles[0]) * PIXELS + 1, len(tiles) * PIXELS + 1))
    for row, line in enumerate(tiles):
        for column, tile in enumerate(line):
            shapes = [*tile_shapes(tile), *(agent_shapes(None) if (row, column) in starts else [])]
            paint(ImageDraw.Draw(image), shapes, column * PIXELS, row * PIXELS, PIXELS)
    return image


def _show(axes: Axes, picture: Picture) -> None:
    """The tiles of an environment with agents at its starts, its name, and rewards that no tile shows."""
    name, table, layout, width, height, left, top = picture
    title = wrapped(name, (width + 0.7) * CELL, 1, bold=True)
    axes.text(left + width / 2, top - 0.25, title, weight="bold", ha="center")
    side, starts = width / layout.columns, {layout.cells[state] for state in np.flatnonzero(table.start > 0)[:8]}
    axes.imshow(_image(layout.tiles, starts), extent=(left, left + width, top + height, top))
    for row, column, tile, state in _tiles(layout):
        if reward := _unmarked_reward(table, state, tile):
            text, centre = number(reward), (left + (column + 0.5) * side, top + (row + 0.5) * side)
            size = fitting_size(len(text) + 1, side * CELL)
            axes.text(*centre, text, size=size, weight="bold", ha="center", va="center")


def _tiles(layout: Layout) -> list[tuple[int, int, str, int | None]]:
    """Row, column, character and state of every tile of a map; a wall has no state."""
    states = {cell: state for state, cell in enumerate(layout.cells)}
    return [
        (row, column, tile, states.get((row, column)))
        for row, tiles in enumerate(layout.tiles)
        for column, tile in enumerate(tiles)
    ]


def _unmarked_reward(table: EnvironmentTable, state: int | None, tile: str) -> float:
    """The nonzero reward of a state whose tile does not show one; 0 if none, or less than 1% of the largest."""
    kind = TILES.get(tile, Tile(""))
    if state is None or kind.reward or kind.collect or kind.fall:
        return 0.0
    first, last = table.offsets[state * len(table.actions)], table.offsets[(state + 1) * len(table.actions)]
    rewards = table.reward[first:last]
    largest = float(rewards[np.argmax(np.abs(rewards))])
    small = abs(largest) < 0.01 * np.abs(table.reward).max()
    return 0.0 if small or (table.terminated[first:last].any() and largest < 0) else largest


def _legend(used: set[str]) -> dict[str, str]:
    """Meaning → tile, for these tiles."""
    legend = {START: "."}
    for tile, kind in TILES.items():
        value = kind.collect or kind.reward or kind.fall
        detail = f": {'+' if value > 0 else ''}{number(value)}" if value else f": {kind.stuck:.0%} stuck"
        if tile in used and tile != ".":
            legend.setdefault(kind.name + (detail if value or kind.stuck else ""), tile)
    if "=" in used:
        legend["water: number is reward"] = "="
    return legend
