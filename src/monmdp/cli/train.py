"""`monmdp train`: train an agent on several seeds and compare it with the optimum."""

from __future__ import annotations

import csv
import json as json_text
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from rich.console import Console

from monmdp.cli.shared import (
    Device,
    Json,
    Threads,
    TrainingArguments,
    check_file,
    option,
    print_json,
    print_line,
    progress,
)
from monmdp.tables import terminal

if TYPE_CHECKING:
    from monmdp.study.train import Status
    from monmdp.training.curves import Curves


@dataclass(frozen=True)
class Train(TrainingArguments):
    """Train an agent on several seeds and compare it with the optimum.

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
        with progress("preparing (the first run compiles kernels)") as update:
            from monmdp.study.train import train

            curves = train(
                problem,
                self.agent,
                self.seeds,
                steps=self.steps,
                points=self.points,
                evaluation=self.evaluation,
                threads=self.threads,
                device=self.device,
                progress=lambda status: update(**progress_of(status)),
            )
        if self.save is not None:
            save_curves(curves, self.save)
        if self.plot is not None:
            from monmdp.figures.curves import plot_curves

            plot_curves(curves, self.plot)
        if self.json:
            print_json(curves.summary())
            return
        console.print(terminal((), _facts(curves).items(), f"{curves.agent} in {curves.problem.name}"))
        for content, path in (("Curves", self.save), ("Plot", self.plot)):
            if path is not None:
                print_line(console, f"{content} written to {path}.")


def progress_of(status: Status) -> dict[str, Any]:
    """What the progress bar shows: training steps, mean greedy return and rewards observed."""
    started = status.done > 0
    if not started.any():
        return {}
    returns = status.returns[started & ~np.isnan(status.returns)]
    mean = f"return {returns.mean():.4f}, " if len(returns) else ""
    return {
        "description": f"training: {mean}{status.observed[started].mean():,.0f} rewards observed",
        "completed": float(status.done.sum()),
        "total": status.steps * len(status.done),
    }


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
