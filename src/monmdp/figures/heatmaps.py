"""Heat maps of one problem: how often agents visited each pair, and what they think it is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.exact.solve import solve
from monmdp.figures.cells import colour_map, draw_cells, fitting_size, label_cells
from monmdp.figures.data import FigureData
from monmdp.figures.saving import Drawing
from monmdp.figures.style import FADED, HEIGHT, INK, TICK, WIDTH, agent_styles, new_figure
from monmdp.figures.text import Fitted, even_ticks, fitted, number, one_line, set_ticks, text_width
from monmdp.problem import Floats, MonMDP
from monmdp.study.results import CellResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches: most for names of agents and of actions, between maps, a row of cells, right of, above and below all.
NAMES, ACTIONS, BETWEEN, CELL, RIGHT, ABOVE, BELOW = 1.1, 0.9, 0.1, 0.155, 0.66, 0.24, 0.62
LEAST_CELL = 0.085
COLOURS = "viridis"
#: Most environment states whose names fit below a map.
LABELLED = 12


class Look(NamedTuple):
    """How maps show values: colours, ticks of their scale and its title, texts in cells; whether the best
    action of a state is framed; on which side of the scale there are values beyond it.
    """

    norm: Any
    ticks: list[float]
    title: str
    text: Callable[[float], str]
    framed: bool = False
    beyond: str = "neither"


def visits(data: FigureData) -> Drawing:
    """N(s, a) of the first seed that all agents have run; colours are logarithmic and the same for all."""
    from matplotlib.colors import LogNorm

    problem, cells, seed = _one_run(data)
    tables = {cell.agent: cell.final_table("visit_counts", seed).astype(np.float64) for cell in cells}
    seen = np.concatenate([table[problem.reachable].ravel() for table in tables.values()])
    high = max(float(seen.max()), 10.0)
    low = max(min(float(seen[seen > 0].min(initial=high)), high / 10), 1.0)
    steps = (1, 2, 5) if high / low < 100 else (1,)
    powers = range(int(np.log10(low)), int(np.log10(high)) + 1)
    ticks = [tick for power in powers for step in steps if low <= (tick := step * 10.0**power) <= high]
    notes = {}
    for agent, table in tables.items():
        here = table[problem.reachable]
        notes[agent] = f"{number(here.min())} – {number(here.max())}\nvisits a pair"
    look = Look(LogNorm(low, high), ticks, f"visits N(s, a) after training, seed {seed}; grey: never", number)
    page = _maps(data, problem, tables, notes, look)
    return Drawing(page, (*_KEYS, "seed", "visits"), _rows(problem, tables, seed, int))


def q_values(data: FigureData) -> Drawing:
    """Q(s, a) of the first seed that all agents have run below the exact Q*; colours are the same for all."""
    from matplotlib.colors import Normalize

    problem, cells, seed = _one_run(data)
    exact = np.where(problem.reachable[:, None], solve(problem).q, np.nan)
    learnt = {cell.agent: cell.final_table("q", seed) for cell in cells}
    low, high = _value_limits(exact[problem.reachable], list(learnt.values()))
    notes = {EXACT: "exact"}
    for agent, table in learnt.items():
        notes[agent] = f"error up to\n{_short(float(np.nanmax(np.abs(table - exact))))}"
    title = f"Q(s, a) after training, seed {seed}; framed: best action of a state"
    below, above = any(np.nanmin(t) < low for t in learnt.values()), any(np.nanmax(t) > high for t in learnt.values())
    beyond = {(True, True): "both", (True, False): "min", (False, True): "max"}.get((below, above), "neither")
    look = Look(Normalize(low, high, clip=True), even_ticks(low, high, 5), title, _short, True, beyond)
    page = _maps(data, problem, {EXACT: exact, **learnt}, notes, look)
    return Drawing(page, (*_KEYS, "seed", "q", "optimal_q"), _rows(problem, learnt, seed, float, exact))


EXACT = "optimal Q*"
_KEYS = ("environment", "monitor", "agent", "environment_state", "monitor_state", "action")


def _one_run(data: FigureData) -> tuple[MonMDP, list[CellResults], int]:
    """The problem, its cells, and the first seed that all agents have run."""
    cells = data.cells_of_problem()
    problem = cells[0].problem
    if problem is None:
        raise MonMDPError(f"{cells[0].problem_name} cannot be built again from its name, so its states are not known.")
    common = set.intersection(*(set(cell.seeds) for cell in cells))
    if not common:
        raise MonMDPError(f"The agents have no seed in common in {cells[0].problem_name}.")
    return problem, cells, min(common)


def _value_limits(exact: Floats, learnt: list[Floats]) -> tuple[float, float]:
    """From the smallest to the largest value, unless it is far from all that is right."""
    low, high = float(exact.min()), float(exact.max())
    reach = 1.5 * max(high - low, 1e-6)
    every = np.concatenate([table[~np.isnan(table)] for table in learnt])
    return max(min(low, float(every.min())), low - reach), min(max(high, float(every.max())), high + reach)


def _maps(data: FigureData, problem: MonMDP, tables: dict[str, Floats], notes: dict[str, str], look: Look) -> Figure:
    """One row of maps an agent, one map a state of the monitor; a map has environment states across, actions down."""
    env, monitor = problem.environment, problem.monitor
    n_env, n_mon = len(env.states), len(monitor.states)
    actions = [
        fitted(problem.action_label(action), ACTIONS, 1, TICK if problem.n_actions < 8 else TICK - 1)
        for action in range(problem.n_actions)
    ]
    names = {agent: fitted(agent, NAMES, 2, bold=True) for agent in tables}
    beside = max(text_width(line, fit.size, True) for fit in names.values() for line in fit.text.splitlines())
    left = 0.04 + beside + 0.12 + max(text_width(fit.text, fit.size) for fit in actions) + 0.04
    wide = max((WIDTH - left - RIGHT - BETWEEN * (n_mon - 1)) / n_mon, 0.9)
    room = (HEIGHT - ABOVE - BELOW) / len(tables) - BETWEEN
    high = problem.n_actions * min(max(room / problem.n_actions, LEAST_CELL), CELL)
    labelled = n_env <= LABELLED
    width = left + RIGHT + n_mon * wide + BETWEEN * (n_mon - 1)
    height = ABOVE + BELOW + len(tables) * (high + BETWEEN)
    page = new_figure(width, height)
    styles, colours = agent_styles(data.results.agents), colour_map(COLOURS)
    texts = {agent: [[look.text(value) for value in line] for line in table.T] for agent, table in tables.items()}
    size = fitting_size(texts.values(), TICK - 0.5, wide / n_env)
    for i, (agent, table) in enumerate(tables.items()):
        bottom = height - ABOVE - (i + 1) * (high + BETWEEN) + BETWEEN
        middle = (bottom + high / 2) / height
        ink = styles[agent].colour if agent in styles else INK
        page.text(0.04 / width, middle, names[agent].text, size=names[agent].size, weight="bold", color=ink,
                  va="center")  # fmt: skip
        page.text((width - RIGHT + 0.05) / width, middle, notes[agent], size=TICK - 1, color=FADED, va="center",
                  linespacing=1.1)  # fmt: skip
        for j in range(n_mon):
            axes = page.add_axes((
                (left + j * (wide + BETWEEN)) / width, bottom / height, wide / width, high / height
            ))  # fmt: skip
            values = _coloured(table, look)[j::n_mon].T
            draw_cells(axes, values, [line[j::n_mon] for line in texts[agent]], look.norm, colours, size)
            if look.framed:
                _frame_best(axes, values)
            last = i == len(tables) - 1
            across = [one_line(env.state_label(s)) for s in range(n_env)] if last and labelled else [""] * n_env
            label_cells(axes, [fit.text for fit in actions] if j == 0 else [""] * len(actions), across)
            _shrink(axes, actions, wide / n_env, across)
            if i == 0 and n_mon > 1:
                title = fitted(f"monitor {monitor.states[j]}", wide, 1, bold=True)
                axes.set_title(title.text, size=title.size, weight="bold", pad=3)
            if last:
                label = "environment state" + ("" if labelled else f" (0 to {n_env - 1})")
                axes.set_xlabel(label, size=TICK, labelpad=1.5)
    _scale(page, look, left)
    return page


def _coloured(table: Floats, look: Look) -> Floats:
    """Values as they are coloured: what a logarithm cannot show is left grey."""
    from matplotlib.colors import LogNorm

    return np.where(table > 0, table, np.nan) if isinstance(look.norm, LogNorm) else table


def _shrink(axes: Any, fits: list[Fitted], cell: float, across: list[str]) -> None:
    """Names of actions and states in sizes that fit."""
    for label, fit in zip(axes.get_yticklabels(), fits, strict=True):
        label.set_fontsize(fit.size)
    for label in axes.get_xticklabels():
        label.set_fontsize(min(fitted(name, cell, lines=1, size=TICK).size for name in across))


def _frame_best(axes: Any, values: Floats) -> None:
    """A frame around the best actions [action, state] of every state."""
    from matplotlib.patches import Rectangle

    for state in range(values.shape[1]):
        column = values[:, state]
        if not np.isnan(column).any():
            for action in np.flatnonzero(column >= column.max() - 1e-9):
                axes.add_patch(
                    Rectangle((state + 0.04, action + 0.06), 0.92, 0.88, fill=False, edgecolor="#D55E00", linewidth=0.9)
                )


def _scale(page: Figure, look: Look, left: float) -> None:
    """The bar that says which colour is which number."""
    from matplotlib.cm import ScalarMappable

    width, height = page.get_size_inches()
    axes = page.add_axes((left / width, 0.3 / height, (width - left - RIGHT) / width, 0.07 / height))
    page.colorbar(
        ScalarMappable(look.norm, colour_map(COLOURS)), cax=axes, orientation="horizontal", extend=look.beyond
    )
    axes.minorticks_off()
    set_ticks(axes.xaxis, look.ticks)
    axes.tick_params(length=1.5, labelsize=TICK)
    fit = fitted(look.title, width - left, 1)
    axes.set_xlabel(fit.text, size=fit.size, labelpad=1)


def _short(value: float) -> str:
    """Three digits that matter."""
    if np.isnan(value):
        return ""
    text = f"{value:#.3g}" if 0.01 <= abs(value) < 1000 else f"{value:.2g}"
    return text.rstrip(".").replace("-", "−")


def _rows(
    problem: MonMDP,
    tables: dict[str, Floats],
    seed: int,
    kind: Callable[[float], Any],
    exact: Floats | None = None,
) -> list[tuple[Any, ...]]:
    """One row an agent and pair that can be visited, with the exact value beside it if there is one."""
    rows: list[tuple[Any, ...]] = []
    for agent, table in tables.items():
        for state in np.flatnonzero(problem.reachable):
            env_state, monitor_state = problem.split_state(int(state))
            where = (problem.environment.name, problem.monitor.name, agent)
            labels = problem.environment.state_label(env_state), str(problem.monitor.states[monitor_state])
            for action in range(problem.n_actions):
                beside = () if exact is None else (exact[state, action].item(),)
                value = kind(table[state, action].item())
                rows.append((*where, *labels, problem.action_label(action), seed, value, *beside))
    return rows
