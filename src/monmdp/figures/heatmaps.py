"""Coloured cells with numbers: visits and values of every pair in one problem, and solved seeds in all problems."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from monmdp.errors import MonMDPError
from monmdp.exact.solve import solve
from monmdp.figures import style
from monmdp.figures.data import Drawing, FigureData
from monmdp.figures.style import fitting_size, number, wrapped
from monmdp.problem import Floats, MonMDP
from monmdp.statistics import wilson
from monmdp.study.results import CellResults

#: Inches: largest and smallest height of a row of cells, and widths of the labels left and right of the cells.
CELL, LEAST_CELL, LEFT, RIGHT = 0.155, 0.085, 1.3, 0.65
#: Points below which numbers in cells cannot be read, and are left out.
LEAST_TEXT = 3.75
#: Characters of an agent's name from which on it gets more space.
LONG_NAME = 14
#: Largest number of environment states whose names fit below a map.
LABELLED = 12
EXACT = "optimal Q*"
KEYS = ("environment", "monitor", "agent", "environment_state", "monitor_state", "action", "seed")


#: Texts of cells, an array of strings.
Texts = npt.NDArray[Any]


class Block(NamedTuple):
    """A row of maps, each [row, column]: its name and colour, the names of its rows, and the text of a value."""

    name: str
    colour: str
    rows: Sequence[str]
    maps: Sequence[Floats]
    text: Callable[[float], str]


def visits(data: FigureData) -> Drawing:
    """N(s, a) of the first seed that all agents have run; colours are logarithmic and the same for all."""
    problem, cells, seed = _one_run(data)
    tables = {cell.agent: cell.final_table("visit_counts", seed) for cell in cells}
    reached = {agent: table[problem.reachable] for agent, table in tables.items()}
    counts = np.concatenate([table.ravel() for table in reached.values()])
    high = max(float(counts.max()), 10.0)
    low = max(min(float(counts[counts > 0].min(initial=high)), high / 10), 1.0)
    notes = {agent: f"{number(t.min())} – {number(t.max())}\nvisits per pair" for agent, t in reached.items()}
    title = f"visits N(s, a) after training, seed {seed}; grey: never"
    figure = _maps(data, problem, tables, notes, LogNorm(low, high), number, title)
    return Drawing(figure, (*KEYS, "visits"), _rows(problem, seed, tables))


def q_values(data: FigureData) -> Drawing:
    """Q(s, a) of the first seed that all agents have run below the exact Q*; colours are the same for all."""
    problem, cells, seed = _one_run(data)
    exact = np.where(problem.reachable[:, None], solve(problem).q, np.nan)
    learnt = {cell.agent: cell.final_table("q", seed) for cell in cells}
    low, high = np.nanmin(exact), np.nanmax(exact)
    least, most = (extreme([extreme(table) for table in learnt.values()]) for extreme in (np.nanmin, np.nanmax))
    reach = 1.5 * max(high - low, 1e-6)  # values further from all exact ones get the colour of the end
    low, high = max(min(low, least), low - reach), min(max(high, most), high + reach)
    beyond = ("neither", "min", "max", "both")[int(least < low) + 2 * int(most > high)]
    errors = {agent: float(np.nanmax(np.abs(table - exact))) for agent, table in learnt.items()}
    notes = {EXACT: "exact"} | {agent: f"error up to\n{short(error)}" for agent, error in errors.items()}
    title = f"Q(s, a) after training, seed {seed}; framed: best action of a state"
    tables = {EXACT: exact, **learnt}
    figure = _maps(data, problem, tables, notes, Normalize(low, high, clip=True), short, title, beyond)
    n_mon = len(problem.monitor.states)
    for i, axes in enumerate(figure.axes[: n_mon * len(tables)]):
        values = [*tables.values()][i // n_mon][i % n_mon :: n_mon].T
        for action, state in np.argwhere(values >= values.max(0) - 1e-9):  # false where a value is NaN
            corner = (state + 0.04, action + 0.06)
            axes.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, edgecolor="#D55E00", linewidth=0.9))
    return Drawing(figure, (*KEYS, "q", "optimal_q"), _rows(problem, seed, learnt, exact))


def solved(data: FigureData) -> Drawing:
    """Seeds that ended optimal, problems × agents."""
    results, agents = data.results, data.results.agents
    fractions, rows = {}, []
    for cell in (cell for problem in results.problems for cell in results.of_problem(*problem)):
        if cell.compared:
            key, wins, runs = (cell.environment, cell.monitor, cell.agent), int(cell.solved.sum()), len(cell.seeds)
            fractions[key] = wins / runs
            rows.append((*key, runs, wins, *(float(value) for value in wilson(wins, runs))))
    if not fractions:
        raise MonMDPError(f"In {results.folder}, no run is evaluated in a problem whose best return is known.")
    blocks = []
    for name in results.environments:
        monitors = [monitor for environment, monitor in results.problems if environment == name]
        values = np.array([[fractions.get((name, m, agent), np.nan) for agent in agents] for m in monitors])
        labels = [wrapped(results.labels[monitor], 1.0, 1, style.TICK) for monitor in monitors]
        blocks.append(Block(wrapped(results.labels[name], 0.9, bold=True), style.INK, labels, [values], percent))
    each = [[fraction for key, fraction in fractions.items() if key[2] == agent] for agent in agents]
    means = np.array([[np.mean(values) if values else np.nan for values in each]])
    blocks.append(Block("", style.INK, ["mean"], [means], lambda mean: "–" if np.isnan(mean) else f"{100 * mean:.1f}"))
    left = 1.4 if max(len(label) for block in blocks for label in (block.name, *block.rows)) < 12 else 2.2
    column = min(max((style.page_size()[0] - left) / len(agents), 0.45 if len(agents) <= 8 else 0.3), 0.62)
    names, upright = [results.labels[agent] for agent in agents], len(agents) <= 8
    headings = [wrapped(name, column - 0.06 if upright else 3.0, 3 if upright else 1, bold=True) for name in names]
    above = 0.0 if upright else max(map(len, headings)) * style.LABEL * style.BOLD_CHARACTER
    height = 0.7 + above + CELL * sum(max(len(block.rows), 2) + 0.4 for block in blocks)
    figure = Figure(figsize=(left + max(column * len(agents), 1.0), height))
    _draw_blocks(figure, blocks, Normalize(0, 1), "Blues", style.TICK)
    top, bottom = figure.axes[0], figure.axes[-1]
    bottom.set_xlabel("seeds that ended optimal, in %", size=style.TICK, color=style.FADED)
    top.set_xticks(np.arange(len(agents)) + 0.5, headings)
    top.tick_params(axis="x", labeltop=True, labelbottom=False, rotation=0 if upright else 90)
    for label, look in zip(top.get_xticklabels(), data.styles.values(), strict=True):
        label.set(size=style.LABEL, weight="bold", color=look.colour)
    return Drawing(figure, ("environment", "monitor", "agent", "runs", "solved", "fraction", "low", "high"), rows)


def percent(value: float) -> str:
    """A fraction in percent, such that almost all and almost none differ from all and none."""
    if np.isnan(value):
        return "no runs"
    return f"{100 * value:.1f}" if 0.995 <= value < 1 or 0 < value < 0.005 else f"{100 * value:.0f}"


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


def _maps(
    data: FigureData,
    problem: MonMDP,
    tables: dict[str, Floats],
    notes: dict[str, str],
    norm: Normalize,
    text: Callable[[float], str],
    title: str,
    beyond: str = "neither",
) -> Figure:
    """One row of maps per agent, one map per monitor state; environment states across, actions down.

    notes: texts right of the maps; beyond: the side of the colour scale `norm` on which there are values outside it.
    """
    env, n_env, n_mon = problem.environment, len(problem.environment.states), len(problem.monitor.states)
    row_height = min(max((style.page_size()[1] - 1.0) / len(tables) / problem.n_actions - 0.05, LEAST_CELL), CELL)
    names = [data.results.labels.get(agent, agent) for agent in tables]
    left = LEFT + (0.35 if max(map(len, names)) > LONG_NAME else 0.0)
    wide = max((style.page_size()[0] - left - RIGHT) / n_mon - 0.1, 0.9)
    height = 1.0 + len(tables) * (problem.n_actions * row_height + 0.08)
    figure = Figure(figsize=(left + RIGHT + n_mon * (wide + 0.1), height))
    actions = [wrapped(problem.action_label(action), 0.8, 1, style.TICK) for action in range(problem.n_actions)]
    blocks = []
    for name, (agent, table) in zip(names, tables.items(), strict=True):
        colour = data.styles[agent].colour if agent in data.styles else style.INK
        maps = [table[j::n_mon].T for j in range(n_mon)]
        blocks.append(Block(wrapped(name, left - 0.4, bold=True), colour, actions, maps, text))
    longest = max(len(text(value)) for table in tables.values() for value in table.flat)
    size = fitting_size(longest, 0.9 * wide / n_env, style.TICK - 0.5)
    grid = _draw_blocks(figure, blocks, norm, "viridis", size)
    for axes, note in zip(grid[:, -1], notes.values(), strict=True):
        axes.annotate(note, (1, 0.5), (3, 0), "axes fraction", "offset points", size=style.SMALL, color=style.FADED,
                      va="center", linespacing=1.1)  # fmt: skip
    for axes in grid[:, 0]:
        axes.tick_params(axis="y", labelsize=min(style.TICK, 60 * row_height))
    states = [wrapped(env.state_label(s), 0.6, 1, style.TICK) for s in range(n_env)] if n_env <= LABELLED else []
    for j in range(n_mon if n_mon > 1 else 0):
        grid[0, j].set_title(wrapped(f"monitor {problem.monitor.states[j]}", wide, 1, bold=True))
    for axes in grid[-1]:
        state_size = fitting_size(max(map(len, states), default=1), 0.9 * wide / n_env)
        axes.set_xticks(np.arange(len(states)) + 0.5, states, size=state_size)
        axes.set_xlabel("environment state" + ("" if states else f" (0 to {n_env - 1})"), size=style.TICK)
    scale = figure.colorbar(
        grid[0, 0].collections[0], ax=grid, location="bottom", extend=beyond, aspect=60, pad=0.02, label=title,
        format=lambda value, _: number(round(value, 9)),
    )  # fmt: skip
    scale.ax.minorticks_off()
    return figure


def _draw_blocks(figure: Figure, blocks: Sequence[Block], norm: Normalize, colour_map: str, size: float) -> np.ndarray:
    """Blocks below each other as coloured cells, with texts if their size can be read; the axes [block, map]."""
    heights = [max(len(block.rows), 2 if block.name else 1) for block in blocks]
    grid = figure.subplots(len(blocks), len(blocks[0].maps), squeeze=False, height_ratios=heights)
    colours = matplotlib.colormaps[colour_map].with_extremes(bad=style.PALE)
    for line, block in zip(grid, blocks, strict=True):
        for axes, values in zip(line, block.maps, strict=True):
            draw_map(axes, values, norm, colours, cell_texts(block.text, values), size)
        line[0].set_yticks(np.arange(len(block.rows)) + 0.5, block.rows)
        line[0].set_ylabel(
            block.name, rotation=0, ha="right", va="center", weight="bold", color=block.colour, labelpad=5
        )
    figure.align_ylabels(grid[:, 0])
    return np.asarray(grid)


def cell_texts(text: Callable[[float], str], values: Floats) -> Texts:
    """The text of every value."""
    texts: Texts = np.vectorize(text, otypes=[object])(values)
    return texts


def draw_map(axes: Axes, values: Floats, norm: Normalize, colours: Colormap, texts: Texts, size: float) -> None:
    """Values [row, column] as coloured cells, with texts [row, column] if their size can be read."""
    shown = np.ma.masked_where(np.isnan(values) | np.isnan(norm(values).filled(np.nan)), values)
    edge = 0.6 if size >= LEAST_TEXT else 0.0
    axes.pcolormesh(shown, norm=norm, cmap=colours, edgecolors="white" if edge else "none", linewidth=edge)
    axes.set(xlim=(0, values.shape[1]), ylim=(values.shape[0], 0), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for (i, j), value in np.ndenumerate(values) if edge else ():
        dark = shown[i, j] is not np.ma.masked and np.dot(colours(norm(value))[:3], style.LUMINANCE) < 0.48
        ink = "white" if dark else style.INK
        axes.text(j + 0.5, i + 0.52, str(texts[i, j]), size=size, color=ink, ha="center", va="center")


def short(value: float) -> str:
    """A number with three significant digits; nothing for NaN."""
    return "" if np.isnan(value) else f"{value:#.3g}".rstrip(".").replace("-", "−")


def _rows(problem: MonMDP, seed: int, tables: dict[str, Any], *more: Floats) -> list[tuple[Any, ...]]:
    """One row per agent and reachable pair: its labels, and the values of the agent's table and of `more` tables."""
    rows = []
    for agent, table in tables.items():
        for state, action in itertools.product(np.flatnonzero(problem.reachable).tolist(), range(problem.n_actions)):
            env_state, monitor_state = problem.split_state(state)
            labels = problem.environment.state_label(env_state), str(problem.monitor.states[monitor_state])
            values = (values[state, action].item() for values in (table, *more))
            names = (problem.environment.name, problem.monitor.name, agent, *labels, problem.action_label(action))
            rows.append((*names, seed, *values))
    return rows
