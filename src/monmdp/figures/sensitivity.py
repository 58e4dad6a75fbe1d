"""Final results over the options in which variants differ: lines for one option, heat maps for two."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from monmdp.errors import MonMDPError
from monmdp.figures import style
from monmdp.figures.curves import OPTIMUM, Band, Key, draw_panels, possible
from monmdp.figures.data import Drawing, FigureData
from monmdp.figures.heatmaps import cell_texts, draw_map, percent, short
from monmdp.figures.style import agent_styles, few_ticks, fitting_size, in_order, wrapped
from monmdp.protocol import kind
from monmdp.registry import differing_options, restricted
from monmdp.statistics import STATISTICS, Interval, wilson
from monmdp.study.results import CellResults, Results

COLUMNS = ("environment", "monitor", "agent", "option", "value", "other_option", "other_value", "runs")
#: Inches: height of a cell, and space left of a map, around all maps, and below a line of maps.
CELL, LEFT, AROUND, BELOW = 0.2, 0.6, 0.4, 0.5
#: Largest and smallest width of a cell.
WIDEST, LEAST = 0.6, 0.22


class Study(NamedTuple):
    """Variants that differ in one or two options, the one with most values first.

    problem: environment and monitor; agent: its name without these options, as labels.
    values: of each option, in order. cells: one value per option → cell.
    """

    problem: str
    agent: str
    options: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    cells: dict[tuple[Any, ...], CellResults]


def studies(results: Results) -> list[Study]:
    """The studies of a folder: over options of agents or, if none of these differ, of monitors or environments.

    Of more than two options, those with most values are varied, and the others distinguish studies.
    """
    cells = [cell for problem in results.problems for cell in results.of_problem(*problem)]
    for label in ("agent", "monitor", "environment"):
        differing = differing_options({cell.settings[label] for cell in cells})
        if any(differing.values()):
            break
    variants: dict[str, list[CellResults]] = {}
    for cell in cells:
        variants.setdefault(kind(cell.settings[label]).casefold(), []).append(cell)
    groups: dict[tuple[str, str, tuple[str, ...]], dict[tuple[Any, ...], CellResults]] = {}
    for name, members in variants.items():
        columns = {o: results.options.get(o) or results.options[f"{label}_{o}"] for o in sorted(differing[name])}
        counts = {option: len({column[cell.identity] for cell in members}) for option, column in columns.items()}
        options = tuple(sorted(columns, key=lambda option: -counts[option])[:2])
        for cell in members if options else ():
            names = {key: getattr(cell, key) for key in ("environment", "monitor", "agent")}
            names = {key: results.labels[name] for key, name in names.items()}
            names[label] = restricted(names[label], columns.keys() - {*options})
            place = tuple(columns[option][cell.identity] for option in options)
            key = f"{names['environment']} + {names['monitor']}", names["agent"], options
            groups.setdefault(key, {}).setdefault(place, cell)
    return [Study(*key, _values(places), places) for key, places in groups.items() if len(places) > 1]


def _values(places: Iterable[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """The values of every option, in order: numbers by size, then texts."""
    return tuple(tuple(sorted(set(column), key=lambda v: in_order(str(v)))) for column in zip(*places, strict=True))


def sensitivity(data: FigureData, solved: bool = False) -> Drawing:
    """The final return, or the seeds that ended optimal, over one or two options."""
    found = studies(data.results)
    if not found:
        raise MonMDPError(
            f"{data.results.folder} has no two variants of an agent, monitor or environment; a sweep with a grid such "
            "as Directed(beta_bar={0.01, 0.1}) makes some."
        )
    outcomes = {
        cell.identity: _outcome(cell, data.statistic, solved) for study in found for cell in study.cells.values()
    }
    draw = _maps if any(len(study.options) == 2 for study in found) else _lines
    figure = draw(found, outcomes, solved)
    rows: list[tuple[Any, ...]] = []
    for study in found:
        for place, cell in study.cells.items():
            pairs = [text for pair in zip(study.options, map(str, place), strict=True) for text in pair]
            names = (cell.environment, cell.monitor, cell.agent, *[*pairs, "", ""][:4], len(cell.seeds))
            rows.append((*names, *(float(value) for value in outcomes[cell.identity])))
    return Drawing(figure, (*COLUMNS, "fraction" if solved else data.statistic, "low", "high"), rows)


def _outcome(cell: CellResults, statistic: str, solved: bool) -> Interval:
    """The final return or the fraction of solved seeds of a cell, with its interval; NaN without evaluation."""
    if np.isnan(cell.final_returns).any() or (solved and not cell.compared):
        return Interval(np.nan, np.nan, np.nan)
    if solved:
        return wilson(int(cell.solved.sum()), len(cell.seeds))
    optimum = cell.optimal_return if cell.settings["evaluation"] == "exact" else np.inf
    interval = STATISTICS[statistic](cell.final_returns[:, None])
    return Interval(*(float(v[0]) for v in possible(interval, "return", cell.steps[-1:], optimum)))


def _lines(found: Sequence[Study], outcomes: Mapping[str, Interval], solved: bool) -> Figure:
    """One line per agent over an option, whose values are equally far apart; problems down, options across."""
    values: dict[str, tuple[Any, ...]] = {}
    for study in found:
        option = study.options[0]
        [values[option]] = _values((value,) for value in (*values.get(option, ()), *study.values[0]))
    panels: dict[Key, dict[str, Band]] = {}
    optima: dict[Key, set[float]] = {}
    for study in found:
        option = study.options[0]
        x = [values[option].index(value) for value in study.values[0]]
        cells = [study.cells[value,] for value in study.values[0]]
        mean, low, high = np.array([outcomes[cell.identity] for cell in cells], np.float64).T
        key = study.problem, option
        panels.setdefault(key, {})[study.agent] = Band(np.array(x), mean, low, high, (len(cells[0].seeds),))
        optima.setdefault(key, set()).update(filter(np.isfinite, (cell.target_return for cell in cells)))

    def finish(axes: Axes, bands: Mapping[str, Band], key: Key) -> None:
        texts = [wrapped(str(value), 0.7, 1, style.TICK) for value in values[key[1]]]
        axes.set_xticks(range(len(texts)), texts)
        axes.set_xlim(-0.2, len(texts) - 0.8)
        if solved:
            axes.set_ylim(-0.04, 1.06)
            axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
            return
        for optimum in optima.get(key, ()):
            axes.axhline(optimum, zorder=1, **OPTIMUM)
        edges = np.array([edge for band in bands.values() for edge in (*band.mean, *band.low, *band.high)])
        edges = np.append(edges[np.isfinite(edges)], [*optima.get(key, (1.0,))])
        margin = 0.06 * (np.ptp(edges) or 1.0)
        axes.set_ylim(edges.min() - margin, edges.max() + margin)
        few_ticks(axes.yaxis, 4)

    styles = agent_styles(list(dict.fromkeys(study.agent for study in found)))
    more = [] if solved else [("optimum", OPTIMUM)]
    labels = ("value of the option", "seeds that ended optimal (%)" if solved else "final return")
    height = 1.5 if len({study.problem for study in found}) <= 4 else 0.9
    figure = draw_panels(
        panels, [*values], styles, labels, finish, more, panel_height=height, share_y=False, missing=False
    )
    for line in (line for axes in figure.axes for line in axes.lines):
        if line.get_linestyle() != "--" or line.get_color() != OPTIMUM["color"]:
            line.set(marker="o", markersize=2.5)
    return figure


def _maps(found: Sequence[Study], outcomes: Mapping[str, Interval], solved: bool) -> Figure:
    """A map per study: problems down, agents across; the first option across, the second one down.

    The colours of a problem's returns go from its lowest to its highest value or optimum.
    """
    problems, agents = (list(dict.fromkeys(study[i] for study in found)) for i in (0, 1))
    most = max(len(study.values[0]) for study in found)
    heights = [max(_rows(study) for study in found if study.problem == problem) for problem in problems]
    width = style.page_size()[0] - 0.3 - LEFT * len(agents)
    wide = max(min(width / len(agents) / most, WIDEST), LEAST)
    total = 0.3 + len(agents) * (LEFT + most * wide), AROUND + sum(CELL * rows + BELOW for rows in heights)
    figure = Figure(figsize=(max(total[0], 2.6), total[1]))
    grid = figure.subplots(len(problems), len(agents), squeeze=False, height_ratios=heights)
    colours = matplotlib.colormaps["Blues" if solved else "viridis"].with_extremes(bad=style.PALE)
    text, what = (percent, "seeds that ended optimal (%)") if solved else (short, "final return")
    limits: dict[str, list[float]] = {}
    for study in found:
        for cell in study.cells.values():
            limits.setdefault(study.problem, []).extend((outcomes[cell.identity].estimate, cell.target_return))
    for axes in grid.flat:
        axes.set_axis_off()
    for study in found:
        axes = grid[problems.index(study.problem), agents.index(study.agent)]
        axes.set_axis_on()
        across, down = (*study.values, ("",))[:2]
        cells = [[study.cells.get((one, other)[: len(study.options)]) for one in across] for other in down]
        values = np.array([[outcomes[cell.identity].estimate if cell else np.nan for cell in line] for line in cells])
        own = limits[study.problem]
        norm = Normalize(0, 1) if solved else Normalize(np.nanmin(own), np.nanmax(own))
        texts = cell_texts(text, values)
        size = fitting_size(max(map(len, texts.flat)), 0.9 * wide)
        draw_map(axes, values, norm, colours, texts, size)
        axes.set_xticks(np.arange(len(across)) + 0.5, [wrapped(str(v), wide, 1, style.TICK) for v in across])
        axes.set_yticks(np.arange(len(down)) + 0.5, [wrapped(str(v), 0.5, 1, style.TICK) for v in down])
        axes.set(xlabel=study.options[0], ylabel=study.options[1] if len(study.options) > 1 else "")
        title = study.problem if len(agents) == 1 else f"{study.agent}, {study.problem}"
        axes.set_title(wrapped(title, most * wide + 0.3, 2, bold=True))
    figure.suptitle(f"{agents[0]}: {what}" if len(agents) == 1 else what, size=style.LABEL, color=style.FADED)
    return figure


def _rows(study: Study) -> int:
    """The number of rows of a study's map."""
    return len(study.values[1]) if len(study.options) > 1 else 1
