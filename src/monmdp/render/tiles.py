"""Painting of tiles: one function per kind, in a unit square that is scaled to pixels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PIL import ImageDraw

Colour = tuple[int, int, int]

GROUND: Colour = (250, 248, 242)
LINE: Colour = (216, 210, 198)
INK: Colour = (47, 54, 66)
GOLD: Colour = (244, 180, 26)
GOLD_EDGE: Colour = (186, 126, 0)
SAND: Colour = (233, 205, 150)
SAND_DARK: Colour = (190, 150, 84)
TOXIC: Colour = (108, 142, 43)
TOXIC_EDGE: Colour = (66, 92, 20)
MILD: Colour = (190, 211, 130)
MILD_EDGE: Colour = (140, 165, 80)
WATER: Colour = (176, 214, 240)
WATER_DARK: Colour = (84, 148, 196)
STONE: Colour = (92, 97, 108)
PIT: Colour = (35, 33, 40)
ARROW: Colour = (120, 140, 170)
BUTTON: Colour = (214, 62, 56)


class Brush:
    """Draws into the square with top left corner (x, y) and sides of `size` pixels; coordinates are fractions."""

    def __init__(self, draw: ImageDraw.ImageDraw, x: int, y: int, size: int) -> None:
        self.draw, self.x, self.y, self.size = draw, x, y, size

    def _scaled(self, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(self.x + x * self.size, self.y + y * self.size) for x, y in points]

    def _width(self, fraction: float) -> int:
        return max(1, round(fraction * self.size))

    def fill(self, colour: Colour) -> None:
        """Fill the whole square."""
        self.rectangle(0, 0, 1, 1, colour)

    def frame(self, colour: Colour, width: float = 0.02) -> None:
        """Draw the edge of the square."""
        self.draw.rectangle(self._scaled([(0, 0), (1, 1)]), outline=colour, width=self._width(width))

    def circle(self, x: float, y: float, radius: float, fill: Colour, edge: Colour | None = None) -> None:
        """Draw a disc around (x, y), optionally with an edge."""
        box = self._scaled([(x - radius, y - radius), (x + radius, y + radius)])
        self.draw.ellipse(box, fill=fill, outline=edge, width=self._width(0.03) if edge else 0)

    def ellipse(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """Draw a filled ellipse in a box."""
        self.draw.ellipse(self._scaled([(left, top), (right, bottom)]), fill=fill)

    def rectangle(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """Draw a filled box."""
        self.draw.rectangle(self._scaled([(left, top), (right, bottom)]), fill=fill)

    def polygon(self, points: list[tuple[float, float]], fill: Colour) -> None:
        """Draw a filled polygon."""
        self.draw.polygon(self._scaled(points), fill=fill)

    def line(self, points: list[tuple[float, float]], fill: Colour, width: float = 0.05) -> None:
        """Draw a line through points."""
        self.draw.line(self._scaled(points), fill=fill, width=self._width(width), joint="curve")


def _coin(brush: Brush, radius: float) -> None:
    brush.circle(0.5, 0.5, radius, GOLD, GOLD_EDGE)
    brush.circle(0.5, 0.5, radius * 0.66, (250, 205, 90))


def _cloud(brush: Brush, fill: Colour, edge: Colour, scale: float) -> None:
    for grow, colour in ((0.035, edge), (0.0, fill)):
        for x, y, radius in ((0.30, 0.58, 0.19), (0.70, 0.58, 0.19), (0.50, 0.42, 0.23), (0.50, 0.62, 0.20)):
            brush.circle(0.5 + (x - 0.5) * scale, 0.5 + (y - 0.5) * scale, (radius + grow) * scale, colour)
    for x in (0.41, 0.59):
        brush.circle(0.5 + (x - 0.5) * scale, 0.5 - 0.03 * scale, 0.05 * scale, edge)


def _waves(brush: Brush, colour: Colour, ground: Colour) -> None:
    brush.fill(ground)
    for y in (0.28, 0.52, 0.76):
        brush.line([(0.12 + 0.095 * i, y + (0.045 if i % 2 else -0.045)) for i in range(9)], colour, 0.035)


def _arrow(brush: Brush, action: str, colour: Colour, scale: float) -> None:
    """An arrow in the direction of a move."""
    turn = {"RIGHT": (1, 0), "DOWN": (0, 1), "LEFT": (-1, 0), "UP": (0, -1)}[action]
    shape = [(-0.32, -0.1), (0.03, -0.1), (0.03, -0.26), (0.34, 0), (0.03, 0.26), (0.03, 0.1), (-0.32, 0.1)]
    points = [(0.5 + scale * (a * turn[0] - b * turn[1]), 0.5 + scale * (a * turn[1] + b * turn[0])) for a, b in shape]
    brush.polygon(points, colour)


def _one_way(brush: Brush, action: str) -> None:
    brush.fill((232, 237, 245))
    _arrow(brush, action, ARROW, scale=1.05)


def _wall(brush: Brush) -> None:
    brush.fill(STONE)
    for y in (0.25, 0.5, 0.75):
        brush.line([(0, y), (1, y)], (70, 74, 84), 0.03)
    for x, y in ((0.5, 0), (0.25, 0.25), (0.75, 0.25), (0.5, 0.5), (0.25, 0.75), (0.75, 0.75)):
        brush.line([(x, y), (x, y + 0.25)], (70, 74, 84), 0.03)


def _pit(brush: Brush) -> None:
    brush.fill((120, 108, 100))
    brush.ellipse(0.06, 0.1, 0.94, 0.94, PIT)


def _hole(brush: Brush) -> None:
    brush.ellipse(0.1, 0.16, 0.9, 0.9, WATER_DARK)
    brush.ellipse(0.18, 0.26, 0.82, 0.84, (40, 92, 140))


def _goal(brush: Brush) -> None:
    brush.line([(0.36, 0.16), (0.36, 0.86)], INK, 0.05)
    brush.polygon([(0.38, 0.16), (0.8, 0.31), (0.38, 0.46)], (46, 139, 87))


def _start(brush: Brush) -> None:
    brush.rectangle(0.2, 0.2, 0.8, 0.8, (226, 222, 212))


PAINTERS: dict[str, Callable[[Brush], None]] = {
    ".": lambda brush: None,
    "C": partial(_coin, radius=0.33),
    "c": partial(_coin, radius=0.17),
    "T": partial(_cloud, fill=TOXIC, edge=TOXIC_EDGE, scale=1.1),
    "t": partial(_cloud, fill=MILD, edge=MILD_EDGE, scale=0.8),
    "~": partial(_waves, colour=SAND_DARK, ground=SAND),
    "=": partial(_waves, colour=WATER_DARK, ground=WATER),
    "<": partial(_one_way, action="LEFT"),
    ">": partial(_one_way, action="RIGHT"),
    "^": partial(_one_way, action="UP"),
    "v": partial(_one_way, action="DOWN"),
    "#": _wall,
    "P": _pit,
    "O": _hole,
    "G": _goal,
    "S": _start,
}


def paint_tile(brush: Brush, tile: str) -> None:
    """Paint ground, tile and grid line of one cell."""
    brush.fill(GROUND)
    PAINTERS.get(tile, PAINTERS["."])(brush)
    brush.frame(LINE)


def paint_button(brush: Brush) -> None:
    """Paint a push button on the left edge of its cell."""
    brush.rectangle(0.03, 0.3, 0.12, 0.7, STONE)
    brush.ellipse(0.06, 0.35, 0.24, 0.65, BUTTON)


def paint_agent(brush: Brush, action: str | None) -> None:
    """Paint a round blue robot with a small arrow for its last move."""
    brush.circle(0.5, 0.5, 0.3, (36, 104, 196), (18, 62, 128))
    if action in ("LEFT", "RIGHT", "UP", "DOWN"):
        _arrow(brush, action, (255, 255, 255), scale=0.62)
    else:
        for x in (0.4, 0.6):
            brush.circle(x, 0.46, 0.07, (255, 255, 255))
            brush.circle(x, 0.46, 0.032, (18, 40, 80))
