"""Runs for Weights & Biases, written offline; `wandb sync` uploads them, if and when you like."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any, Literal

from monmdp.errors import MonMDPError
from monmdp.study.export.runs import Progress, RunCurve, new_folder, runs_of
from monmdp.training.curves import Curves

#: Nothing about the machine, its files or its screen goes into a run.
_PRIVATE = {
    "silent": True,
    "console": "off",
    "disable_git": True,
    "disable_code": True,
    "save_code": False,
    "x_disable_meta": True,
    "x_disable_stats": True,
    "x_disable_machine_info": True,
    "x_save_requirements": False,
}


def to_wandb(
    results: Curves | Path | str,
    folder: Path | str,
    average: bool = False,
    points: int | None = None,
    project: str = "monmdp",
    mode: Literal["offline", "online"] = "offline",
    progress: Progress | None = None,
) -> int:
    """Write one W&B run a seed, or one for the mean of all seeds, into a new folder; returns how many.

    Scalars return, observed, visited, beta and explored at their training steps; settings as config. Offline needs no
    account and no network. The same run has the same id each time, so that uploading twice makes no copies.
    """
    try:
        import wandb
    except ImportError:
        raise MonMDPError("Weights & Biases is not installed; install it with: pip install 'monmdp[loggers]'") from None
    place, count = new_folder(folder), 0
    for run in runs_of(results, average, points):
        write_run(wandb, run, place, project, mode)
        count += 1
        if progress is not None:
            progress(count)
    return count


def write_run(wandb: Any, run: RunCurve, folder: Path, project: str, mode: str) -> None:
    """One run, begun and finished."""
    known = {name: value for name, value in _PRIVATE.items() if name in wandb.Settings.model_fields}
    told = f"{run.name} {sorted(run.config.items())}"
    writer = wandb.init(
        project=project,
        name=run.name,
        group=run.problem,
        job_type=run.agent[:64],
        id=hashlib.sha256(told.encode()).hexdigest()[:16],
        config=run.config,
        dir=str(folder),
        mode=mode,
        reinit="finish_previous",
        settings=wandb.Settings(**known),
    )
    for i, step in enumerate(run.steps.tolist()):
        values = {name: float(column[i]) for name, column in run.scalars.items() if not math.isnan(column[i])}
        writer.log(values, step=step)
    writer.summary.update(run.summary)
    writer.finish()
