"""One figure of fresh curves: greedy return over training, with the exact optimum as a line."""

from __future__ import annotations

from pathlib import Path

from monmdp.figures.curves import OPTIMUM, STEPS, draw_band
from monmdp.figures.data import Band
from monmdp.figures.limits import return_limits
from monmdp.figures.panels import line_of, panel_grid, show_steps
from monmdp.figures.saving import DPI
from monmdp.figures.style import WIDTH, agent_styles, styled
from monmdp.figures.text import even_ticks, set_ticks
from monmdp.statistics import mean_interval
from monmdp.training.curves import Curves


def plot_curves(curves: Curves, path: Path) -> None:
    """Mean over seeds with its 95% confidence interval, drawn into a file."""
    band = Band(curves.steps, *mean_interval(curves.returns), len(curves.seeds))
    style = agent_styles([curves.agent])[curves.agent]
    seeds = "1 seed" if band.runs == 1 else f"{band.runs} seeds"
    with styled():
        grid = panel_grid(
            [""],
            [curves.problem.name],
            STEPS,
            "discounted return of the greedy policy",
            [(f"{curves.agent}, {seeds}", line_of(style)), ("optimum", OPTIMUM)],
            panel=(WIDTH - 0.72, 2.2),
        )
        axes = grid.axes[0][0]
        low, high = return_limits([curves.target_return], [band.mean])
        axes.set_ylim(low, high)
        set_ticks(axes.yaxis, even_ticks(low, high, 5))
        axes.axhline(curves.target_return, zorder=1, **OPTIMUM)
        draw_band(axes, band, style)
        show_steps(axes, float(curves.steps[-1]), 4)
        grid.figure.savefig(path, dpi=DPI)
