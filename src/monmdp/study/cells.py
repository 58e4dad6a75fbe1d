"""A cell of a sweep: one problem and one agent with every setting resolved. A run is a cell and a seed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from monmdp import check
from monmdp.agents.base import Agent
from monmdp.environments import Environment
from monmdp.errors import MonMDPError
from monmdp.join import make
from monmdp.monitors import Monitor
from monmdp.paper.protocol import paper_job, variant_steps
from monmdp.problem import MonMDP
from monmdp.training.job import Job, identity


@dataclass(frozen=True, eq=False)
class Cell:
    """What to train: names as in `make` and `train`, or objects; without steps, this part of the protocol's budget."""

    environment: str | Environment
    monitor: str | Monitor
    agent: str | Agent
    steps: int | None = None
    budget: float = 1.0
    points: int | None = None
    evaluation: str = "exact"
    discount: float = 0.99

    @cached_property
    def problem(self) -> MonMDP:
        """The joined problem; cells of the same names share it."""
        check.discount(self.discount, 0.0, "The discount")
        if isinstance(self.environment, str) and isinstance(self.monitor, str):
            return _named(self.environment, self.monitor, self.discount)
        return make(self.environment, self.monitor, discount=self.discount)

    @cached_property
    def job(self) -> Job:
        """The cell ready to run."""
        budget = check.at_least(self.budget, 0.0, "The budget")
        if budget == 0.0:
            raise MonMDPError("The budget must be above 0, such as 0.1 for a tenth of the protocol's steps.")
        if self.steps is not None and budget != 1.0:
            raise MonMDPError("Say how many steps to train or which part of the protocol's budget, not both.")
        steps = max(1, round(variant_steps(self.problem) * budget)) if self.steps is None else self.steps
        return paper_job(self.problem, self.agent, steps, self.points, self.evaluation)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Every setting that the numbers depend on, as plain values."""
        return self.job.run_settings

    @cached_property
    def identity(self) -> str:
        """A hash of all settings: two cells that differ in anything share nothing."""
        return identity(self.settings)

    def __str__(self) -> str:
        return f"{self.settings['agent']} in {self.problem.name}"


@lru_cache(maxsize=256)
def _named(environment: str, monitor: str, discount: float) -> MonMDP:
    return make(environment, monitor, discount=discount)
