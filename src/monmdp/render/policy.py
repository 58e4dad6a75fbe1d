"""A policy drawn on the grid, one picture a monitor state, for a terminal."""

from __future__ import annotations

import numpy as np
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from monmdp.problem import Floats, MonMDP
from monmdp.render.text import ARROWS, GLYPHS, action_symbol

#: From low to high value; also readable without colours.
SHADES = ("grey50", "steel_blue", "medium_turquoise", "gold3", "bold yellow")


def draw_policy(problem: MonMDP, policy: Floats, values: Floats) -> RenderableType:
    """Best environment actions as arrows, and below them the monitor action where there is a choice.

    policy [S, A], values [S]. Cells that cannot be reached show their tile.
    """
    if problem.environment.layout is None:
        return Text("The states of this environment have no places, so its policy cannot be drawn.", style="dim")
    shade = _shades(problem, values)
    pictures = [_picture(problem, policy, shade, monitor) for monitor in range(len(problem.monitor.states))]
    return Group(Columns(pictures, padding=(0, 2)), _legend(problem))


def _picture(problem: MonMDP, policy: Floats, shade: list[str], monitor: int) -> RenderableType:
    layout = problem.environment.layout
    assert layout is not None
    title = f"monitor: {problem.monitor.states[monitor]}" if len(problem.monitor.states) > 1 else "best actions"
    grid = Table(title=title, show_header=False, show_lines=True, padding=(0, 0), title_style="bold")
    for _ in range(layout.columns):
        grid.add_column(justify="center", min_width=3, no_wrap=True)
    cells: dict[tuple[int, int], Text] = {}
    for env_state, place in enumerate(layout.cells):
        state = env_state * len(problem.monitor.states) + monitor
        row, column = place
        if problem.reachable[state]:
            cells[place] = Text(_choices(problem, policy[state]), style=shade[state])
        else:
            cells[place] = Text(GLYPHS.get(layout.tiles[row][column], layout.tiles[row][column]), style="dim")
    for row in range(layout.rows):
        grid.add_row(*(cells.get((row, column), Text("")) for column in range(layout.columns)))
    return grid


def _choices(problem: MonMDP, chances: Floats) -> str:
    """All tied best environment actions and, where there is a choice, monitor actions, as short symbols."""
    best = [problem.split_action(int(action)) for action in np.flatnonzero(chances > 0)]
    env = "".join(action_symbol(problem.environment.actions[a]) for a in sorted({a for a, _ in best}))
    if len(problem.monitor.actions) == 1:
        return env
    named = {m for _, m in best}
    every = len(named) == len(problem.monitor.actions)
    monitor = "any" if every else ",".join(_short(str(problem.monitor.actions[m])) for m in sorted(named))
    return f"{env}\n{monitor}"


def _short(label: str) -> str:
    return "–" if label == "no-op" else label[:4]


def _shades(problem: MonMDP, values: Floats) -> list[str]:
    seen = values[problem.reachable]
    low, span = float(seen.min()), float(np.ptp(seen)) or 1.0
    return [SHADES[min(int((v - low) / span * len(SHADES)), len(SHADES) - 1)] if r else "dim"
            for v, r in zip(values, problem.reachable, strict=True)]  # fmt: skip


def _legend(problem: MonMDP) -> Text:
    used = [f"{ARROWS[action]} {action}" for action in problem.environment.actions if action in ARROWS]
    text = "  ".join(used) + "   brighter: worth more"
    if len(problem.monitor.actions) > 1:
        text += "   below: monitor action, – for no-op"
    return Text(text, style="dim")
