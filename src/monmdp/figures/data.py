"""What figures read: the results, and summaries of curves that several of them share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.paper.presets import MAIN_ENVIRONMENTS
from monmdp.paper.protocol import kind
from monmdp.problem import Floats, Integers
from monmdp.statistics import mean_interval, normalised, steps_until_solved
from monmdp.study.results import CellResults, Results

#: Points of a curve that a panel can show.
SHOWN_POINTS = 126
#: β is infinite until every pair was visited; figures show no more than this.
BETA_CEILING = 10.0


class Band(NamedTuple):
    """Mean over seeds with its 95% confidence interval, at the points that are shown; arrays [point].

    With a single seed there is no interval, and its bounds are NaN.
    """

    steps: Integers
    mean: Floats
    low: Floats
    high: Floats
    runs: int


@dataclass(eq=False)
class FigureData:
    """A results folder, and the problem (environment, monitor) that figures of a single problem show."""

    results: Results
    problem: tuple[str, str] = ("RiverSwim", "Button")
    _bands: dict[tuple[str, str, str, str], Band] = field(default_factory=dict)
    _solving: dict[tuple[str, str, str], Floats] = field(default_factory=dict)
    _random: dict[tuple[str, str, str], float] = field(default_factory=dict)

    @property
    def main_environments(self) -> list[str]:
        """The paper's four of its main figures, or variants of them; all environments where there are none."""
        main = [name for name in self.results.environments if kind(name) in MAIN_ENVIRONMENTS]
        return main or self.results.environments

    def band(self, cell: CellResults, column: str) -> Band:
        """A column of a cell's curves as it is drawn; β is cut at its ceiling."""
        key = (cell.environment, cell.monitor, cell.agent, column)
        if key not in self._bands:
            self._read(cell, column)
        return self._bands[key]

    def solving_steps(self, cell: CellResults) -> Floats:
        """From which step on each seed stays solved, infinite if it does not end so, [seed]."""
        key = (cell.environment, cell.monitor, cell.agent)
        if key not in self._solving:
            self._read(cell, "return")
        return self._solving[key]

    def _read(self, cell: CellResults, column: str) -> None:
        key = (cell.environment, cell.monitor, cell.agent)
        values, points = cell.curve(column), shown(len(cell.steps))
        if column == "return":
            if np.isnan(values).any():
                raise MonMDPError(
                    f"{cell.agent} was not evaluated in {cell.problem_name}, so it has no returns to show."
                )
            self._solving[key] = steps_until_solved(cell.steps, values, cell.target_return)
        if column == "beta":
            values = np.minimum(values, BETA_CEILING)
        self._bands[*key, column] = Band(cell.steps[points], *mean_interval(values[:, points]), len(values))

    def records_beta(self, agent: str) -> bool:
        """Whether an agent has an explore-exploit ratio."""
        cells = self.results.of_agent(agent)
        return bool(cells) and not np.isnan(cells[0].curve("beta")).any()

    def cells_of_problem(self) -> list[CellResults]:
        """The runs of every agent in the one problem."""
        cells = self.results.of_problem(*self.problem)
        if not cells:
            raise MonMDPError(
                f"{self.results.folder} has no runs of {' + '.join(self.problem)}, which this figure shows; "
                "choose another problem with --env and --monitor."
            )
        return cells

    def scores(self, agent: str, problems: list[tuple[str, str]] | None = None) -> Floats:
        """Normalised final returns [runs, problems] of an agent in those problems that have them.

        Where problems have different numbers of runs, the first runs of each are taken.
        """
        found = []
        for environment, monitor in self.results.problems if problems is None else problems:
            cell = self.results.cell(environment, monitor, agent)
            if cell is not None and self.is_scored(cell):
                found.append(normalised(cell.final_returns, cell.target_return, self.random_return(cell)))
        runs = min((len(scores) for scores in found), default=0)
        return np.stack([scores[:runs] for scores in found], axis=1) if runs else np.empty((0, 0))

    def is_scored(self, cell: CellResults) -> bool:
        """Whether returns can be put on the scale from random to optimal."""
        above = cell.target_return - self.random_return(cell) > 1e-12
        return bool(above and np.isfinite(cell.final_returns).all())

    def random_return(self, cell: CellResults) -> float:
        """What acting at random earns in the problem of a cell, computed once for all agents."""
        key = (cell.environment, cell.monitor, str(cell.settings["problem"]))
        if key not in self._random:
            self._random[key] = cell.random_return
        return self._random[key]


def shown(points: int) -> Integers:
    """Which of so many points are drawn: evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, points - 1, min(points, SHOWN_POINTS)).round().astype(np.int64))
