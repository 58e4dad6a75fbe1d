"""Claims as data: a question about several items, its answers, and the verdict that follows from them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from monmdp.errors import plural
from monmdp.problem import Floats, MonMDP
from monmdp.protocol import DEFAULT_STEPS, PAPER_MONITORS, STEP_FACTOR
from monmdp.study.results import CellResults, Results

CONFIRMED, REFUTED, UNKNOWN = "confirmed", "not confirmed", "not enough data"
#: With fewer seeds, no question about fractions and means is answered.
LEAST_SEEDS = 5
#: Number of items that are named before the rest is counted.
NAMED = 3


class MissingError(Exception):
    """Why a question cannot be answered from the folder."""


@dataclass(frozen=True)
class Detail:
    """A measured value, its bound and the verdict; about: the item, a problem, an agent or a comparison.

    margin: by how much the bound holds, negative where it does not.
    """

    measured: str
    bound: str
    verdict: str
    margin: float = 0.0
    about: str = ""


def answer(measured: str, bound: str, holds: bool, margin: float) -> Detail:
    """An answer that is confirmed if the bound holds, else refuted."""
    return Detail(measured, bound, CONFIRMED if holds else REFUTED, margin)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, what would confirm it, what was measured, and the verdict."""

    claim: str
    expected: str
    measured: str
    verdict: str
    details: list[Detail]

    @property
    def lacks_runs(self) -> bool:
        """Whether more runs could answer some of its questions."""
        return any(detail.verdict == UNKNOWN and not detail.bound for detail in self.details)


#: What a question is about, by name, with its arguments for the question.
Items = Mapping[str, tuple[Any, ...]]
#: Numbers of confirmed, refuted and unknown answers → the verdict on a claim.
Verdict = Callable[[int, int, int], str]


def every(confirmed: int, refuted: int, unknown: int) -> str:
    """One exception refutes; one missing answer leaves the claim open."""
    return REFUTED if refuted else UNKNOWN if unknown or not confirmed else CONFIRMED


def most(confirmed: int, refuted: int, unknown: int) -> str:
    """More than half of all answers must be positive, whatever the missing ones are."""
    total = confirmed + refuted + unknown
    return CONFIRMED if 2 * confirmed > total else REFUTED if 2 * refuted >= total else UNKNOWN


def where_testable(confirmed: int, refuted: int, unknown: int) -> str:
    """One exception refutes; missing answers do not count."""
    return REFUTED if refuted else CONFIRMED if confirmed else UNKNOWN


@dataclass(frozen=True)
class Statement:
    """A claim as data: a question about every item, and how the answers add up.

    noun: what the items are; summary: summarises the answers, by default as `_summary` does.
    """

    claim: str
    expected: str
    items: Items
    question: Callable[..., Detail]
    verdict: Verdict = every
    noun: str = "problems"
    summary: Callable[[list[Detail]], str] | None = None

    def check(self, results: Results) -> Claim:
        """Answer the question for every item, and combine the verdicts."""
        details = []
        for name, arguments in self.items.items():
            try:
                detail = self.question(results, *arguments)
            except MissingError as reason:
                detail = Detail(str(reason), "", UNKNOWN)
            details.append(replace(detail, about=name))
        ordered = sorted(details, key=lambda detail: detail.margin)
        groups = [[d for d in ordered if d.verdict == verdict] for verdict in (CONFIRMED, REFUTED, UNKNOWN)]
        measured = self.summary(details) if self.summary else self._summary(*groups)
        return Claim(self.claim, self.expected, measured, self.verdict(*map(len, groups)), details)

    def _summary(self, confirmed: list[Detail], refuted: list[Detail], unknown: list[Detail]) -> str:
        """One sentence: for how many items it holds, where not and by how much, and what is missing."""
        if len(self.items) == 1:
            return [*confirmed, *refuted, *unknown][0].measured
        holding = f"all {len(confirmed)}" if not (refuted or unknown) else f"{len(confirmed)} of {len(self.items)}"
        parts = [f"{holding} {self.noun}"]
        if confirmed and not refuted:
            parts.append(f"closest: {_named(confirmed[:1])}")
        if refuted:
            parts.append(f"not {_named(refuted)}")
        if unknown:
            parts.append(f"no answer for {len(unknown)}: {_named(unknown)}")
        return "; ".join(parts)


def _named(details: list[Detail]) -> str:
    text = ", ".join(f"{detail.about} ({detail.measured})" for detail in details[:NAMED])
    return text if len(details) <= NAMED else f"{text} and {len(details) - NAMED} more"


def problems(environments: list[str] | None = None, monitors: list[str] | None = None, *more: Any) -> Items:
    """Name → (environment, monitor, *more) of the paper's problems with these environments and monitors."""
    return {
        f"{environment} + {monitor}": (environment, monitor, *more)
        for environment in environments or DEFAULT_STEPS
        for monitor in monitors or PAPER_MONITORS
    }


def runs_of(results: Results, environment: str, monitor: str, agent: str, seeds: int = LEAST_SEEDS) -> CellResults:
    """The runs of an agent in one of the paper's problems, if they follow the paper and there are enough."""
    cell = results.cell(environment, monitor, agent)
    if cell is None:
        raise MissingError(f"no runs of {agent}")
    budget = DEFAULT_STEPS[environment] * STEP_FACTOR[monitor]
    if cell.settings["steps"] != budget:
        raise MissingError(f"{agent} trained for {cell.settings['steps']:,} steps, the paper for {budget:,}")
    if len(cell.seeds) < seeds:
        raise MissingError(f"{plural(len(cell.seeds), 'seed')} of {agent}, at least {seeds} needed")
    problem_of(cell)
    return cell


def evaluated(cell: CellResults) -> CellResults:
    """The same runs, if their returns are exact."""
    if cell.settings["evaluation"] != "exact":
        raise MissingError(f"{cell.agent} was not evaluated exactly")
    return cell


def problem_of(cell: CellResults) -> MonMDP:
    """The problem of a cell, if its names still give the same one."""
    if cell.problem is None:
        raise MissingError("the problem cannot be built again from its name")
    return cell.problem


def against(
    results: Results, environment: str, monitor: str, agent: str, value: Callable[[CellResults], Floats], seeds: int
) -> tuple[Floats, Floats]:
    """A value of Directed and of another agent for the seeds that both have run, [seed] each."""
    ours, theirs = (runs_of(results, environment, monitor, name, seeds) for name in ("Directed", agent))
    shared, here, there = np.intersect1d(ours.seeds, theirs.seeds, return_indices=True)
    if len(shared) < seeds:
        raise MissingError(f"{plural(len(shared), 'seed')} in common, at least {seeds} needed")
    return value(ours)[here], value(theirs)[there]
