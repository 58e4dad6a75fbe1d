"""Grids of curves over training: greedy return, rewards observed, β, fraction of seeds solved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.figures.data import BETA_CEILING, Band, FigureData
from monmdp.figures.limits import return_limits
from monmdp.figures.panels import (
    PanelGrid,
    hide_numbers,
    line_of,
    note_absent,
    panel_grid,
    show_missing,
    show_steps,
)  # fmt: skip
from monmdp.figures.saving import Drawing
from monmdp.figures.style import FADED, INK, TICK, AgentStyle, agent_styles
from monmdp.figures.text import even_ticks, number, set_ticks, thousands
from monmdp.statistics import wilson
from monmdp.study.results import CellResults

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STEPS = "training steps (thousands)"
OPTIMUM: dict[str, Any] = {"color": INK, "linestyle": (0, (3, 2)), "linewidth": 0.6}
BELOW: dict[str, Any] = {"color": FADED, "marker": "v", "markersize": 3, "linestyle": "none"}
COLUMNS = ("environment", "monitor", "agent", "runs", "step", "mean", "low", "high")

Panels = dict[tuple[str, str], dict[str, Band]]


def returns(data: FigureData) -> Drawing:
    """Greedy return during training in the main environments."""
    return _returns(data, data.main_environments)


def returns_all(data: FigureData) -> Drawing:
    """Greedy return during training in all environments."""
    return _returns(data, data.results.environments)


def observed(data: FigureData) -> Drawing:
    """Rewards observed during training in the main environments."""
    return _observed(data, data.main_environments)


def observed_all(data: FigureData) -> Drawing:
    """Rewards observed during training in all environments."""
    return _observed(data, data.results.environments)


def beta(data: FigureData) -> Drawing:
    """β during training and its threshold."""
    agents = with_beta(data)
    environments = data.results.environments
    thresholds = sorted({value for cell in data.results.cells.values() for value in [threshold(cell)] if value})
    legend = [(agent, line_of(style)) for agent, style in agent_styles(data.results.agents).items() if agent in agents]
    named = ", ".join(number(value) for value in thresholds)
    legend += [(f"threshold {named}", OPTIMUM)] if thresholds else []
    panels = _panels(data, environments, agents, lambda cell: data.band(cell, "beta"))
    grid = _grid(data, environments, "β (logarithmic; infinite and above 10 shown as 10)", legend)
    low = min([*(float(band.mean.min()) for band in _all(panels)), *thresholds]) / 2

    def finish(axes: Axes, bands: dict[str, Band], place: tuple[str, str]) -> None:
        for value in thresholds if bands else ():
            axes.axhline(value, zorder=1, **OPTIMUM)
        show_beta(axes, low)

    _draw(grid, data, environments, agents, panels, finish)
    return Drawing(grid.figure, COLUMNS, _rows(panels))


def steps_to_solve(data: FigureData) -> Drawing:
    """Seeds that are solved for good by each step."""
    environments, agents = data.results.environments, data.results.agents
    panels = _panels(data, environments, agents, lambda cell: solved_band(data, cell))
    legend = [(agent, line_of(style)) for agent, style in agent_styles(agents).items()]
    grid = _grid(data, environments, "seeds solved for good (%)", legend)

    def finish(axes: Axes, bands: dict[str, Band], place: tuple[str, str]) -> None:
        axes.set_ylim(-0.04, 1.06)
        set_ticks(axes.yaxis, [0, 0.5, 1], ["0", "50", "100"])

    _draw(grid, data, environments, agents, panels, finish)
    return Drawing(grid.figure, COLUMNS, _rows(panels))


def solved_band(data: FigureData, cell: CellResults) -> Band:
    """Fraction of seeds solved for good by each step, with Wilson's interval."""
    steps = data.band(cell, "return").steps
    solving = data.solving_steps(cell)
    solved = (solving[:, None] <= steps).sum(0)
    found = wilson(solved, len(solving))
    if len(solving) == 1:
        unknown = np.full(len(steps), np.nan)
        return Band(steps, found.estimate, unknown, unknown, 1)
    return Band(steps, *found, len(solving))


def show_beta(axes: Axes, low: float) -> None:
    """A logarithmic axis from below the smallest β to its ceiling."""
    axes.set_yscale("log")
    axes.set_ylim(low, BETA_CEILING * 1.4)
    set_ticks(axes.yaxis, [10.0**power for power in range(int(np.ceil(np.log10(low))), 2)])


def threshold(cell: CellResults) -> float | None:
    """β̄ of the agent of a cell, if it has one."""
    value = cell.settings.get("agent_options", {}).get("beta_bar")
    return float(value) if isinstance(value, int | float) else None


def with_beta(data: FigureData) -> list[str]:
    """The agents that record β."""
    agents = [agent for agent in data.results.agents if data.records_beta(agent)]
    if not agents:
        raise MonMDPError(f"No agent in {data.results.folder} records β; Directed does.")
    return agents


