"""A sweep is a product of rows: environments × monitors × agents × seeds."""

from __future__ import annotations

import dataclasses
import itertools
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.join import make
from monmdp.problem import MonMDP
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS, paper_job, variant_steps
from monmdp.registry import construct
from monmdp.training.job import Job


@dataclass(frozen=True)
class Sweep:
    """Rows to be multiplied; entries are names with options, as in "Ask(cost=0.5)", or objects.

    steps: the same number for all runs; without it, each problem's number in the paper times `budget`.
    """

    environments: Sequence[Any] = tuple(DEFAULT_STEPS)
    monitors: Sequence[Any] = PAPER_MONITORS
    agents: Sequence[Any] = PAPER_AGENTS
    seeds: int | Sequence[int] = 100
    steps: int | None = None
    budget: float = 1.0
    points: int | None = None
    evaluation: str = "exact"
    discount: float = 0.99

    def jobs(self) -> list[Job]:
        """One job per environment, monitor and agent, in order; jobs of one problem share it."""
        environments, monitors, agents = (_rows(self, name) for name in ("environments", "monitors", "agents"))
        check.discount(self.discount)
        jobs = []
        for environment, monitor in itertools.product(environments, monitors):
            problem = make(environment, monitor, discount=self.discount)
            steps = self._steps(problem)
            jobs += [paper_job(problem, agent, steps, self.points, self.evaluation) for agent in agents]
        return jobs

    def _steps(self, problem: MonMDP) -> int:
        budget = check.finite(self.budget, "The budget", least=0.0)
        if budget == 0.0:
            raise MonMDPError("The budget must be above 0, such as 0.1 for a tenth of the paper's training steps.")
        if self.steps is None:
            return max(1, round(variant_steps(problem) * budget))
        if budget != 1.0:
            raise MonMDPError("Specify the number of training steps or a budget, a part of the paper's, not both.")
        return self.steps


def _rows(sweep: Sweep, name: str) -> list[Any]:
    entries = getattr(sweep, name)
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise MonMDPError(f"The {name} of a sweep must be a list, not {entries!r}.")
    if not entries:
        raise MonMDPError(f"A sweep needs at least one of its {name}.")
    return list(entries)


def read_sweeps(path: Path) -> list[Sweep]:
    """Sweeps from a TOML file: one [[sweep]] table each, with the fields of `Sweep`."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise MonMDPError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MonMDPError(f"{path} is not a TOML file: {error}.") from None
    tables = content.pop("sweep", None)
    if not isinstance(tables, list) or not tables or content or not all(isinstance(row, dict) for row in tables):
        raise MonMDPError(f"{path} must consist of [[sweep]] tables, and nothing else.")
    return [construct(Sweep, table) for table in tables]


def narrowed(sweeps: Iterable[Sweep], **fields: Any) -> list[Sweep]:
    """The same sweeps with some fields replaced; a field that is None stays as it is."""
    given = {name: value for name, value in fields.items() if value is not None}
    return [dataclasses.replace(sweep, **given) for sweep in sweeps]
