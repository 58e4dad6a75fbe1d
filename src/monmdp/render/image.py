"""A scene as pixels: the grid with the agent, and a panel with monitor state, action and reward."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from monmdp.problem import Layout, MonMDP
from monmdp.render.text import Scene
from monmdp.render.tiles import GOLD, INK, LINE, Brush, Colour, paint_agent, paint_button, paint_tile

WIDTH, PANEL, MARGIN = 480, 150, 12
#: Pictures are drawn larger and scaled down, for smooth edges.
OVERSAMPLING = 2

PAPER: Colour = (255, 255, 255)
FADED: Colour = (140, 146, 156)
SEEN: Colour = (24, 128, 72)


def draw_image(problem: MonMDP, scene: Scene) -> npt.NDArray[np.uint8]:
    """A scene as an RGB array [height, width, 3]."""
    grid = draw_grid(problem, scene)
    picture = Image.new("RGB", (max(grid.width, WIDTH), grid.height + PANEL), PAPER)
    picture.paste(grid, ((picture.width - grid.width) // 2, 0))
    _draw_panel(ImageDraw.Draw(picture), picture.width, grid.height, problem, scene)
    return np.asarray(picture).copy()


def draw_grid(problem: MonMDP, scene: Scene | None = None) -> Image.Image:
    """The tiles, the button if the monitor has one, and the agent if there is a scene."""
    layout = problem.environment.layout
    if layout is None:
        return _draw_card(problem, scene)
    # cells are smaller in larger grids, so that all pictures have about the same size
    size = max(12, min(80, 800 // layout.columns, 640 // layout.rows)) * OVERSAMPLING
    picture = _tiles(layout, size).copy()
    draw = ImageDraw.Draw(picture)
    brushes = [Brush(draw, column * size, row * size, size) for row, column in layout.cells]
    for state in problem.monitor.landmarks:
        paint_button(brushes[state])
    if scene is not None:
        moved = None if scene.action is None else problem.environment.actions[problem.split_action(scene.action)[0]]
        paint_agent(brushes[problem.split_state(scene.state)[0]], moved)
    return picture.resize((picture.width // OVERSAMPLING, picture.height // OVERSAMPLING), Image.Resampling.LANCZOS)


@lru_cache(maxsize=32)
def _tiles(layout: Layout, size: int) -> Image.Image:
    picture = Image.new("RGB", (layout.columns * size, layout.rows * size), PAPER)
    draw = ImageDraw.Draw(picture)
    for row, tiles in enumerate(layout.tiles):
        for column, tile in enumerate(tiles):
            paint_tile(Brush(draw, column * size, row * size, size), tile)
    return picture


def _draw_card(problem: MonMDP, scene: Scene | None) -> Image.Image:
    """A card with the state's label, for environments whose states have no positions."""
    picture = Image.new("RGB", (WIDTH, 120), (244, 246, 249))
    draw = ImageDraw.Draw(picture)
    if scene is not None:
        env_state, _ = problem.split_state(scene.state)
        label = f"state {problem.environment.state_label(env_state)}"
        draw.text((WIDTH / 2, 60), label, INK, _font(36), anchor="mm")
    return picture


def _draw_panel(draw: ImageDraw.ImageDraw, width: int, top: int, problem: MonMDP, scene: Scene) -> None:
    y = top + MARGIN
    draw.text((MARGIN, y), problem.name, INK, _fitting(problem.name, width - 190))
    draw.text((width - MARGIN, y + 2), scene.step_text(problem), FADED, _font(14), anchor="ra")
    _draw_monitor_states(draw, width, y + 34, problem, problem.split_state(scene.state)[1])
    draw.text((MARGIN, y + 74), "action", FADED, _font(15))
    draw.text((100, y + 74), scene.action_text(problem), INK, _font(15))
    draw.text((MARGIN, y + 104), "reward", FADED, _font(15))
    if scene.action is not None:
        _draw_eye(draw, 102, y + 104, scene.shown_reward is not None)
    colour = SEEN if scene.shown_reward is not None else FADED
    draw.text((100 if scene.action is None else 136, y + 104), scene.reward_text(), colour, _font(15))
    if scene.action is not None:
        draw.text((width - MARGIN, y + 104), f"monitor {scene.monitor_reward:+g}", INK, _font(15), anchor="ra")


def _draw_monitor_states(draw: ImageDraw.ImageDraw, width: int, y: int, problem: MonMDP, current: int) -> None:
    """One box per monitor state, the current one highlighted."""
    draw.text((MARGIN, y + 5), "monitor", FADED, _font(15))
    labels = [str(state) for state in problem.monitor.states]
    share = (width - 100 - MARGIN) / len(labels)
    x = 100.0
    for index, label in enumerate(labels):
        font = _font(15 if share > 40 else 11)
        box_width = min(max(draw.textlength(label, font) + 18, 28), share - 4)
        lit = index == current
        box = [x, y, x + box_width, y + 28]
        draw.rounded_rectangle(box, 8, fill=GOLD if lit else (238, 240, 244), outline=INK if lit else LINE)
        draw.text((x + box_width / 2, y + 14), label, INK if lit else FADED, font, anchor="mm")
        x += box_width + 4


def _draw_eye(draw: ImageDraw.ImageDraw, x: int, y: int, is_open: bool) -> None:
    """An open eye if the reward was observed, else a closed one."""
    if is_open:
        draw.ellipse([x, y + 3, x + 26, y + 17], fill=PAPER, outline=SEEN, width=2)
        draw.ellipse([x + 9, y + 6, x + 17, y + 14], fill=SEEN)
        return
    draw.arc([x, y - 4, x + 26, y + 12], 20, 160, fill=FADED, width=2)
    for start, end in (((6, 10), (3, 15)), ((13, 12), (13, 18)), ((20, 10), (23, 15))):
        draw.line([x + start[0], y + start[1], x + end[0], y + end[1]], fill=FADED, width=2)


@lru_cache(maxsize=16)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _fitting(text: str, width: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The largest font in which the text fits the width."""
    for size in (18, 15, 12):
        if _font(size).getlength(text) <= width:
            return _font(size)
    return _font(10)
