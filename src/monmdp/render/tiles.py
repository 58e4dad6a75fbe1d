"""Tiles, button and agent as shapes in a unit square, and a function that scales and paints them."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

GROUND, LINE, INK, WHITE = "#faf8f2", "#d8d2c6", "#2f3642", "#ffffff"
GOLD, STONE = "#f4b41a", "#5c616c"

DIRECTIONS = {"RIGHT": (1, 0), "DOWN": (0, 1), "LEFT": (-1, 0), "UP": (0, -1)}
ONE_WAY = {">": "RIGHT", "v": "DOWN", "<": "LEFT", "^": "UP"}


class Shape(NamedTuple):
    """A shape in the unit square. kind: rectangle and ellipse (between two corners), polygon or line."""

    kind: str
    points: Sequence[tuple[float, float]]
    fill: str | None
    edge: str | None = None
    width: float = 0.03


def paint(draw: Any, shapes: Iterable[Shape], x: float, y: float, size: float) -> None:
    """Paint shapes into the square with top left corner (x, y). draw: Pillow's ImageDraw, or similar methods."""
    for shape in shapes:
        points = [(x + a * size, y + b * size) for a, b in shape.points]
        width = max(1, round(shape.width * size))
        if shape.kind == "line":
            draw.line(points, fill=shape.fill, width=width, joint="curve")
        else:
            getattr(draw, shape.kind)(points, fill=shape.fill, outline=shape.edge, width=width)


def ground(colour: str) -> Shape:
    """The whole square."""
    return Shape("rectangle", ((0, 0), (1, 1)), colour)


def circle(x: float, y: float, radius: float, fill: str, edge: str | None = None) -> Shape:
    """A disc around (x, y), optionally with an edge."""
    return Shape("ellipse", ((x - radius, y - radius), (x + radius, y + radius)), fill, edge)


def _coin(radius: float) -> list[Shape]:
    return [circle(0.5, 0.5, radius, GOLD, "#ba7e00"), circle(0.5, 0.5, radius * 0.66, "#facd5a")]


def _cloud(fill: str, edge: str, scale: float) -> list[Shape]:
    """A cloud with two eyes."""
    puffs = [(-0.2, 0.08, 0.19), (0.2, 0.08, 0.19), (0, -0.08, 0.23), (0, 0.12, 0.2)]
    discs = [(x, y, radius + 0.035, edge) for x, y, radius in puffs] + [(*puff, fill) for puff in puffs]
    discs += [(x, -0.03, 0.05, edge) for x in (-0.09, 0.09)]
    return [circle(0.5 + x * scale, 0.5 + y * scale, radius * scale, colour) for x, y, radius, colour in discs]


def _waves(background: str, colour: str) -> list[Shape]:
    waves = [[(0.12 + 0.095 * i, y + (0.045 if i % 2 else -0.045)) for i in range(9)] for y in (0.28, 0.52, 0.76)]
    return [ground(background), *(Shape("line", wave, colour, width=0.035) for wave in waves)]


def _arrow(action: str, colour: str, scale: float) -> Shape:
    """An arrow in the direction of a move."""
    cos, sin = DIRECTIONS[action]
    right = [(-0.32, -0.1), (0.03, -0.1), (0.03, -0.26), (0.34, 0), (0.03, 0.26), (0.03, 0.1), (-0.32, 0.1)]
    points = [(0.5 + scale * (x * cos - y * sin), 0.5 + scale * (x * sin + y * cos)) for x, y in right]
    return Shape("polygon", points, colour)


def _wall() -> list[Shape]:
    joints = [((0.0, y), (1.0, y)) for y in (0.25, 0.5, 0.75)]
    corners = ((0.5, 0.0), (0.25, 0.25), (0.75, 0.25), (0.5, 0.5), (0.25, 0.75), (0.75, 0.75))
    joints += [((x, y), (x, y + 0.25)) for x, y in corners]
    return [ground(STONE), *(Shape("line", joint, "#464a54") for joint in joints)]


#: Shaft and teeth of a key.
_KEY = (((0.46, 0.5), (0.86, 0.5)), ((0.7, 0.5), (0.7, 0.64)), ((0.83, 0.5), (0.83, 0.66)))

TILES: dict[str, list[Shape]] = {
    "C": _coin(0.33),
    "c": _coin(0.17),
    "T": _cloud("#6c8e2b", "#425c14", 1.1),
    "t": _cloud("#bed382", "#8ca550", 0.8),
    "~": _waves("#e9cd96", "#be9654"),
    "=": _waves("#b0d6f0", "#5494c4"),
    **{tile: [ground("#e8edf5"), _arrow(action, "#788caa", 1.05)] for tile, action in ONE_WAY.items()},
    "#": _wall(),
    "P": [ground("#786c64"), Shape("ellipse", ((0.06, 0.1), (0.94, 0.94)), "#232128")],
    "X": [Shape("line", line, "#b3261e", width=0.1) for line in (((0.2, 0.2), (0.8, 0.8)), ((0.2, 0.8), (0.8, 0.2)))],
    "k": [
        circle(0.32, 0.5, 0.15, GOLD, "#ba7e00"),
        circle(0.32, 0.5, 0.06, GROUND),
        *(Shape("line", line, "#ba7e00", width=0.07) for line in _KEY),
    ],
    "D": [ground("#9c6b3f"), Shape("rectangle", ((0.15, 0.1), (0.85, 1)), "#7a4e28"), circle(0.7, 0.55, 0.06, GOLD)],
    "O": [
        Shape("ellipse", ((0.1, 0.16), (0.9, 0.9)), "#5494c4"),
        Shape("ellipse", ((0.18, 0.26), (0.82, 0.84)), "#285c8c"),
    ],
    "G": [
        Shape("line", ((0.36, 0.16), (0.36, 0.86)), INK, width=0.05),
        Shape("polygon", ((0.38, 0.16), (0.8, 0.31), (0.38, 0.46)), "#2e8b57"),
    ],
    "S": [Shape("rectangle", ((0.2, 0.2), (0.8, 0.8)), "#e2ded4")],
}

#: A push button on the left edge of its cell.
BUTTON = [
    Shape("rectangle", ((0.03, 0.3), (0.12, 0.7)), STONE),
    Shape("ellipse", ((0.06, 0.35), (0.24, 0.65)), "#d63e38"),
]


def tile_shapes(tile: str) -> list[Shape]:
    """Ground, tile and grid line of one cell."""
    return [ground(GROUND), *TILES.get(tile, ()), Shape("rectangle", ((0, 0), (1, 1)), None, LINE, 0.02)]


def agent_shapes(action: str | None) -> list[Shape]:
    """A round blue robot, with a small arrow for its last move or else with eyes."""
    body = circle(0.5, 0.5, 0.3, "#2468c4", "#123e80")
    if action in DIRECTIONS:
        return [body, _arrow(action, WHITE, 0.62)]
    eyes = [circle(x, 0.46, radius, fill) for x in (0.4, 0.6) for radius, fill in ((0.07, WHITE), (0.032, "#122850"))]
    return [body, *eyes]
