"""Finished results for other viewers: TensorBoard event files and Weights & Biases runs. Training logs nothing."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.problem import Floats, Integers
from monmdp.training.curves import SOLVED_WITHIN, Curves
from monmdp.training.metrics import METRICS

#: Called with the number of runs written so far.
Progress = Callable[[int], None]
#: W&B settings that keep the machine, its files and its screen out of a run.
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


class _Cell(NamedTuple):
    """All runs of one agent in one problem; curves: metric → values [seed, point]."""

    problem: str
    agent: str
    seeds: list[int]
    steps: Integers
    curves: dict[str, np.ndarray]
    settings: dict[str, Any]
    optimal_return: float
    target_return: float


def runs_of(results: Curves | Path | str, average: bool = False, points: int | None = None) -> Iterator[RunCurve]:
    """The runs of a training result or a results folder, one curve per seed.

    average: one curve per agent and problem, the mean over its seeds. points: largest number of points per curve,
    evenly spaced, always with the last one.
    """
    if points is not None:
        check.whole(points, 1, "The number of points")
    for cell in [_cell_of_curves(results)] if isinstance(results, Curves) else _cells_of_folder(results):
        kept = _evenly_spaced(len(cell.steps), points)
        finals = cell.curves["return"][:, -1]
        solved = finals >= cell.target_return - SOLVED_WITHIN
        groups = [(f"mean of {len(cell.seeds)} seeds", slice(None), {"seeds": len(cell.seeds)})]
        if not average:
            groups = [(f"seed {seed}", slice(i, i + 1), {"seed": seed}) for i, seed in enumerate(cell.seeds)]
        for name, rows, seeds in groups:
            curves = {metric: values[rows].mean(0)[kept] for metric, values in cell.curves.items()}
            yield RunCurve(
                problem=cell.problem,
                agent=cell.agent,
                seed=name,
                steps=cell.steps[kept],
                scalars={metric: values for metric, values in curves.items() if not np.isnan(values).all()},
                config=_flat({**cell.settings, **seeds}),
                summary={
                    "optimal_return": cell.optimal_return,
                    "target_return": cell.target_return,
                    "final_return": float(finals[rows].mean()),
                    "solved": float(solved[rows].mean()),
                },
            )


def count_runs(results: Path | str, average: bool = False) -> int:
    """The number of runs of a results folder, without reading curves."""
    from monmdp.study.results import Results

    return sum(1 if average else len(cell.seeds) for cell in Results(results).cells.values())


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
    try:
        import tensorboard.summary  # noqa: F401
    except ImportError:
        raise MonMDPError("TensorBoard is not installed; install it with: pip install 'monmdp[loggers]'") from None
    root, used = _new_folder(folder), set[Path]()
    for run in runs_of(results, average, points):
        place = root / _file_name(run.problem.replace(" + ", "+")) / _file_name(run.agent) / _file_name(run.seed)
        if place in used:
            place = place.with_name(f"{place.name}_{len(used)}")
        used.add(place)
        write_tensorboard_run(run, place)
        if progress is not None:
            progress(len(used))
    return len(used)


def write_tensorboard_run(run: RunCurve, folder: Path) -> None:
    """Write one run as one event file in its own folder; needs neither TensorFlow nor torch."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import summary_v2 as hyperparameters
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    now = time.time()
    writer = EventFileWriter(str(folder))
    writer.add_event(Event(wall_time=now, summary=hyperparameters.hparams_pb(run.config, trial_id=run.name)))
    finals = {f"end/{name}": value for name, value in run.summary.items()}
    for step, values in [*_rows(run), (int(run.steps[-1]), finals)]:
        scalars = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        writer.add_event(Event(wall_time=now, step=step, summary=Summary(value=scalars)))
    writer.close()


def to_wandb(
    results: Curves | Path | str,
    folder: Path | str,
    average: bool = False,
    points: int | None = None,
    project: str = "monmdp",
    mode: Literal["offline", "online"] = "offline",
    progress: Progress | None = None,
) -> int:
    """Write one W&B run per seed, or one per agent and problem, into a new folder; returns their number.

    Offline runs need no account and no network; `wandb sync` uploads them. A run has the same id each time, so
    uploading twice makes no copies.
    """
    try:
        import wandb  # noqa: F401
    except ImportError:
        raise MonMDPError("Weights & Biases is not installed; install it with: pip install 'monmdp[loggers]'") from None
    root, written = _new_folder(folder), 0
    for run in runs_of(results, average, points):
        write_wandb_run(run, root, project, mode)
        written += 1
        if progress is not None:
            progress(written)
    return written


def write_wandb_run(run: RunCurve, folder: Path, project: str, mode: Literal["offline", "online"]) -> None:
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
        mode=mode,
        reinit="finish_previous",
        settings=wandb.Settings(**settings),
    )
    for step, values in _rows(run):
        writer.log(values, step=step)
    writer.summary.update(run.summary)
    writer.finish()


def _rows(run: RunCurve) -> Iterator[tuple[int, dict[str, float]]]:
    """The recording points: step, and the metrics that are not NaN."""
    for i, step in enumerate(run.steps.tolist()):
        yield step, {name: float(values[i]) for name, values in run.scalars.items() if not math.isnan(values[i])}


def _cell_of_curves(curves: Curves) -> _Cell:
    problem = curves.problem
    values = {metric.column: getattr(curves, metric.attribute) for metric in METRICS}
    settings = {
        "environment": problem.environment.name, "monitor": problem.monitor.name, "agent": curves.agent,
        "steps": int(curves.steps[-1]), "points": len(curves.steps) - 1, "evaluation": curves.evaluation,
        "discount": problem.discount, "problem": problem.digest,
    }  # fmt: skip
    returns = (curves.optimal_return, curves.target_return)
    return _Cell(problem.name, curves.agent, curves.seeds, curves.steps, values, settings, *returns)


def _cells_of_folder(folder: Path | str) -> Iterator[_Cell]:
    from monmdp.study.results import Results

    for cell in Results(folder).cells.values():
        values = cell.curves([metric.column for metric in METRICS])
        returns = (cell.finals(["optimal_return"])["optimal_return"][0], cell.target_return)
        yield _Cell(cell.problem_name, cell.agent, cell.seeds, cell.steps, values, cell.settings, *returns)


def _new_folder(folder: Path | str) -> Path:
    """An empty folder, created if needed, so that two exports never mix."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise MonMDPError(f"The folder {path} is not empty; choose a new one, so that two exports never mix.")
    except OSError as error:
        raise MonMDPError(f"The folder {path} cannot be used: {error.strerror}.") from None
    return path


def _file_name(name: str) -> str:
    """A name that is a valid file name on every system."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("_")[:100]


def _evenly_spaced(count: int, points: int | None) -> Integers:
    """Indices of at most `points` of `count` recording points, always with the last one."""
    kept = count if points is None else min(points, count)
    return (np.arange(1, kept + 1) * count) // kept - 1


def _flat(settings: dict[str, Any]) -> dict[str, bool | int | float | str]:
    """Settings with nested options by their own names; values other than numbers and strings as text."""
    flat: dict[str, bool | int | float | str] = {}
    for key, value in settings.items():
        for name, inner in value.items() if isinstance(value, dict) else [(key, value)]:
            flat[name] = inner if isinstance(inner, (bool, int, float, str)) else repr(inner)
    return flat
