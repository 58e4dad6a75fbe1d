"""One figure of fresh curves: greedy return over training, with the exact optimum as a line."""

from __future__ import annotations

from pathlib import Path

from monmdp.figures.curves import GREEDY_RETURN, OPTIMUM, return_limits
from monmdp.figures.panels import STEPS, Band, draw_curves, panel_grid, show_steps
from monmdp.figures.style import DPI, agent_styles, few_ticks, styled
from monmdp.statistics import mean_interval
from monmdp.training.curves import Curves


def plot_curves(curves: Curves, path: Path) -> None:
    """Draw the mean over seeds with its 95% confidence interval into a file."""
    agent, runs = curves.agent, len(curves.seeds)
    band = Band(curves.steps, *mean_interval(curves.returns), (runs,))
    name = f"{agent}, {'1 seed' if runs == 1 else f'{runs} seeds'}"
    legend = [(name, agent_styles([agent])[agent].line), ("optimum", OPTIMUM)]
    with styled():
        figure, [[axes]] = panel_grid([""], [curves.problem.name], STEPS, GREEDY_RETURN, legend, panel_height=2.2)
        axes.set_ylim(return_limits([curves.target_return], [band.mean]))
        few_ticks(axes.yaxis, 5)
        axes.axhline(curves.target_return, zorder=1, **OPTIMUM)
        draw_curves(axes, {agent: band}, [agent], [agent])
        show_steps(axes, float(curves.steps[-1]), 4)
        figure.savefig(path, dpi=DPI)
