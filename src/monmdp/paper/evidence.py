"""What a claim is, and how answers about single problems add up to a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monmdp.paper.protocol import DEFAULT_STEPS, PAPER_MONITORS, STEP_FACTOR
from monmdp.problem import MonMDP
from monmdp.study.results import CellResults, Results

CONFIRMED, REFUTED, UNKNOWN = "confirmed", "not confirmed", "not enough data"
#: Below this many seeds nothing is said about fractions and means.
LEAST_SEEDS = 5
#: How many problems are named before the rest is counted.
NAMED = 3

#: The paper's 48 problems.
PROBLEMS = [(environment, monitor) for environment in DEFAULT_STEPS for monitor in PAPER_MONITORS]


class MissingError(Exception):
    """Why a question cannot be answered from the folder."""


@dataclass(frozen=True)
class Detail:
    """The answer for one problem, agent or comparison."""

    about: str
    measured: str
    bound: str
    verdict: str
    margin: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, what would confirm it, and what the data say."""

    claim: str
    expected: str
    measured: str
    verdict: str
    details: list[Detail]


@dataclass(frozen=True)
class Answer:
    """A measured value next to its bound; margin: by how much it holds, negative where it does not."""

    measured: str
    bound: str
    holds: bool
    margin: float
    verdict: str = ""


Verdict = Callable[[int, int, int], str]


def every(confirmed: int, refuted: int, unknown: int) -> str:
    """One exception refutes; one missing answer leaves it open."""
    return REFUTED if refuted else UNKNOWN if unknown or not confirmed else CONFIRMED


def most(confirmed: int, refuted: int, unknown: int) -> str:
    """More than half of all must hold, whatever the missing ones may be."""
    total = confirmed + refuted + unknown
    return CONFIRMED if 2 * confirmed > total else REFUTED if 2 * refuted >= total else UNKNOWN


def where_testable(confirmed: int, refuted: int, unknown: int) -> str:
    """One exception refutes; what cannot be tested does not count."""
    return REFUTED if refuted else CONFIRMED if confirmed else UNKNOWN


@dataclass(frozen=True)
class Statement:
    """A claim as data: a question asked about every item (name → its arguments), and how answers add up.

    noun: what the items are; told: puts the answers into words where the usual words do not fit.
    """

    claim: str
    expected: str
    items: Mapping[str, tuple[Any, ...]]
    question: Callable[..., Answer]
    verdict: Verdict = every
    noun: str = "problems"
    told: Callable[[list[Detail]], str] | None = None

    def check(self, results: Results) -> Claim:
        """Ask the question of every item, and judge the answers."""
        details = [self._ask(results, name, arguments) for name, arguments in self.items.items()]
        counts = [sum(detail.verdict == verdict for detail in details) for verdict in (CONFIRMED, REFUTED, UNKNOWN)]
        measured = self._told(details) if self.told is None else self.told(details)
        return Claim(self.claim, self.expected, measured, self.verdict(*counts), details)

    def _ask(self, results: Results, name: str, arguments: tuple[Any, ...]) -> Detail:
        try:
            answer = self.question(results, *arguments)
        except MissingError as why:
            return Detail(name, str(why), "", UNKNOWN)
        verdict = answer.verdict or (CONFIRMED if answer.holds else REFUTED)
        return Detail(name, answer.measured, answer.bound, verdict, answer.margin)

    def _told(self, details: list[Detail]) -> str:
        """One sentence: where it holds, where not and by how much, and what is missing."""
        if len(details) == 1:
            return details[0].measured
        holding, failing, open_ones = (
            sorted((detail for detail in details if detail.verdict == verdict), key=lambda detail: detail.margin)
            for verdict in (CONFIRMED, REFUTED, UNKNOWN)
        )
        parts = [f"{'all' if len(holding) == len(details) else f'{len(holding)} of'} {len(details)} {self.noun}"]
        if holding and not failing:
            parts.append(f"closest: {_named(holding[:1])}")
        if failing:
            parts.append(f"not {_named(failing)}")
        if open_ones:
            parts.append(f"no answer for {len(open_ones)}: {_named(open_ones)}")
        return "; ".join(parts)


def _named(details: list[Detail]) -> str:
    told = ", ".join(f"{detail.about} ({detail.measured})" for detail in details[:NAMED])
    return told if len(details) <= NAMED else f"{told} and {len(details) - NAMED} more"


def runs_of(results: Results, environment: str, monitor: str, agent: str, seeds: int = LEAST_SEEDS) -> CellResults:
    """The runs of an agent in one of the paper's problems, if they are the paper's and there are enough."""
    cell = results.cell(environment, monitor, agent)
    if cell is None:
        raise MissingError(f"no runs of {agent}")
    budget = DEFAULT_STEPS[environment] * STEP_FACTOR[monitor]
    if cell.settings["steps"] != budget:
        raise MissingError(f"{agent} trained for {cell.settings['steps']:,} steps, the paper for {budget:,}")
    if len(cell.seeds) < seeds:
        raise MissingError(f"{len(cell.seeds)} seeds of {agent}, at least {seeds} needed")
    problem_of(cell)
    return cell


def problem_of(cell: CellResults) -> MonMDP:
    """The problem of a cell, if its names still give the same one."""
    if cell.problem is None:
        raise MissingError("the problem cannot be built again from its name")
    return cell.problem


def evaluated_runs_of(
    results: Results, environment: str, monitor: str, agent: str, seeds: int = LEAST_SEEDS
) -> CellResults:
    """The same for questions about returns, which sampling would blur."""
    cell = runs_of(results, environment, monitor, agent, seeds)
    if cell.settings["evaluation"] != "exact":
        raise MissingError(f"{agent} was not evaluated exactly")
    return cell


def in_common(first: CellResults, second: CellResults, seeds: int = LEAST_SEEDS) -> tuple[np.ndarray, np.ndarray]:
    """Places of the seeds that both cells have, in each of them."""
    shared, here, there = np.intersect1d(first.seeds, second.seeds, return_indices=True)
    if len(shared) < seeds:
        raise MissingError(f"{len(shared)} seeds in common, at least {seeds} needed")
    return here, there


def named_problems(
    environments: list[str] | None = None, monitors: list[str] | None = None
) -> dict[str, tuple[str, str]]:
    """Name → environment and monitor, of the paper's problems with these environments and monitors."""
    return {
        f"{environment} + {monitor}": (environment, monitor)
        for environment, monitor in PROBLEMS
        if (environments is None or environment in environments) and (monitors is None or monitor in monitors)
    }