def _returns(data: FigureData, environments: Sequence[str]) -> Drawing:
    agents = data.results.agents
    panels = _panels(data, environments, agents, lambda cell: data.band(cell, "return"))
    optima = {place: sorted({cell.target_return for cell in data.results.of_problem(*place)}) for place in panels}
    limits = {
        name: return_limits(
            [optimum for (row, _), found in optima.items() if row == name for optimum in found],
            [band.mean for (row, _), bands in panels.items() if row == name for band in bands.values()],
        )
        for name in environments
    }
    below = any(band.mean[-1] < limits[row][0] for (row, _), bands in panels.items() for band in bands.values())
    legend = [(agent, line_of(style)) for agent, style in agent_styles(agents).items()]
    legend += [("optimum", OPTIMUM)] + ([("final return, below the axis", BELOW)] if below else [])
    grid = _grid(data, environments, "discounted return of the greedy policy", legend)
    styles = agent_styles(agents)

    def finish(axes: Axes, bands: dict[str, Band], place: tuple[str, str]) -> None:
        low, high = limits[place[0]]
        axes.set_ylim(low, high)
        set_ticks(axes.yaxis, even_ticks(low, high, 3))
        for optimum in optima.get(place, ()):
            axes.axhline(optimum, zorder=1, **OPTIMUM)
        _name_lost(axes, {agent: float(band.mean[-1]) for agent, band in bands.items() if band.mean[-1] < low}, styles)

    _draw(grid, data, environments, agents, panels, finish)
    rows = [
        (*place, "optimum", "", step, optimum, "", "")
        for place, bands in panels.items()
        for optimum in optima[place]
        for step in (0, max(int(band.steps[-1]) for band in bands.values()))
    ]
    return Drawing(grid.figure, COLUMNS, _rows(panels) + rows)


def _name_lost(axes: Axes, lost: dict[str, float], styles: dict[str, AgentStyle]) -> None:
    """Marks of curves that end below the axis, with where they end, between the numbers of the axis."""
    for i, (agent, value) in enumerate(lost.items()):
        text = "▾" + (number(round(value, 1 if abs(value) < 10 else 0)) if len(lost) <= 2 else "")
        axes.annotate(
            text, ((i + 1) / (len(lost) + 1), 0), (0, -3.5), xycoords="axes fraction", textcoords="offset points",
            ha="center", va="top", size=TICK - 0.5, color=styles[agent].colour, annotation_clip=False,
        )  # fmt: skip


def _observed(data: FigureData, environments: Sequence[str]) -> Drawing:
    agents = data.results.agents
    panels = _panels(data, environments, agents, lambda cell: data.band(cell, "observed"))
    legend = [(agent, line_of(style)) for agent, style in agent_styles(agents).items()]
    grid = _grid(data, environments, "rewards observed (thousands)", legend, own_numbers=True)

    def finish(axes: Axes, bands: dict[str, Band], place: tuple[str, str]) -> None:
        tops = [float(np.nanmax([band.mean, band.high])) for band in bands.values()]
        most = max(tops, default=0.0) or 1.0
        axes.set_ylim(-0.03 * most, 1.06 * most)
        places = even_ticks(0, 1.06 * most, 3)
        set_ticks(axes.yaxis, places, [thousands(value) for value in places])

    _draw(grid, data, environments, agents, panels, finish, shared=False)
    return Drawing(grid.figure, COLUMNS, _rows(panels))


def _grid(
    data: FigureData, environments: Sequence[str], y_label: str, legend: list[tuple[str, dict[str, Any]]],
    own_numbers: bool = False,
) -> PanelGrid:  # fmt: skip
    return panel_grid(environments, data.results.monitors, STEPS, y_label, legend, own_numbers)


def _panels(
    data: FigureData, environments: Sequence[str], agents: Sequence[str], band: Callable[[CellResults], Band]
) -> Panels:
    """Problem → agent → what is drawn, for all that have runs."""
    found: Panels = {}
    for environment in environments:
        for monitor in data.results.monitors:
            cells = [cell for cell in data.results.of_problem(environment, monitor) if cell.agent in agents]
            if cells:
                found[environment, monitor] = {cell.agent: band(cell) for cell in cells}
    return found


def _all(panels: Panels) -> list[Band]:
    return [band for bands in panels.values() for band in bands.values()]


def _draw(
    grid: PanelGrid,
    data: FigureData,
    environments: Sequence[str],
    agents: Sequence[str],
    panels: Panels,
    finish: Callable[[Axes, dict[str, Band], tuple[str, str]], None],
    shared: bool = True,
) -> None:
    """Curves into every panel; `finish` sets the limits and adds what is special."""
    styles = agent_styles(data.results.agents)
    for i, environment in enumerate(environments):
        for j, monitor in enumerate(data.results.monitors):
            axes, place = grid.axes[i][j], (environment, monitor)
            bands = panels.get(place, {})
            finish(axes, bands, place)
            if shared and j:
                hide_numbers(axes)
            if not bands:
                show_missing(axes, numbers=shared and j == 0)
                continue
            for order, agent in enumerate(reversed(agents)):  # the first agent on top
                if agent in bands:
                    draw_band(axes, bands[agent], styles[agent], 2 + order)
            show_steps(axes, max(float(band.steps[-1]) for band in bands.values()))
            note_absent(axes, [agent for agent in agents if agent not in bands])


def draw_band(axes: Axes, band: Band, style: AgentStyle, order: float = 2.0) -> None:
    """A mean as a line, and its interval as a shade where there is one and the mean is on the scale."""
    if not np.isnan(band.low).any():
        axes.fill_between(
            band.steps, band.low, band.high, where=band.mean >= axes.get_ylim()[0],
            color=style.colour, alpha=0.22, linewidth=0, zorder=order - 0.5,
        )  # fmt: skip
    axes.plot(band.steps, band.mean, zorder=order, **line_of(style))


def _rows(panels: Panels) -> list[tuple[Any, ...]]:
    """What is drawn, one row a point."""
    return [
        (*place, agent, band.runs, *row)
        for place, bands in panels.items()
        for agent, band in bands.items()
        for row in zip(*(array.tolist() for array in (band.steps, band.mean, band.low, band.high)), strict=True)
    ]
