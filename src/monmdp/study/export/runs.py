"""Results as a viewer takes them: one curve a run, with its name and its configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.problem import Floats, Integers
from monmdp.training.curves import SOLVED_WITHIN, Curves

#: What is exported at every recording point; explained in `Curves`.
SCALARS = ("return", "observed", "visited", "beta", "explored")


@dataclass(frozen=True, eq=False)
class RunCurve:
    """One run, or the mean of all seeds of a cell.

    steps [point]; scalars: name → values [point], those that are all NaN left out; config: all settings, flat;
    summary: how it ended.
    """

    problem: str
    agent: str
    seed: str
    steps: Integers
    scalars: dict[str, Floats]
    config: dict[str, bool | int | float | str]
    summary: dict[str, float]

    @property
    def name(self) -> str:
        """Problem, agent and seed."""
        return f"{self.problem} / {self.agent} / {self.seed}"


@dataclass(frozen=True, eq=False)
class _Block:
    """All runs of one agent in one problem: scalars [seed, point], finals [seed]."""

    problem: str
    agent: str
    seeds: list[int]
    steps: Integers
    scalars: dict[str, np.ndarray]
    settings: dict[str, Any]
    optimal_return: float
    target_return: float


#: Told how many runs are written.
Progress = Callable[[int], None]


def runs_of(results: Curves | Path | str, average: bool = False, points: int | None = None) -> Iterator[RunCurve]:
    """The runs of training or of a results folder, one curve a seed.

    average: one curve, the mean of the seeds, for each agent in each problem. points: no more than so many, evenly
    spaced, the last one always among them.
    """
    if points is not None:
        check.whole(points, 1, "The number of points")
    blocks = iter([_of_curves(results)]) if isinstance(results, Curves) else _of_folder(results)
    for block in blocks:
        kept = _thinned(len(block.steps), points)
        finals = block.scalars["return"][:, -1]
        told = {"optimal_return": block.optimal_return, "target_return": block.target_return}
        solved = (finals >= block.target_return - SOLVED_WITHIN).astype(np.float64)
        rows = [(f"mean of {len(block.seeds)} seeds", slice(None), {"seeds": len(block.seeds)})]
        if not average:
            rows = [(f"seed {seed}", slice(i, i + 1), {"seed": seed}) for i, seed in enumerate(block.seeds)]
        for name, row, which in rows:
            curves = {key: values[row].mean(0)[kept] for key, values in block.scalars.items()}
            yield RunCurve(
                problem=block.problem,
                agent=block.agent,
                seed=name,
                steps=block.steps[kept],
                scalars={key: values for key, values in curves.items() if not np.isnan(values).all()},
                config=_flat({**block.settings, **which}),
                summary={**told, "final_return": float(finals[row].mean()), "solved": float(solved[row].mean())},
            )


def _of_curves(curves: Curves) -> _Block:
    values = {name: getattr(curves, "returns" if name == "return" else name) for name in SCALARS}
    names = {"environment": curves.problem.environment.name, "monitor": curves.problem.monitor.name}
    settings = {
        **names, "agent": curves.agent, "steps": int(curves.steps[-1]), "points": len(curves.steps) - 1,
        "evaluation": curves.evaluation, "discount": curves.problem.discount, "problem": curves.problem.digest,
    }  # fmt: skip
    return _Block(
        curves.problem.name, curves.agent, curves.seeds, curves.steps, values, settings,
        curves.optimal_return, curves.target_return,
    )  # fmt: skip


def _of_folder(folder: Path | str) -> Iterator[_Block]:
    from monmdp.study.results import Results

    for cell in Results(folder).cells.values():
        (optimum,) = set(cell.finals(["optimal_return"])["optimal_return"])
        yield _Block(
            cell.problem_name, cell.agent, cell.seeds, cell.steps, cell.curves(SCALARS), cell.settings,
            optimum, cell.target_return,
        )  # fmt: skip


def count_runs(results: Curves | Path | str, average: bool = False) -> int:
    """How many runs there will be; reads no curves."""
    if isinstance(results, Curves):
        return 1 if average else len(results.seeds)
    from monmdp.study.results import Results

    return sum(1 if average else len(cell.seeds) for cell in Results(results).cells.values())


def new_folder(folder: Path | str) -> Path:
    """A folder for an export: made if need be, and empty, so that two exports never mix."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise MonMDPError(f"The folder {path} is not empty; choose a new one, so that two exports never mix.")
    except OSError as error:
        raise MonMDPError(f"The folder {path} cannot be used: {error.strerror}.") from None
    return path


def _thinned(count: int, points: int | None) -> Integers:
    """Which of `count` recording points are kept."""
    kept = count if points is None else min(points, count)
    return (np.arange(1, kept + 1) * count) // kept - 1


def _flat(settings: dict[str, Any]) -> dict[str, bool | int | float | str]:
    """Options by their own names, and values that a viewer can sort: numbers, words, and everything else as text."""
    flat: dict[str, bool | int | float | str] = {}
    for key, value in settings.items():
        for name, inner in value.items() if isinstance(value, dict) else [(key, value)]:
            flat[name] = inner if isinstance(inner, (bool, int, float, str)) else repr(inner)
    return flat
