"""Grids of an environment for the terminal, one per monitor state, and policies drawn on them."""

from collections.abc import Callable

import numpy as np
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from monmdp.problem import Floats, MonMDP
from monmdp.render.text import GLYPHS

ARROWS = {"LEFT": "←", "DOWN": "↓", "RIGHT": "→", "UP": "↑", "STAY": "•"}

#: Styles from low to high value.
SHADES = ("grey50", "steel_blue", "medium_turquoise", "gold3", "bold yellow")


def draw_grids(
    problem: MonMDP, content: Callable[[int, str], Text], title: str | None = None, lines: bool = False
) -> Columns:
    """A table of cells per monitor state; content(joint state, tile glyph) fills each cell.

    title: of the table if the monitor has only one state. lines: whether rules separate the rows.
    """
    layout, states = problem.environment.layout, problem.monitor.states
    assert layout is not None
    tables = []
    for monitor_state, label in enumerate(states):
        cells = [[Text("")] * layout.columns for _ in range(layout.rows)]
        for env_state, (row, column) in enumerate(layout.cells):
            tile = layout.tiles[row][column]
            cells[row][column] = content(env_state * len(states) + monitor_state, GLYPHS.get(tile, tile))
        name = f"monitor: {label}" if len(states) > 1 else title
        table = Table(title=name, show_header=False, show_lines=lines, padding=(0, 0), title_style="bold")
        for _ in range(layout.columns):
            table.add_column(justify="center", min_width=3, no_wrap=True)
        for line in cells:
            table.add_row(*line)
        tables.append(table)
    return Columns(tables, padding=(0, 2))


def draw_policy(problem: MonMDP, policy: Floats, values: Floats) -> RenderableType:
    """Best environment actions as arrows, with the monitor actions below them if there are several.

    policy [S, A], values [S]. Cells that cannot be reached show their tile.
    """
    if problem.environment.layout is None:
        return Text("The states of this environment have no positions, so its policy cannot be drawn.", style="dim")
    low, span = float(values[problem.reachable].min()), float(np.ptp(values[problem.reachable])) or 1.0

    def content(state: int, glyph: str) -> Text:
        if not problem.reachable[state]:
            return Text(glyph, style="dim")
        shade = min(int((values[state] - low) / span * len(SHADES)), len(SHADES) - 1)
        return Text(_choices(problem, policy[state]), style=SHADES[shade])

    used = [f"{ARROWS[action]} {action}" for action in problem.environment.actions if action in ARROWS]
    legend = "  ".join(used) + "   brighter: higher value"
    if len(problem.monitor.actions) > 1:
        legend += "   below: monitor action, – for no-op"
    return Group(draw_grids(problem, content, "best actions", lines=True), Text(legend, style="dim"))


def _choices(problem: MonMDP, chances: Floats) -> str:
    """All tied best environment actions and, if there are several, monitor actions, as short symbols."""
    best = [problem.split_action(int(action)) for action in np.flatnonzero(chances > 0)]
    env = "".join(action_symbol(problem.environment.actions[a]) for a in sorted({a for a, _ in best}))
    labels, chosen = problem.monitor.actions, sorted({m for _, m in best})
    if len(labels) == 1:
        return env
    short = ["–" if labels[m] == "no-op" else str(labels[m])[:4] for m in chosen]
    return f"{env}\n{'any' if len(chosen) == len(labels) else ','.join(short)}"


def action_symbol(label: str) -> str:
    """An arrow for a move, the first two letters for any other action."""
    return ARROWS.get(label, label[:2].lower())
