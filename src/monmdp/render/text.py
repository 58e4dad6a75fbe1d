"""A moment, or a policy, as text for a terminal."""

from __future__ import annotations

from collections.abc import Callable

from monmdp.problem import MonMDP
from monmdp.render.scene import Scene, action_text, reward_text, step_text

ARROWS = {"LEFT": "←", "DOWN": "↓", "RIGHT": "→", "UP": "↑", "STAY": "•"}

#: Tile characters as they look best in a terminal; others are shown as they are.
GLYPHS = {".": "·", "<": "◁", ">": "▷", "^": "△", "v": "▽", "#": "█", "P": "◍", "~": "≈", "=": "≈"}


def draw_text(problem: MonMDP, scene: Scene) -> str:
    """The grid with the agent as @ and a button as ◉, and below it monitor, action and reward."""
    env_state, monitor_state = problem.split_state(scene.state)
    marks = {**problem.monitor.landmarks, env_state: "@"}
    glyph = {"button": "◉", "@": "@"}
    picture = draw_cells(problem, lambda state, tile: glyph[marks[state]] if state in marks else GLYPHS.get(tile, tile))
    lights = " ".join(f"[{s}]" if i == monitor_state else f" {s} " for i, s in enumerate(problem.monitor.states))
    rows = [
        f"{problem.name}, {step_text(problem, scene)}",
        picture if problem.environment.layout else f"state {problem.environment.state_label(env_state)}",
        f"monitor  {lights}",
        f"action   {action_text(problem, scene)}",
        f"reward   {reward_text(scene)}, monitor {scene.monitor_reward:g}",
    ]
    return "\n".join(rows) + "\n"


def draw_cells(problem: MonMDP, content: Callable[[int, str], str], width: int = 1) -> str:
    """A box of cells; content(state, tile) fills each, padded to `width`."""
    layout = problem.environment.layout
    if layout is None:
        return ""
    rows = [[" " * width] * layout.columns for _ in range(layout.rows)]
    for state, (row, column) in enumerate(layout.cells):
        rows[row][column] = content(state, layout.tiles[row][column]).center(width)
    inner = ["│ " + " ".join(row) + " │" for row in rows]
    bar = "─" * (len(inner[0]) - 2)
    return "\n".join([f"┌{bar}┐", *inner, f"└{bar}┘"])


def action_symbol(label: str) -> str:
    """An arrow for moves, a short word for anything else."""
    return ARROWS.get(label, label[:2].lower())
