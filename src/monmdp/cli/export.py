"""`monmdp export`: finished results for TensorBoard or Weights & Biases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro
from rich.console import Console
from rich.progress import Progress


@dataclass(frozen=True)
class Export:
    """Write finished results as TensorBoard event files or offline Weights & Biases runs.

    For example: monmdp export results --to tensorboard --out events. Nothing is uploaded.
    """

    folder: tyro.conf.Positional[Path] = Path("results")
    """The results folder."""
    to: Literal["tensorboard", "wandb"] = "tensorboard"
    """Which viewer."""
    out: Path = Path("exported")
    """A new folder for the files."""
    average: bool = False
    """One run for each agent and problem, the mean of its seeds, instead of one for each seed."""
    points: int | None = None
    """Keep no more than so many recording points of each run."""

    def run(self, console: Console) -> None:
        """Write the files and say how to look at them."""
        from monmdp.study.export import to_tensorboard, to_wandb
        from monmdp.study.export.runs import count_runs

        runs = count_runs(self.folder, self.average)
        with Progress(console=console, transient=True) as bar:
            task = bar.add_task(f"writing {runs:,} runs", total=runs)

            def tell(written: int) -> None:
                bar.update(task, completed=written)

            if self.to == "tensorboard":
                to_tensorboard(self.folder, self.out, self.average, self.points, progress=tell)
            else:
                to_wandb(self.folder, self.out, self.average, self.points, progress=tell)
        look = {
            "tensorboard": f"tensorboard --logdir {self.out}",
            "wandb": f"wandb sync {self.out}/wandb/offline-run-*",
        }
        console.print(f"{runs:,} runs are in {self.out}; {look[self.to]} shows them.", soft_wrap=True, markup=False)
