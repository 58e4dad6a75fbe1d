"""An agent while it learns, as a picture for a terminal: heat of visits, goal, greedy arrows, β."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from reference.base import PlainAgent
from reference.loop import Stepped, plain_return
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from monmdp.exact.solve import greedy_policy, optimal_values, policy_return
from monmdp.problem import MonMDP
from monmdp.render.text import GLYPHS, action_symbol

#: Background colours from never to often visited.
HEAT = ("default", "#2b2440", "#4a2a5e", "#78305f", "#a63a50", "#d1573b", "#eb8a2f")


class Insight:
    """Collects what has happened and draws it."""

    def __init__(self, problem: MonMDP, agent: PlainAgent, name: str, steps: int) -> None:
        self.problem, self.agent, self.name, self.steps = problem, agent, name, steps
        self.last: Stepped | None = None
        self.observed = self.explored = self.done = 0
        self.optimum = policy_return(problem, greedy_policy(optimal_values(problem, problem.reward)))

    def note(self, stepped: Stepped) -> None:
        """Take one training step into account."""
        self.last = stepped
        self.done += 1
        self.observed += stepped.observed
        self.explored += stepped.exploring

    def picture(self, speed: int, paused: bool) -> RenderableType:
        """Everything at once."""
        goal = getattr(self.agent, "goal", None)
        pair = None if goal is None else int(self.agent.goals[goal()])  # type: ignore[attr-defined]
        parts: list[RenderableType] = [self._status(pair)]
        if self.problem.environment.layout is not None:
            parts.append(
                Columns([self._grid(m, pair) for m in range(len(self.problem.monitor.states))], padding=(0, 2))
            )
            parts.append(Text("@ agent  ★ goal  arrows: greedy actions  warmer: visited more often", style="dim"))
        state = "paused" if paused else f"{speed} steps a picture"
        parts.append(Text(f"{state}   + faster  - slower  space pause  s step  q quit", style="dim"))
        return Group(*parts)

    def _status(self, pair: int | None) -> Table:
        problem, done = self.problem, max(self.done, 1)
        rows = [("problem", f"{self.name} in {problem.name}"), ("step", f"{self.done:,} of {self.steps:,}")]
        beta = self.agent.beta(self.done)
        if pair is not None and not math.isnan(beta):
            bar = self.agent.options.beta_bar
            state, action = divmod(pair, problem.n_actions)
            mode = "[bold magenta]explore[/]" if beta > bar else "[bold green]exploit[/]"
            rows.append(("β", f"{beta:.4g} against {bar:g}: {mode}"))
            rows.append(("goal", f"{problem.action_label(action)} in {problem.state_label(state)}"))
        elif self.last is not None:
            rows.append(("mode", "[bold magenta]random[/]" if self.last.exploring else "[bold green]greedy[/]"))
        if self.last is not None:
            seen = "reward [bold green]seen[/]" if self.last.observed else "reward [dim]hidden[/]"
            label = f"{problem.action_label(self.last.action)} in {problem.state_label(self.last.state)}"
            rows.append(("last action", f"{label}, {seen}"))
        visited = int(np.count_nonzero(self.agent.visits))
        rows.append(("visited", f"{visited} of {int(problem.reachable_pairs.sum())} pairs"))
        rows.append(("observed", f"{self.observed:,} rewards; exploring {self.explored / done:.0%} of the time"))
        rows.append(("return", f"{plain_return(problem, self.agent.q):.4f} of {self.optimum:.4f}"))
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 0))
        for name, value in rows:
            table.add_row(f"[dim]{name}[/]", value)
        return table

    def _grid(self, monitor: int, pair: int | None) -> RenderableType:
        problem, layout = self.problem, self.problem.environment.layout
        assert layout is not None
        n_monitor = len(problem.monitor.states)
        title = f"monitor: {problem.monitor.states[monitor]}" if n_monitor > 1 else ""
        grid = Table(title=title, show_header=False, show_lines=False, padding=(0, 0), title_style="bold")
        for _ in range(layout.columns):
            grid.add_column(justify="center", min_width=3, no_wrap=True)
        visits = self.agent.visits.sum(1)
        top = math.log1p(float(visits.max())) or 1.0
        cells: dict[tuple[int, int], Text] = {}
        for env_state, place in enumerate(layout.cells):
            state = env_state * n_monitor + monitor
            heat = HEAT[round(math.log1p(float(visits[state])) / top * (len(HEAT) - 1))]
            cells[place] = Text(self._content(state, layout.tiles[place[0]][place[1]], pair), style=f"on {heat}")
        for row in range(layout.rows):
            grid.add_row(*(cells.get((row, column), Text("")) for column in range(layout.columns)))
        return grid

    def _content(self, state: int, tile: str, pair: int | None) -> str:
        problem: Any = self.problem
        if not problem.reachable[state]:
            return f" {GLYPHS.get(tile, tile)} "
        best = int(self.agent.q[state].argmax())
        arrow = action_symbol(problem.environment.actions[problem.split_action(best)[0]])
        here = self.last is not None and self.last.next_state == state
        aim = pair is not None and pair // problem.n_actions == state
        mark = ("@" if here else "") + ("★" if aim else "")
        return f"{mark or ' '}{arrow}{GLYPHS.get(tile, tile) if tile != '.' and not mark else ' '}"[:3].ljust(3)
