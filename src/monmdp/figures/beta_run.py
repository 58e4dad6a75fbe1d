"""β of single runs: one seed in full, among all others."""

from __future__ import annotations

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.figures.curves import OPTIMUM, STEPS, show_beta, threshold
from monmdp.figures.data import BETA_CEILING, FigureData
from monmdp.figures.panels import line_of, panel_grid, show_steps
from monmdp.figures.saving import Drawing
from monmdp.figures.style import WIDTH, agent_styles
from monmdp.figures.text import number

#: Share of the seeds that the shade around the one run covers.
COVERED = (0.05, 0.95)


def beta_run(data: FigureData) -> Drawing:
    """β of one run among all seeds of a problem."""
    cells = [cell for cell in data.cells_of_problem() if not np.isnan(cell.curve("beta")).any()]
    if not cells:
        raise MonMDPError(f"No agent in {' + '.join(data.problem)} records β; Directed does.")
    styles = agent_styles(data.results.agents)
    thresholds = sorted({value for cell in cells for value in [threshold(cell)] if value})
    legend = []
    for cell in cells:
        legend.append((f"{cell.agent}, seed {cell.seeds[0]}", line_of(styles[cell.agent]) | {"linewidth": 0.9}))
        if len(cell.seeds) > 1:
            shade = {"color": styles[cell.agent].colour, "alpha": 0.25, "linewidth": 6.0}
            legend.append((f"5% to 95% of {len(cell.seeds)} seeds", shade))
    legend += [(f"threshold {', '.join(number(value) for value in thresholds)}", OPTIMUM)] if thresholds else []
    grid = panel_grid(
        [""], [" + ".join(data.problem)], STEPS, "β (infinite: shown as 10)", legend, panel=(WIDTH - 0.72, 1.75)
    )
    axes = grid.axes[0][0]
    rows, lowest = [], BETA_CEILING
    for cell in cells:
        values = np.minimum(cell.curve("beta"), BETA_CEILING)
        low, high = np.quantile(values, COVERED, axis=0)
        style = styles[cell.agent]
        if len(cell.seeds) > 1:
            axes.fill_between(cell.steps, low, high, color=style.colour, alpha=0.25, linewidth=0)
        axes.plot(cell.steps, values[0], **(line_of(style) | {"linewidth": 0.9}))
        lowest = min(lowest, float(low.min()))
        where = (cell.environment, cell.monitor, cell.agent, cell.seeds[0], len(cell.seeds))
        arrays = (cell.steps, values[0], low, high)
        rows += [(*where, *row) for row in zip(*(array.tolist() for array in arrays), strict=True)]
    for value in thresholds:
        axes.axhline(value, **OPTIMUM)
    show_beta(axes, min([lowest, *thresholds]) / 1.6)
    show_steps(axes, max(float(cell.steps[-1]) for cell in cells), 4)
    return Drawing(
        grid.figure, ("environment", "monitor", "agent", "seed", "runs", "step", "beta", "low_5", "high_95"), rows
    )
