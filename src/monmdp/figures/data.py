"""The data of figures: the results with normalised scores, and what a figure returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from monmdp.errors import MonMDPError
from monmdp.figures.style import AgentStyle, agent_styles
from monmdp.paper.presets import MAIN_ENVIRONMENTS
from monmdp.problem import Floats
from monmdp.protocol import kind
from monmdp.statistics import normalised
from monmdp.study.results import CellResults, Results

#: The problem of the paper's figures that show a single one.
DEFAULT_PROBLEM = ("RiverSwim", "Button")


def default_problem(results: Results) -> tuple[str, str]:
    """The problem of figures that show a single one: the paper's or, in a folder without it, the first."""
    return DEFAULT_PROBLEM if DEFAULT_PROBLEM in results.problems else results.problems[0]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure and its numbers: names of columns, and rows."""

    figure: Figure
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


@dataclass(eq=False)
class FigureData:
    """A results folder, and the problem (environment, monitor) of figures that show a single problem.

    statistic: of curves over seeds, a name of `monmdp.statistics.STATISTICS`.
    """

    results: Results
    problem: tuple[str, str] = DEFAULT_PROBLEM
    statistic: str = "mean"

    @cached_property
    def styles(self) -> dict[str, AgentStyle]:
        """Agent → how its curve is drawn."""
        return agent_styles(self.results.agents)

    @property
    def main_environments(self) -> list[str]:
        """The environments of the paper's main figures, or variants of them; all environments if there are none."""
        main = [name for name in self.results.environments if kind(name) in MAIN_ENVIRONMENTS]
        return main or self.results.environments

    def cells_of_problem(self) -> list[CellResults]:
        """The runs of every agent in the chosen problem."""
        cells = self.results.of_problem(*self.problem)
        if not cells:
            raise MonMDPError(
                f"{self.results.folder} has no runs of {' + '.join(self.problem)}, which this figure shows; "
                "choose another problem with --env and --monitor."
            )
        return cells

    @cached_property
    def cell_scores(self) -> dict[tuple[str, str, str], Floats]:
        """Names of a cell → its normalised final returns [run], if returns have a scale from random to optimal."""
        scores = {}
        for names, cell in self.results.cells.items():
            if cell.target_return - cell.random_return > 1e-12 and np.isfinite(cell.final_returns).all():
                scores[names] = normalised(cell.final_returns, cell.target_return, cell.random_return)
        if not scores:
            folder = self.results.folder
            raise MonMDPError(f"No problem in {folder} can be built again from its name, so there are no scores.")
        return scores

    def scores(self, agent: str, problems: Sequence[tuple[str, str]]) -> Floats:
        """Normalised final returns [runs, problems] of an agent in those problems that have them.

        Where problems have different numbers of runs, the first runs of each are taken.
        """
        columns = [self.cell_scores[*names, agent] for names in problems if (*names, agent) in self.cell_scores]
        runs = min(map(len, columns), default=0)
        return np.stack([scores[:runs] for scores in columns], axis=1) if runs else np.empty((0, 0))
