"""`monmdp train`: train an agent on several seeds and compare it with the optimum."""

from __future__ import annotations

import csv
import json as json_text
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar

from monmdp.cli.shared import Device, Json, Threads, TrainingArguments, check_file, option, print_json, say
from monmdp.tables import terminal

if TYPE_CHECKING:
    from rich.table import Table

    from monmdp.training.curves import Curves
    from monmdp.training.job import Status

#: Rows of the live table.
GROUPS = 8


@dataclass(frozen=True)
class Train(TrainingArguments):
    """Train an agent on several seeds and compare its greedy policy with the optimum.

    Example: monmdp train Empty Ask --agent Directed --seeds 100 --plot curve.png
    """

    seeds: int = 10
    """Number of seeds; trains the seeds 0, 1, 2, …"""
    points: Annotated[int | None, option("1,000, at most one per step")] = None
    """Number of evaluations during training, evenly spaced."""
    evaluation: Literal["exact", "sampled"] = "exact"
    """Returns are computed exactly from the model, or estimated from test episodes as in the paper."""
    threads: Threads = None
    device: Device = "cpu"
    json: Json = False
    plot: Annotated[Path | None, option("none")] = None
    """File for a plot of the mean return with its 95% confidence interval: .png, .pdf or .svg."""
    save: Annotated[Path | None, option("none")] = None
    """File for the results: .csv for the curves, .npz for curves and final tables."""

    def run(self, console: Console) -> None:
        check_file(self.save, ".npz", ".csv")
        check_file(self.plot, ".png", ".pdf", ".svg")
        problem = self.problem()
        with console.status("Preparing (the first run compiles kernels) …"):
            from monmdp.training.job import train
        show = console.is_terminal and not self.json
        with Live(console=console, refresh_per_second=8, transient=True) if show else nullcontext() as live:
            curves = train(
                problem,
                self.agent,
                self.seeds,
                steps=self.steps,
                points=self.points,
                evaluation=self.evaluation,
                threads=self.threads,
                device=self.device,
                progress=None if live is None else lambda status: live.update(_progress_table(status)),
            )
        if self.save is not None:
            save_curves(curves, self.save)
        if self.plot is not None:
            from monmdp.figures.plot import plot_curves

            plot_curves(curves, self.plot)
        if self.json:
            print_json(curves.summary())
            return
        console.print(terminal((), _facts(curves).items(), f"{curves.agent} in {curves.problem.name}"))
        for content, path in (("Curves", self.save), ("Plot", self.plot)):
            if path is not None:
                say(console, f"{content} written to {path}.")


def _progress_table(status: Status) -> Table:
    """One row per group of seeds: steps done, greedy return, rewards observed."""
    rows = []
    for group in np.array_split(np.arange(len(status.done)), min(GROUPS, len(status.done))):
        started = group[status.done[group] > 0]
        returns = status.returns[started][~np.isnan(status.returns[started])]
        rows.append(
            (
                str(group[0]) if len(group) == 1 else f"{group[0]}–{group[-1]}",
                ProgressBar(total=status.steps * len(group), completed=float(status.done[group].sum()), width=30),
                f"{returns.mean():.4f}" if len(returns) else "–",
                f"{status.observed[started].mean():,.0f}" if len(started) else "–",
            )
        )
    title = "training" if status.done.any() else "preparing (the first run compiles kernels, up to a minute)"
    return terminal(("seeds", "progress", "greedy return", "rewards observed"), rows, title, "rlrr")


def _facts(curves: Curves) -> dict[str, str]:
    summary, steps, n_seeds = curves.summary(), int(curves.steps[-1]), len(curves.seeds)
    interval = "" if summary["final_return_ci"] is None else f" ± {summary['final_return_ci']:.4f} (95%)"
    facts = {
        "seeds × steps": f"{n_seeds} × {steps:,}",
        "final return": f"{summary['final_return']:.4f}{interval}",
        "optimal return": f"{curves.optimal_return:.4f}",
    }
    if curves.target_return != curves.optimal_return:
        facts["cautious return"] = f"{curves.target_return:.4f}"
    facts |= {
        "solved": f"{int(curves.solved.sum())} of {n_seeds} seeds",
        "rewards observed": f"{summary['observed']:,.0f} of {steps:,} ({curves.observed[:, -1].mean() / steps:.1%})",
        "pairs visited": f"{curves.visited[:, -1].mean():,.0f} of {int(curves.problem.reachable_pairs.sum()):,}",
        "time": f"{curves.seconds:.2f} s",
    }
    remarks = curves.remarks[0] if curves.remarks else []
    if remarks:
        more = f" (and {len(remarks) - 1} more)" if len(remarks) > 1 else ""
        facts["remarks"] = f"seed {curves.seeds[0]}: {remarks[0]}{more}"
    return facts


def save_curves(curves: Curves, path: Path) -> None:
    """Save the curves as .csv, one row per seed and point, or curves and final tables as .npz."""
    from monmdp.training.metrics import METRICS

    if path.suffix == ".csv":
        seeds, steps = np.repeat(curves.seeds, len(curves.steps)), np.tile(curves.steps, len(curves.seeds))
        columns = [seeds, steps, *(getattr(curves, metric.attribute).ravel() for metric in METRICS)]
        with path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["seed", "step", *(metric.column for metric in METRICS)])
            writer.writerows(zip(*(column.tolist() for column in columns), strict=True))
        return
    names = [*(metric.attribute for metric in METRICS), "steps", "visit_counts", "q", "reward_model"]
    summary = json_text.dumps({**curves.summary(), "digest": curves.problem.digest})
    tables = {name: getattr(curves, name) for name in names}
    np.savez_compressed(path, seeds=np.array(curves.seeds), summary=np.array(summary), **tables)
