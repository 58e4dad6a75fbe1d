"""Finished results for other viewers: TensorBoard event files and Weights & Biases runs. Training logs nothing."""

import hashlib
import importlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError, plural
from monmdp.problem import Floats, Integers
from monmdp.study.results import CellResults, Results
from monmdp.study.store import folder_name
from monmdp.training.curves import Curves
from monmdp.training.metrics import METRICS

#: Called with the number of runs written so far and the number of all runs.
Progress = Callable[[int, int], None]
#: W&B settings that keep the machine, its files and its screen out of a run.
_SWITCHED_ON = ("silent", "disable_git", "disable_code", "x_disable_meta", "x_disable_stats", "x_disable_machine_info")
_PRIVATE = {**dict.fromkeys(_SWITCHED_ON, True), "console": "off", "save_code": False, "x_save_requirements": False}


@dataclass(frozen=True, eq=False)
class RunCurve:
    """One run, or the mean over the seeds of one agent in one problem.

    steps [point]; scalars: metric → values [point], without metrics that are always NaN; config: all settings, flat;
    summary: final values.
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

    def rows(self) -> Iterator[tuple[int, dict[str, float]]]:
        """The recording points: step, and the metrics that are not NaN."""
        for i, step in enumerate(self.steps.tolist()):
            yield step, {name: float(values[i]) for name, values in self.scalars.items() if not math.isnan(values[i])}


def runs_of(results: Curves | Path | str, average: bool = False, points: int | None = None) -> Iterator[RunCurve]:
    """The runs of a training result or a results folder, one curve per seed.

    average: one curve per agent and problem, the mean over its seeds. points: largest number of points per curve,
    evenly spaced, always with the last one.
    """
    if points is not None:
        check.whole(points, 1, "The number of points")
    for cell in _cells(results):
        if isinstance(cell, Curves):
            problem = cell.problem.name
            curves = {metric.column: getattr(cell, metric.attribute) for metric in METRICS}
        else:
            problem = cell.problem_name
            curves = cell.curves([metric.column for metric in METRICS])
        n_points = len(cell.steps)
        n_kept = min(points or n_points, n_points)
        kept = np.arange(1, n_kept + 1) * n_points // n_kept - 1
        groups = [(f"seed {seed}", [i], {"seed": seed}) for i, seed in enumerate(cell.seeds)]
        if average:
            n_seeds = len(cell.seeds)
            groups = [(f"mean of {plural(n_seeds, 'seed')}", list(range(n_seeds)), {"seeds": n_seeds})]
        for name, rows, which in groups:
            scalars = {metric: values[rows].mean(0)[kept] for metric, values in curves.items()}
            yield RunCurve(
                problem=problem,
                agent=cell.agent,
                seed=name,
                steps=cell.steps[kept],
                scalars={metric: values for metric, values in scalars.items() if not np.isnan(values).all()},
                config=_flat({**cell.settings, **which}),
                summary={
                    "optimal_return": cell.optimal_return,
                    "target_return": cell.target_return,
                    "final_return": float(cell.final_returns[rows].mean()),
                    "solved": float(cell.solved[rows].mean()),
                },
            )


def _cells(results: Curves | Path | str) -> list[Curves] | list[CellResults]:
    return [results] if isinstance(results, Curves) else list(Results(results).cells.values())


def _flat(settings: dict[str, Any]) -> dict[str, bool | int | float | str]:
    """Settings with nested options by their own names; values other than numbers and strings as text."""
    flat: dict[str, bool | int | float | str] = {}
    for key, value in settings.items():
        for name, inner in value.items() if isinstance(value, dict) else [(key, value)]:
            flat[name] = inner if isinstance(inner, (bool, int, float, str)) else repr(inner)
    return flat


def to_tensorboard(
    results: Curves | Path | str,
    folder: Path | str,
    average: bool = False,
    points: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Write one TensorBoard run per seed, or one per agent and problem, into a new folder; returns their number.

    The recorded metrics become scalars, settings and final values become hyperparameters.
    """
    _require("tensorboard.summary", "TensorBoard")
    return _write_all(_write_tensorboard_run, results, folder, average, points, progress)


def _write_tensorboard_run(run: RunCurve, folder: Path) -> None:
    """Write one run as one event file in its own folder; needs neither TensorFlow nor torch."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import summary_v2 as hyperparameters
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    now = time.time()
    names = (run.problem.replace(" + ", "+"), run.agent, run.seed)
    place = folder.joinpath(*map(folder_name, names))
    while place.exists():  # different names may become the same file name
        place = place.with_name(f"{place.name}_")
    writer = EventFileWriter(str(place))
    writer.add_event(Event(wall_time=now, summary=hyperparameters.hparams_pb(run.config, trial_id=run.name)))
    finals = {f"end/{name}": value for name, value in run.summary.items()}
    for step, values in [*run.rows(), (int(run.steps[-1]), finals)]:
        scalars = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        writer.add_event(Event(wall_time=now, step=step, summary=Summary(value=scalars)))
    writer.close()


def to_wandb(
    results: Curves | Path | str,
    folder: Path | str,
    average: bool = False,
    points: int | None = None,
    project: str = "monmdp",
    progress: Progress | None = None,
) -> int:
    """Write one W&B run per seed, or one per agent and problem, into a new folder; returns their number.

    The runs are offline: they need no account and no network, and `wandb sync` uploads them. A run has the same id each
    time, so uploading twice makes no copies.
    """
    _require("wandb", "Weights & Biases")
    return _write_all(partial(_write_wandb_run, project=project), results, folder, average, points, progress)


def _write_wandb_run(run: RunCurve, folder: Path, project: str) -> None:
    """Write one run, from start to end."""
    import wandb

    settings = {name: value for name, value in _PRIVATE.items() if name in wandb.Settings.model_fields}
    identity = f"{run.name} {sorted(run.config.items())}"
    writer = wandb.init(
        project=project,
        name=run.name,
        group=run.problem,
        job_type=run.agent[:64],
        id=hashlib.sha256(identity.encode()).hexdigest()[:16],
        config=run.config,
        dir=str(folder),
        mode="offline",
        reinit="finish_previous",
        settings=wandb.Settings(**settings),
    )
    for step, values in run.rows():
        writer.log(values, step=step)
    writer.summary.update(run.summary)
    writer.finish()


def _require(module: str, name: str) -> None:
    """Raise unless an optional package is installed."""
    try:
        importlib.import_module(module)
    except ImportError:
        raise MonMDPError(f"{name} is not installed; install it with: pip install 'monmdp[loggers]'") from None


def _write_all(
    write: Callable[[RunCurve, Path], None], results: Curves | Path | str, folder: Path | str, average: bool,
    points: int | None, progress: Progress | None,
) -> int:  # fmt: skip
    """Write every run into an empty folder, created if needed; returns their number."""
    total, path = sum(1 if average else len(cell.seeds) for cell in _cells(results)), Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise MonMDPError(f"The folder {path} is not empty; choose a new one, so that two exports never mix.")
    except OSError as error:
        raise MonMDPError(f"The folder {path} cannot be used: {error.strerror}.") from None
    for written, run in enumerate(runs_of(results, average, points), 1):
        write(run, path)
        if progress is not None:
            progress(written, total)
    return total
