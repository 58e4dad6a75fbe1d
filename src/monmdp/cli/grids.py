"""Grids of an environment for the terminal, one per monitor state, and policies drawn on them."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from monmdp.problem import Floats, MonMDP
from monmdp.render.text import ARROWS, GLYPHS, action_symbol

START, BUTTON = "S", "◉"

#: Styles from low to high value.
SHADES = ("grey50", "steel_blue", "medium_turquoise", "gold3", "bold yellow")


@dataclass(frozen=True)
class Grids:
    """A table of cells per monitor state, as wide as the console allows; content(joint state, tile) fills each cell.

    title: of the table if the monitor has only one state. lines: whether rules separate the rows. A grid wider than
    the console gets narrower cells or, if that is not enough, is cut into parts, one below the other.
    """

    problem: MonMDP
    content: Callable[[int, str], Text]
    title: str = ""
    lines: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        layout, states = self.problem.environment.layout, self.problem.monitor.states
        assert layout is not None
        cells = [[[Text(GLYPHS.get(tile, tile), "dim") for tile in row] for row in layout.tiles] for _ in states]
        for env_state, (row, column) in enumerate(layout.cells):
            tile = layout.tiles[row][column]
            for number, grid in enumerate(cells):
                grid[row][column] = self.content(env_state * len(states) + number, GLYPHS.get(tile, tile))
        needed = max(line.cell_len for grid in cells for row in grid for cell in row for line in cell.split("\n"))
        room = (options.max_width - 1) // layout.columns - 1
        width = min(max(needed, 3), room) if room >= needed else max(needed, 3)
        parts = math.ceil(layout.columns / max(1, (options.max_width - 1) // (width + 1)))
        per_part = math.ceil(layout.columns / parts)
        tables = []
        for label, grid in zip(states, cells, strict=True):
            for first in range(0, layout.columns, per_part):
                last = min(first + per_part, layout.columns)
                words = [f"monitor: {label}" if len(states) > 1 else self.title]
                words += [f"columns {first} to {last - 1}"] * (parts > 1)
                tables.append(self._table(", ".join(filter(None, words)), [row[first:last] for row in grid], width))
        yield Columns(tables, padding=(0, 2))

    def _table(self, title: str, rows: list[list[Text]], width: int) -> Table:
        table = Table(title=title, show_header=False, show_lines=self.lines, padding=(0, 0), title_style="bold")
        for _ in rows[0]:
            table.add_column(justify="center", width=width, no_wrap=True)
        for row in rows:
            table.add_row(*row)
        return table


def draw_policy(problem: MonMDP, policy: Floats, values: Floats) -> RenderableType:
    """Best environment actions as arrows; below them the monitor actions if there are several, start, button and tile.

    policy [S, A], values [S]. Cells that cannot be reached show their tile only.
    """
    environment, layout = problem.environment, problem.environment.layout
    if layout is None:
        return Text("The states of this environment have no positions, so its policy cannot be drawn.", style="dim")
    tiles, actions = set("".join(layout.tiles)), problem.monitor.actions
    plain = GLYPHS["."] if len(tiles) > 1 else GLYPHS.get(*tiles, *tiles)
    low, span = float(values[problem.reachable].min()), float(np.ptp(values[problem.reachable])) or 1.0

    def content(state: int, glyph: str) -> Text:
        env_state = problem.split_state(state)[0]
        marks = START * bool(environment.start[env_state] > 0) + BUTTON * (env_state in problem.monitor.landmarks)
        tile = marks + glyph * (glyph != plain)
        if not problem.reachable[state]:
            return Text(tile or glyph, style="dim")
        shade = min(int((values[state] - low) / span * len(SHADES)), len(SHADES) - 1)
        return Text.assemble((_choices(problem, policy[state]), SHADES[shade]), f"\n{tile}" if tile else "")

    legend = [f"{ARROWS[action]} {action}" for action in environment.actions if action in ARROWS]
    legend += ["brighter: higher value", *["second line: monitor action"] * (len(actions) > 1)]
    legend += ["– no-op"] * ("no-op" in actions and len(actions) > 1) + ["≠ any but"] * (len(actions) > 2)
    legend += [f"{START} start", *(f"{BUTTON} {name}" for name in dict.fromkeys(problem.monitor.landmarks.values()))]
    kinds: dict[str, str] = {}
    for tile, name in layout.names:
        if tile in tiles - {"."}:
            kinds[name] = kinds.get(name, "") + GLYPHS.get(tile, tile)
    legend += [f"{glyphs} {name}" for name, glyphs in kinds.items()]
    notes = Columns([Text(note, style="dim") for note in legend], padding=(0, 2))
    return Group(Grids(problem, content, "best actions", lines=True), notes)


def _choices(problem: MonMDP, chances: Floats) -> str:
    """All tied best environment actions and, if there are several, monitor actions, as short symbols."""
    best = [problem.split_action(int(action)) for action in np.flatnonzero(chances > 0)]
    actions, chosen = problem.environment.actions, sorted({a for a, _ in best})
    env = "any" if len(chosen) == len(actions) > 2 else "".join(action_symbol(actions[a]) for a in chosen)
    labels, chosen = problem.monitor.actions, sorted({m for _, m in best})
    if len(labels) == 1:
        return env
    short = ["–" if label == "no-op" else str(label)[:4] for label in labels]
    if len(chosen) == len(labels):
        return f"{env}\nany"
    if len(chosen) == len(labels) - 1 > 1:
        return f"{env}\n≠{next(text for m, text in enumerate(short) if m not in chosen)}"
    return f"{env}\n{','.join(short[m] for m in chosen)}"
