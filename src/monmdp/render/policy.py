"""A policy drawn on the grid for a terminal, one table per monitor state."""

from __future__ import annotations

import numpy as np
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.text import Text

from monmdp.problem import Floats, MonMDP
from monmdp.render.text import ARROWS, action_symbol, cell_table

#: Styles from low to high value.
SHADES = ("grey50", "steel_blue", "medium_turquoise", "gold3", "bold yellow")


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

    states = problem.monitor.states
    titles = [f"monitor: {state}" for state in states] if len(states) > 1 else ["best actions"]
    tables = [cell_table(problem, i, title, content, lines=True) for i, title in enumerate(titles)]
    return Group(Columns(tables, padding=(0, 2)), _legend(problem))


def _choices(problem: MonMDP, chances: Floats) -> str:
    """All tied best environment actions and, if there are several, monitor actions, as short symbols."""
    best = [problem.split_action(int(action)) for action in np.flatnonzero(chances > 0)]
    env = "".join(action_symbol(problem.environment.actions[a]) for a in sorted({a for a, _ in best}))
    labels, chosen = problem.monitor.actions, sorted({m for _, m in best})
    if len(labels) == 1:
        return env
    short = ["–" if labels[m] == "no-op" else str(labels[m])[:4] for m in chosen]
    return f"{env}\n{'any' if len(chosen) == len(labels) else ','.join(short)}"


def _legend(problem: MonMDP) -> Text:
    used = [f"{ARROWS[action]} {action}" for action in problem.environment.actions if action in ARROWS]
    text = "  ".join(used) + "   brighter: higher value"
    if len(problem.monitor.actions) > 1:
        text += "   below: monitor action, – for no-op"
    return Text(text, style="dim")
