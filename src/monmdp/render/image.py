"""A scene as pixels: the grid with the agent, and a panel with monitor state, action and reward."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from monmdp.problem import MonMDP
from monmdp.render.text import Scene
from monmdp.render.tiles import BUTTON, GOLD, INK, LINE, WHITE, Shape, agent_shapes, circle, paint, tile_shapes

#: Smallest width, height of the panel, margin, and left edge of the panel's second column.
WIDTH, PANEL, MARGIN, COLUMN = 480, 150, 12, 100
#: Pictures are drawn larger and scaled down, for smooth edges.
OVERSAMPLING = 2
FADED, SEEN = "#8c929c", "#188048"

OPEN_EYE = [Shape("ellipse", ((0, 0.12), (1, 0.65)), WHITE, SEEN, 0.08), circle(0.5, 0.385, 0.15, SEEN)]
LID = ((0.03, 0.26), (0.21, 0.41), (0.5, 0.46), (0.79, 0.41), (0.97, 0.26))
LASHES = (((0.23, 0.38), (0.12, 0.58)), ((0.5, 0.46), (0.5, 0.69)), ((0.77, 0.38), (0.88, 0.58)))
CLOSED_EYE = [Shape("line", points, FADED, width=0.08) for points in (LID, *LASHES)]


def draw_image(problem: MonMDP, scene: Scene) -> npt.NDArray[np.uint8]:
    """A scene as an RGB array [height, width, 3]."""
    grid = draw_grid(problem, scene)
    picture = Image.new("RGB", (max(grid.width, WIDTH), grid.height + PANEL), WHITE)
    picture.paste(grid, ((picture.width - grid.width) // 2, 0))
    _draw_panel(ImageDraw.Draw(picture), picture.width, grid.height + MARGIN, problem, scene)
    return np.asarray(picture).copy()


def draw_grid(problem: MonMDP, scene: Scene | None = None) -> Image.Image:
    """The tiles, the button if the monitor has one, and the agent if there is a scene."""
    layout = problem.environment.layout
    if layout is None:
        return _draw_card(problem, scene)
    shown = slice(0, layout.columns) if scene is None else layout.shown(problem.split_state(scene.state)[0])
    # cells are smaller in larger grids, so that all pictures have about the same size
    size = max(12, min(80, 800 // (shown.stop - shown.start), 640 // layout.rows)) * OVERSAMPLING
    picture = _draw_tiles(tuple(tiles[shown] for tiles in layout.tiles), size).copy()
    marks = [(state, BUTTON) for state in problem.monitor.landmarks]
    if scene is not None:
        moved = None if scene.action is None else problem.environment.actions[problem.split_action(scene.action)[0]]
        marks.append((problem.split_state(scene.state)[0], agent_shapes(moved)))
    for state, shapes in marks:
        row, column = layout.cells[state]
        paint(ImageDraw.Draw(picture), shapes, (column - shown.start) * size, row * size, size)
    return picture.resize((picture.width // OVERSAMPLING, picture.height // OVERSAMPLING), Image.Resampling.LANCZOS)


@lru_cache(maxsize=32)
def _draw_tiles(rows: tuple[str, ...], size: int) -> Image.Image:
    picture = Image.new("RGB", (len(rows[0]) * size, len(rows) * size), WHITE)
    draw = ImageDraw.Draw(picture)
    for row, tiles in enumerate(rows):
        for column, tile in enumerate(tiles):
            paint(draw, tile_shapes(tile), column * size, row * size, size)
    return picture


def _draw_card(problem: MonMDP, scene: Scene | None) -> Image.Image:
    """A card with the state's label, for environments whose states have no positions."""
    picture = Image.new("RGB", (WIDTH, 120), "#f4f6f9")
    if scene is not None:
        label = f"state {problem.environment.state_label(problem.split_state(scene.state)[0])}"
        ImageDraw.Draw(picture).text((WIDTH / 2, 60), label, INK, _font(36), anchor="mm")
    return picture


def _draw_panel(draw: ImageDraw.ImageDraw, width: int, y: int, problem: MonMDP, scene: Scene) -> None:
    fonts = (_font(size) for size in (18, 15, 12, 10))
    fitting = next((font for font in fonts if font.getlength(problem.name) <= width - 190), _font(10))
    draw.text((MARGIN, y), problem.name, INK, fitting)
    draw.text((width - MARGIN, y + 2), scene.step_text(problem), FADED, _font(14), anchor="ra")
    for place, label in ((39, "monitor"), (74, "action"), (104, "reward")):
        draw.text((MARGIN, y + place), label, FADED, _font(15))
    _draw_monitor_states(draw, width, y + 34, problem, problem.split_state(scene.state)[1])
    draw.text((COLUMN, y + 74), scene.action_text(problem), INK, _font(15))
    seen = scene.shown_reward is not None
    paint(draw, OPEN_EYE if seen else CLOSED_EYE, COLUMN + 2, y + 104, 26)
    draw.text((COLUMN + 36, y + 104), scene.reward_text(), SEEN if seen else FADED, _font(15))
    draw.text((width - MARGIN, y + 104), f"monitor {scene.monitor_reward:+g}", INK, _font(15), anchor="ra")


def _draw_monitor_states(draw: ImageDraw.ImageDraw, width: int, y: int, problem: MonMDP, current: int) -> None:
    """One box per monitor state, the current one highlighted."""
    share = (width - COLUMN - MARGIN) / len(problem.monitor.states)
    font = _font(15 if share > 40 else 11)
    x = float(COLUMN)
    for index, label in enumerate(map(str, problem.monitor.states)):
        box_width = min(max(draw.textlength(label, font) + 18, 28), share - 4)
        fill, edge, ink = (GOLD, INK, INK) if index == current else ("#eef0f4", LINE, FADED)
        draw.rounded_rectangle([x, y, x + box_width, y + 28], 8, fill=fill, outline=edge)
        draw.text((x + box_width / 2, y + 14), label, ink, font, anchor="mm")
        x += box_width + 4


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
