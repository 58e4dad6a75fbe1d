"""Event files for TensorBoard; needs neither TensorFlow nor torch."""

from __future__ import annotations

import math
import re
import time
from pathlib import Path

from monmdp.errors import MonMDPError
from monmdp.study.export.runs import Progress, RunCurve, new_folder, runs_of
from monmdp.training.curves import Curves


def to_tensorboard(
    results: Curves | Path | str,
    folder: Path | str,
    average: bool = False,
    points: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Write one TensorBoard run a seed, or one for the mean of all seeds, into a new folder; returns how many.

    Scalars return, observed, visited, beta and explored at their training steps; settings and ends as hyperparameters.
    """
    try:
        import tensorboard.summary  # noqa: F401
    except ImportError:
        raise MonMDPError("TensorBoard is not installed; install it with: pip install 'monmdp[loggers]'") from None
    place, taken = new_folder(folder), set[Path]()
    for run in runs_of(results, average, points):
        mine = place / _safe(run.problem.replace(" + ", "+")) / _safe(run.agent) / _safe(run.seed)
        if mine in taken:
            mine = mine.with_name(f"{mine.name}_{len(taken)}")
        taken.add(mine)
        write_run(run, mine)
        if progress is not None:
            progress(len(taken))
    return len(taken)


def write_run(run: RunCurve, folder: Path) -> None:
    """One run as one event file in a folder of its own."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import summary_v2 as hyperparameters
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    now = time.time()
    writer = EventFileWriter(str(folder))
    writer.add_event(Event(wall_time=now, summary=hyperparameters.hparams_pb(run.config, trial_id=run.name)))
    for i, step in enumerate(run.steps.tolist()):
        told = {name: float(values[i]) for name, values in run.scalars.items() if not math.isnan(values[i])}
        values = [Summary.Value(tag=name, simple_value=value) for name, value in told.items()]
        writer.add_event(Event(wall_time=now, step=step, summary=Summary(value=values)))
    ends = [Summary.Value(tag=f"end/{name}", simple_value=value) for name, value in run.summary.items()]
    writer.add_event(Event(wall_time=now, step=int(run.steps[-1]), summary=Summary(value=ends)))
    writer.close()


def _safe(name: str) -> str:
    """A name as a folder that is harmless on every system."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("_")[:100]
