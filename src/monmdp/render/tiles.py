"""How each tile is painted: one small function per kind, in a unit square scaled to pixels."""

from __future__ import annotations

from collections.abc import Callable

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
    """Draws into the square whose top left corner is (x, y) with sides of `size` pixels; lengths are fractions."""

    def __init__(self, draw: ImageDraw.ImageDraw, x: int, y: int, size: int) -> None:
        self.draw, self.x, self.y, self.size = draw, x, y, size

    def _box(self, left: float, top: float, right: float, bottom: float) -> list[float]:
        return [
            self.x + left * self.size,
            self.y + top * self.size,
            self.x + right * self.size,
            self.y + bottom * self.size,
        ]

    def _width(self, fraction: float) -> int:
        return max(1, round(fraction * self.size))

    def fill(self, colour: Colour) -> None:
        """Colour the whole square."""
        self.draw.rectangle(self._box(0, 0, 1, 1), fill=colour)

    def frame(self, colour: Colour, width: float = 0.02) -> None:
        """Draw the edge of the square."""
        self.draw.rectangle(self._box(0, 0, 1, 1), outline=colour, width=self._width(width))

    def circle(self, x: float, y: float, radius: float, fill: Colour, edge: Colour | None = None) -> None:
        """A disc around (x, y), with an edge if asked."""
        box = self._box(x - radius, y - radius, x + radius, y + radius)
        self.draw.ellipse(box, fill=fill, outline=edge, width=self._width(0.03) if edge else 0)

    def ellipse(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """A filled ellipse in a box."""
        self.draw.ellipse(self._box(left, top, right, bottom), fill=fill)

    def rectangle(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """A filled box."""
        self.draw.rectangle(self._box(left, top, right, bottom), fill=fill)

    def polygon(self, points: list[tuple[float, float]], fill: Colour) -> None:
        """A filled shape through points."""
        self.draw.polygon([(self.x + x * self.size, self.y + y * self.size) for x, y in points], fill=fill)

    def line(self, points: list[tuple[float, float]], fill: Colour, width: float = 0.05) -> None:
        """A line through points."""
        scaled = [(self.x + x * self.size, self.y + y * self.size) for x, y in points]
        self.draw.line(scaled, fill=fill, width=self._width(width), joint="curve")


def _coin(radius: float) -> Callable[[Brush], None]:
    def paint(brush: Brush) -> None:
        brush.circle(0.5, 0.5, radius, GOLD, GOLD_EDGE)
        brush.circle(0.5, 0.5, radius * 0.66, (250, 205, 90))

    return paint


def _cloud(fill: Colour, edge: Colour, scale: float) -> Callable[[Brush], None]:
    puffs = [(0.30, 0.58, 0.19), (0.70, 0.58, 0.19), (0.50, 0.42, 0.23), (0.50, 0.62, 0.20)]

    def paint(brush: Brush) -> None:
        for grow, colour in ((0.035, edge), (0.0, fill)):
            for x, y, radius in puffs:
                brush.circle(0.5 + (x - 0.5) * scale, 0.5 + (y - 0.5) * scale, (radius + grow) * scale, colour)
        for x in (0.41, 0.59):
            brush.circle(0.5 + (x - 0.5) * scale, 0.5 - 0.03 * scale, 0.05 * scale, edge)

    return paint


def _waves(colour: Colour, ground: Colour) -> Callable[[Brush], None]:
    def paint(brush: Brush) -> None:
        brush.fill(ground)
        for y in (0.28, 0.52, 0.76):
            crest = [(0.12 + 0.095 * i, y + (0.045 if i % 2 else -0.045)) for i in range(9)]
            brush.line(crest, colour, 0.035)

    return paint


def arrow(brush: Brush, action: str, colour: Colour, x: float = 0.5, y: float = 0.5, scale: float = 1.0) -> None:
    """An arrow in the direction of a move, centred on (x, y); nothing for other actions."""
    turn = {"RIGHT": (1, 0), "DOWN": (0, 1), "LEFT": (-1, 0), "UP": (0, -1)}.get(action)
    if turn is None:
        return
    shape = [(-0.32, -0.1), (0.03, -0.1), (0.03, -0.26), (0.34, 0), (0.03, 0.26), (0.03, 0.1), (-0.32, 0.1)]
    points = [(x + scale * (a * turn[0] - b * turn[1]), y + scale * (a * turn[1] + b * turn[0])) for a, b in shape]
    brush.polygon(points, colour)


def _one_way(action: str) -> Callable[[Brush], None]:
    def paint(brush: Brush) -> None:
        brush.fill((232, 237, 245))
        arrow(brush, action, ARROW, scale=1.05)

    return paint


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
    "C": _coin(0.33),
    "c": _coin(0.17),
    "T": _cloud(TOXIC, TOXIC_EDGE, 1.1),
    "t": _cloud(MILD, MILD_EDGE, 0.8),
    "~": _waves(SAND_DARK, SAND),
    "=": _waves(WATER_DARK, WATER),
    "<": _one_way("LEFT"),
    ">": _one_way("RIGHT"),
    "^": _one_way("UP"),
    "v": _one_way("DOWN"),
    "#": _wall,
    "P": _pit,
    "O": _hole,
    "G": _goal,
    "S": _start,
}


def paint_tile(brush: Brush, tile: str) -> None:
    """Ground, tile and grid line of one cell."""
    brush.fill(GROUND)
    PAINTERS.get(tile, PAINTERS["."])(brush)
    brush.frame(LINE)


def paint_button(brush: Brush) -> None:
    """A push button on the left edge of its cell."""
    brush.rectangle(0.03, 0.3, 0.12, 0.7, STONE)
    brush.ellipse(0.06, 0.35, 0.24, 0.65, BUTTON)


def paint_agent(brush: Brush, action: str | None) -> None:
    """A round blue robot; a small arrow on it shows its last move."""
    brush.circle(0.5, 0.5, 0.3, (36, 104, 196), (18, 62, 128))
    if action in ("LEFT", "RIGHT", "UP", "DOWN"):
        arrow(brush, action, (255, 255, 255), scale=0.62)
    else:
        for x in (0.4, 0.6):
            brush.circle(x, 0.46, 0.07, (255, 255, 255))
            brush.circle(x, 0.46, 0.032, (18, 40, 80))
