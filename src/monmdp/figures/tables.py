"""A table that is also a picture: which part of the seeds of every agent ended optimal in every problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from monmdp.figures.cells import colour_map, draw_cells
from monmdp.figures.data import FigureData
from monmdp.figures.saving import Drawing
from monmdp.figures.style import FADED, TICK, WIDTH, agent_styles, new_figure
from monmdp.figures.text import fitted, line_height, text_width
from monmdp.statistics import wilson

#: Inches: a row of cells, space between environments, most for names, most for a column, and the margin.
CELL, BETWEEN, NAMES, COLUMN, MARGIN = 0.142, 0.05, 1.3, 0.62, 0.05


def solved(data: FigureData) -> Drawing:
    """Seeds that ended optimal, problems × agents."""
    from matplotlib.colors import Normalize

    results = data.results
    agents, styles = results.agents, agent_styles(results.agents)
    shares, rows = _shares(data)
    groups = {name: [m for e, m in results.problems if e == name] for name in results.environments}
    env_names = {name: fitted(name, NAMES, 2, bold=True) for name in groups}
    monitor_names = {name: fitted(name, NAMES, 1, TICK) for name in results.monitors}
    env_wide = max(text_width(line, fit.size, True) for fit in env_names.values() for line in fit.text.splitlines())
    left = MARGIN + env_wide + 0.12 + max(text_width(fit.text, fit.size) for fit in monitor_names.values()) + 0.06
    column = min(max((WIDTH - left - MARGIN) / len(agents), 0.45), COLUMN)
    width = max(left + column * len(agents) + MARGIN, 2.4)
    heads = {agent: fitted(agent, column - 0.04, 3, bold=True) for agent in agents}
    head = max(line_height(fit.size) * len(fit.text.splitlines()) for fit in heads.values()) + 0.12
    deep = {name: max(len(group), len(env_names[name].text.splitlines())) * CELL for name, group in groups.items()}
    height = head + sum(deep.values()) + BETWEEN * len(deep) + 2.4 * CELL + MARGIN
    page = new_figure(width, height)
    top = height - head
    for j, agent in enumerate(agents):
        fit = heads[agent]
        page.text(
            (left + (j + 0.5) * column) / width, (top + 0.045) / height, fit.text, size=fit.size, weight="bold",
            color=styles[agent].colour, ha="center", va="baseline", multialignment="center",
            linespacing=1.0,
        )  # fmt: skip
    norm, colours = Normalize(0, 1), colour_map("Blues")
    overall = {agent: [share for (_, _, other), share in shares.items() if other == agent] for agent in agents}
    blocks: list[tuple[str, list[str], np.ndarray]] = [
        (name, group, np.array([[shares.get((name, m, agent), np.nan) for agent in agents] for m in group]))
        for name, group in groups.items()
    ]
    for name, group, values in blocks:
        high = len(group) * CELL
        top -= deep[name]
        middle = top + deep[name] - high / 2
        page.text(
            MARGIN / width, middle / height, env_names[name].text, size=env_names[name].size, weight="bold",
            va="center", linespacing=1.0,
        )  # fmt: skip
        axes = page.add_axes((
            left / width, (middle - high / 2) / height, column * len(agents) / width, high / height
        ))  # fmt: skip
        draw_cells(axes, values, [[_percent(value) for value in line] for line in values], norm, colours, TICK)
        axes.set_xticks([])
        axes.set_yticks(np.arange(len(group)) + 0.5, labels=[monitor_names[m].text for m in group])
        axes.tick_params(length=0)
        for label, m in zip(axes.get_yticklabels(), group, strict=True):
            label.set_fontsize(monitor_names[m].size)
        top -= BETWEEN
    _totals(page, [float(np.mean(overall[agent] or np.nan)) for agent in agents], left, column, norm, colours)
    return Drawing(page, ("environment", "monitor", "agent", "runs", "solved", "fraction", "low", "high"), rows)


def _shares(data: FigureData) -> tuple[dict[tuple[str, str, str], float], list[tuple[Any, ...]]]:
    """(environment, monitor, agent) → fraction solved; and the same as rows, with Wilson's interval."""
    shares, rows = {}, []
    for environment, monitor in data.results.problems:
        for cell in data.results.of_problem(environment, monitor):
            if np.isnan(cell.final_returns).any():  # never evaluated
                continue
            wins, runs = int(cell.solved.sum()), len(cell.seeds)
            found = wilson(wins, runs)
            shares[environment, monitor, cell.agent] = wins / runs
            rows.append((environment, monitor, cell.agent, runs, wins, *(float(value) for value in found)))
    return shares, rows


def _percent(value: float) -> str:
    """A share in percent; all and none are told from almost all and almost none."""
    if np.isnan(value):
        return "no runs"
    if 0.995 <= value < 1 or 0 < value < 0.005:
        return f"{100 * value:.1f}"
    return f"{100 * value:.0f}"


def _totals(page: Any, means: list[float], left: float, column: float, norm: Any, colours: Any) -> None:
    """The mean over all problems, below the table."""
    width, height = page.get_size_inches()
    axes = page.add_axes((
        left / width, (MARGIN + CELL) / height, column * len(means) / width, CELL / height
    ))  # fmt: skip
    draw_cells(
        axes,
        np.array([means]),
        [["–" if np.isnan(mean) else f"{100 * mean:.1f}" for mean in means]],
        norm,
        colours,
        TICK,
    )
    axes.set_xticks([])
    axes.set_yticks([0.5], labels=["mean"])
    axes.tick_params(length=0)
    page.text(
        MARGIN / width, MARGIN / height, "seeds that ended optimal, in %", size=TICK, color=FADED, va="bottom",
    )  # fmt: skip
