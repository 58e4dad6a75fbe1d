"""`monmdp train`: learn, watch it happen, and see how close it came to the optimum."""

from __future__ import annotations

import json as json_text
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.training.curves import Curves
    from monmdp.training.job import Status

#: Rows of the live table.
GROUPS = 8


@dataclass(frozen=True)
class Train:
    """Train an agent on many seeds and compare its greedy policy with the exact optimum.

    For example: monmdp train Empty Ask --agent Directed --seeds 100.
    """

    environment: tyro.conf.Positional[str]
    """An environment, such as Empty or "Empty(rows=9, columns=9)"."""
    monitor: tyro.conf.Positional[str] = "Full"
    """A monitor, such as Ask or "Ask(cost=0.5)"."""
    agent: str = "Directed"
    """An agent, such as Directed, Optimism, UCB, QCounts, Intrinsic, Naive, or "Directed(beta_bar=0.1)"."""
    seeds: int = 10
    """How many seeds: 0, 1, 2, …"""
    steps: int | None = None
    """Training steps a seed; for the paper's 48 problems, the paper's budget by default."""
    points: int | None = None
    """How often to evaluate, evenly spaced; 1,000 by default, or once a step if there are fewer."""
    evaluation: Literal["exact", "sampled"] = "exact"
    """How to evaluate: exactly from the model, or by test episodes as in the paper."""
    discount: float = 0.99
    """How much the next step's reward counts."""
    threads: int | None = None
    """Seeds trained side by side; by default as many as there are cores and memory allows."""
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    """Where to train: on the CPU, on a GPU, or on a GPU if there is one; the numbers are the same."""
    json: bool = False
    """Print one JSON object instead of a table."""
    plot: Path | None = None
    """Draw mean return over training with its 95% confidence interval into this file (.png, .pdf, .svg)."""
    save: Path | None = None
    """Save curves and final tables into this file: .npz for everything, .csv for the curves."""

    def run(self, console: Console) -> None:
        """Train, print the outcome, and draw or save it if asked."""
        from monmdp.join import make

        for path in (self.plot, self.save):
            if path is not None and not path.absolute().parent.is_dir():
                raise MonMDPError(f"The folder of {path} does not exist.")
            if path is not None and path.is_dir():
                raise MonMDPError(f"{path} is a folder, and a file is wanted.")
        if self.save is not None and self.save.suffix not in (".npz", ".csv"):
            raise MonMDPError(f"Results are saved as .npz or .csv, not as {self.save.name!r}.")
        if self.plot is not None and self.plot.suffix not in (".png", ".pdf", ".svg"):
            raise MonMDPError(f"Plots are saved as .png, .pdf or .svg, not as {self.plot.name!r}.")
        problem = make(self.environment, self.monitor, discount=self.discount)
        with console.status("Getting ready (the first time, kernels are compiled) …"):
            from monmdp.training.job import train
        watched = console.is_terminal and not self.json
        with Live(console=console, refresh_per_second=8, transient=True) if watched else nullcontext() as live:
            curves = train(
                problem,
                self.agent,
                self.seeds,
                steps=self.steps,
                points=self.points,
                evaluation=self.evaluation,
                threads=self.threads,
                device=self.device,
                progress=None if live is None else lambda status: live.update(_groups(status)),
            )
        if self.save is not None:
            save_curves(curves, self.save)
        if self.plot is not None:
            from monmdp.figures.plot import plot_curves

            plot_curves(curves, self.plot)
        if self.json:
            print(json_text.dumps(curves.summary(), allow_nan=False))
            return
        console.print(_result(curves))
        for what, path in (("curves", self.save), ("plot", self.plot)):
            if path is not None:
                console.print(f"The {what} is in {path}." if what == "plot" else f"The {what} are in {path}.")


def _groups(status: Status) -> Table:
    """One row a group of seeds: how far, how good, how much seen."""
    title = (
        "training"
        if status.done.any()
        else "getting ready (the first time, kernels are compiled, which can take a minute)"
    )
    table = Table(box=None, title=title, title_justify="left")
    for column in ("seeds", "progress", "greedy return", "rewards observed"):
        table.add_column(column, justify="left" if column == "progress" else "right")
    for group in np.array_split(np.arange(len(status.done)), min(GROUPS, len(status.done))):
        name = str(group[0]) if len(group) == 1 else f"{group[0]}–{group[-1]}"
        begun = group[status.done[group] > 0]
        known = status.returns[begun][~np.isnan(status.returns[begun])]
        returns = f"{known.mean():.4f}" if len(known) else "–"
        observed = f"{status.observed[begun].mean():,.0f}" if len(begun) else "–"
        share = float(status.done[group].sum()) / (status.steps * len(group))
        table.add_row(name, ProgressBar(total=1.0, completed=share, width=30), returns, observed)
    return table


def _result(curves: Curves) -> Table:
    found = curves.summary()
    half_width = found["final_return_ci"]
    spread = "" if half_width is None else f" ± {half_width:.4f} (95%)"
    steps = int(curves.steps[-1])
    rows = {
        "seeds × steps": f"{len(curves.seeds)} × {steps:,}",
        "final return": f"[bold]{found['final_return']:.4f}[/]{spread}",
        "optimal return": f"{curves.optimal_return:.4f}",
        **({} if curves.target_return == curves.optimal_return else {"caution earns": f"{curves.target_return:.4f}"}),
        "solved": f"{int(curves.solved.sum())} of {len(curves.seeds)} seeds",
        "rewards observed": f"{found['observed']:,.0f} of {steps:,} ({curves.observed[:, -1].mean() / steps:.1%})",
        "pairs visited": f"{curves.visited[:, -1].mean():,.0f} of {int(curves.problem.reachable_pairs.sum()):,}",
        "time": f"{curves.seconds:.2f} s",
    }
    told = curves.remarks[0] if curves.remarks else []
    if told:
        rows["remarks"] = f"seed {curves.seeds[0]}: {told[0]}" + (f" (and {len(told) - 1} more)" if told[1:] else "")
    table = Table(title=f"[bold]{curves.agent} in {curves.problem.name}[/]", title_justify="left", show_header=False)
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def save_curves(curves: Curves, path: Path) -> None:
    """Curves as .csv, one row per seed and point, or everything as .npz."""
    names = ("returns", "observed", "visited", "beta", "explored")
    if path.suffix == ".csv":
        seeds = np.repeat(curves.seeds, len(curves.steps))
        steps = np.tile(curves.steps, len(curves.seeds))
        columns = [seeds, steps, *(getattr(curves, name).ravel() for name in names)]
        text = "\n".join(",".join(repr(value.item()) for value in row) for row in zip(*columns, strict=True))
        path.write_text("seed,step,return,observed,visited,beta,explored\n" + text + "\n")
        return
    tables = {name: getattr(curves, name) for name in (*names, "steps", "visit_counts", "q", "reward_model")}
    described = json_text.dumps({**curves.summary(), "digest": curves.problem.digest})
    np.savez_compressed(path, seeds=np.array(curves.seeds), summary=np.array(described), **tables)
