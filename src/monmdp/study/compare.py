"""Comparing agents in one problem: a table with intervals, paired differences and p-values, and one plot."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.errors import MonMDPError, plural
from monmdp.files import write_atomically
from monmdp.problem import MonMDP
from monmdp.protocol import paper_job
from monmdp.registry import short_labels
from monmdp.statistics import paired_difference
from monmdp.study.runner import Progress, train
from monmdp.tables import markdown
from monmdp.training.curves import Curves
from monmdp.training.job import as_seeds

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Header of the table of a comparison.
HEADER = ("agent", "return", "solved", "steps", "seen", "paid", "vs first", "p")
ALIGNED = "lrrrrrrr"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several agents in one problem, run with the same seeds. curves: label → its runs; the first is the baseline."""

    curves: dict[str, Curves]

    def __iter__(self) -> Iterator[Curves]:
        return iter(self.curves.values())

    def __getitem__(self, label: str) -> Curves:
        return self.curves[label]

    def rows(self) -> list[dict[str, Any]]:
        """One row per agent as plain values; None stands for what does not exist.

        final_return with final_return_ci, half its 95% interval; solved: fraction of seeds; steps_until_solved,
        observed_until_solved and paid_until_solved: medians over seeds, None if half of the seeds or more do not end
        solved; paid and collected: means over whole runs; difference: of the final return to the first agent, paired
        by seed, with a 95% interval and a two-sided p-value.
        """
        first, rows = next(iter(self)), []
        for label, curves in self.curves.items():
            row = {**curves.summary(), "agent": label}
            for name in ("steps_until_solved", "observed_until_solved", "paid_until_solved"):
                median = float(np.median(getattr(curves, name)))
                row[name] = median if np.isfinite(median) else None
            row |= dict.fromkeys(("difference", "difference_low", "difference_high", "p_value"))
            if curves is not first:
                estimate, low, high, p_value = paired_difference(curves.final_returns, first.final_returns)
                bounds = {"difference_low": low, "difference_high": high}
                row |= {"difference": estimate, "p_value": p_value}
                row |= {name: None if np.isnan(value) else value for name, value in bounds.items()}
            rows.append(row)
        return rows

    def cells(self) -> list[tuple[str, ...]]:
        """The rows as texts below `HEADER`."""
        return [
            (
                row["agent"],
                f"{row['final_return']:.3f}" + _text(row["final_return_ci"], "±{:.3f}", ""),
                f"{row['solved']:.0%}",
                _text(row["steps_until_solved"], "{:,.0f}"),
                _text(row["observed_until_solved"], "{:,.0f}"),
                _text(row["paid"], "{:,.4g}"),
                _text(row["difference"], "{:+.3f}", "baseline"),
                _text(row["p_value"], "{:.3g}", ""),
            )
            for row in self.rows()
        ]

    @property
    def title(self) -> str:
        """The problem, the number of seeds and steps, and what could be earned."""
        first = next(iter(self))
        amount = f"{plural(len(first.seeds), 'seed')} × {plural(int(first.steps[-1]), 'step')}"
        return f"{first.problem_name}, {amount}; best possible return {first.target_return:.4f}"

    def __repr__(self) -> str:
        return f"{self.title}\n{markdown(HEADER, self.cells(), ALIGNED)}"

    def _repr_html_(self) -> str:
        cells = [HEADER, *self.cells()]
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        return f"<p>{html.escape(self.title)}</p><table>{rows}</table>"

    def plot(self, metric: str = "return", **options: Any) -> Figure:
        """Draw a metric of all agents over training steps; options: those of `monmdp.plot`."""
        from monmdp import plot

        return plot(self.curves, metric, **options)

    def file_content(self, suffix: str) -> bytes:
        """The curves of all agents as the bytes of a .csv file."""
        parts = [curves.file_content(suffix) for curves in self]
        return parts[0] + b"".join(part.partition(b"\n")[2] for part in parts[1:])

    def save(self, path: Path | str) -> None:
        """Write the curves of all agents as .csv, one row per agent, seed and point."""
        if Path(path).suffix != ".csv":
            raise MonMDPError(f"A comparison is saved as .csv, not {Path(path).suffix!r}.")
        write_atomically(Path(path), self.file_content(".csv"))

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame of all curves, one row per agent, seed and point."""
        frames = [curves.to_pandas().assign(agent=label) for label, curves in self.curves.items()]
        import pandas as pd

        return pd.concat(frames, ignore_index=True)


def _text(value: float | None, form: str, missing: str = "–") -> str:
    return missing if value is None else form.format(value)


def compare(
    problem: MonMDP,
    agents: Iterable[Any],
    seeds: int | Iterable[int] = 20,
    steps: int | None = None,
    points: int | None = None,
    evaluation: str = "exact",
    progress: Progress | bool | None = None,
    **options: Any,
) -> Comparison:
    """Train several agents in one problem with the same seeds, and compare them with the first one.

    agents: names, agents or learners, as in `train`. Other arguments are those of `train`, such as threads and device.
    """
    several = [agents] if isinstance(agents, str) else list(agents)
    names = [paper_job(problem, agent, steps, points, evaluation).agent_name for agent in several]
    if len(several) < 2 or len({*names}) < len(names):
        given = ", ".join(names) or "none"
        raise MonMDPError(f"compare needs at least two agents with different names or options, not {given}.")
    chosen, trained = as_seeds(seeds), []
    for before, agent in enumerate(several):
        show = partial(_part, progress, before, len(several)) if callable(progress) else progress
        trained.append(train(problem, agent, chosen, steps, points, evaluation, progress=show, **options))
    return Comparison(dict(zip(short_labels(names), trained, strict=True)))


def _part(progress: Progress, before: int, parts: int, done: int, total: int) -> None:
    """Report the progress of one of several equal parts as that of the whole."""
    progress(before * total + done, parts * total)
