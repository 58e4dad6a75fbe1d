"""The data of the page as plain values, with arrays in base64: summaries and curves of all cells, and replayed runs."""

import base64
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from monmdp.agents.base import AGENTS
from monmdp.environments import ENVIRONMENTS
from monmdp.errors import MonMDPError
from monmdp.figures.sensitivity import studies
from monmdp.figures.style import AgentStyle, agent_styles
from monmdp.join import make
from monmdp.machine import n_cores
from monmdp.monitors import MONITORS
from monmdp.problem import Floats, Integers, Layout, MonMDP
from monmdp.protocol import kind, paper_job
from monmdp.registry import Registry, short_labels
from monmdp.statistics import wilson
from monmdp.study.results import CellResults, Results
from monmdp.study.snapshots import Snapshots, take_snapshots
from monmdp.study.sweep import Batch
from monmdp.training.curves import half_width
from monmdp.training.job import identity
from monmdp.training.metrics import METRICS

#: Points kept of a long curve: evenly spaced ones, and early ones for a logarithmic axis.
EVEN_POINTS, EARLY_POINTS = 171, 50
#: Action values closer than this are ties.
TIE = 1e-9


def overview_data(results: Results, tick: Callable[[], None]) -> dict[str, Any]:
    """Metrics, agents and problems; a problem has one cell per agent, None without runs. Calls tick after each cell."""
    cells = {}
    axes: dict[bytes, tuple[int, dict[str, str]]] = {}  # most cells record at the same steps: write each array once
    with ThreadPoolExecutor(n_cores()) as pool:  # most of the time goes into decompression and hashing
        for (key, cell), data in zip(results.cells.items(), pool.map(cell_data, results.cells.values()), strict=True):
            steps = cell.steps[kept_points(len(cell.steps))]
            axis, _ = axes.setdefault(steps.tobytes(), (len(axes), pack(steps)))
            cells[key] = {**data, "axis": axis}
            tick()
    problems = []
    for environment, monitor in results.problems:
        problem = results.of_problem(environment, monitor)[0].problem  # None if it cannot be rebuilt
        layout = problem and problem.environment.layout
        tiles = list(layout.tiles) if layout else None
        row = [cells.get((environment, monitor, agent)) for agent in results.agents]
        names = {"environment": results.labels[environment], "monitor": results.labels[monitor]}
        problems.append({**names, "tiles": tiles, "cells": row})
    return {
        "metrics": [
            {"name": m.column, "label": m.label, "description": m.description, "integer": m.dtype is np.int64}
            for m in METRICS
        ],
        "agents": [
            {"name": results.labels[agent], "title": agent, **look(style), "share": _share(results.of_agent(agent))}
            for agent, style in agent_styles(results.agents).items()
        ],
        "problems": problems,
        "axes": [steps for _, steps in axes.values()],
        "runs": sum(len(cell.seeds) for cell in results.cells.values()),
    }


def look(style: AgentStyle) -> dict[str, Any]:
    """Colour and dashes of a line, the dashes as SVG writes them; None for a solid line."""
    dashes = None if isinstance(style.dashes, str) else " ".join(f"{2 * length:g}" for length in style.dashes[1])
    return {"colour": style.colour, "dashes": dashes}


def sensitivity_data(results: Results) -> list[dict[str, Any]]:
    """The studies over one or two options: values of the options, and [problem, agent] of every variant."""
    problems = {names: i for i, names in enumerate(results.problems)}
    agents = {name: i for i, name in enumerate(results.agents)}
    shown = []
    for study in studies(results):
        across, down = (*study.values, ("",))[:2]
        cells = [[study.cells.get((one, other)[: len(study.options)]) for one in across] for other in down]
        places = [
            [cell and [problems[cell.environment, cell.monitor], agents[cell.agent]] for cell in line] for line in cells
        ]
        names = {"problem": study.problem, "agent": study.agent, "options": study.options}
        shown.append({**names, "columns": [*map(str, across)], "rows": [*map(str, down)], "cells": places})
    return shown


def cell_data(cell: CellResults) -> dict[str, Any]:
    """Summary numbers and curves of a cell; intervals have a level of 95%. None stands for numbers without evaluation.

    until and answers: medians over seeds of the step from which on a run is solved, and of the rewards observed by
    then; None if fewer than half end solved.
    """
    curves, kept = cell.curves([metric.column for metric in METRICS]), kept_points(len(cell.steps))
    n_solved, evaluated = int(cell.solved.sum()), cell.compared
    until, answers = (cell.steps_until_solved, cell.observed_until_solved) if evaluated else (np.inf, np.inf)
    return {
        "seeds": len(cell.seeds),
        "steps": int(cell.steps[-1]),
        "solved": n_solved if evaluated else None,
        "share": [float(value) for value in wilson(n_solved, len(cell.seeds))] if evaluated else None,
        "until": number(float(np.median(until))),
        "answers": number(float(np.median(answers))),
        "optimum": number(cell.optimal_return) if cell.settings["evaluation"] == "exact" else None,
        "levels": levels(cell.target_return, cell.settings.get("agent_options", {}).get("beta_bar")),
        "curves": {name: _curve(values[:, kept]) for name, values in curves.items()},
    }


def levels(optimum: float, beta_bar: float | None) -> dict[str, dict[str, Any]]:
    """Metric → a horizontal line of its chart: the optimal return, and the β above which the agent explores."""
    lines = {"return": ("optimum", number(optimum)), "beta": ("explores above", beta_bar)}
    return {name: {"text": text, "value": value} for name, (text, value) in lines.items() if value is not None}


def kept_points(points: int) -> Integers:
    """Indices of the points that the page keeps of a curve of that length."""
    if points <= EVEN_POINTS + EARLY_POINTS:
        return np.arange(points)
    even = np.linspace(0, points - 1, EVEN_POINTS)
    early = np.geomspace(1, points - 1, EARLY_POINTS)
    return np.unique(np.rint(np.concatenate([even, early])).astype(np.int64))


def _curve(values: Floats) -> dict[str, Any] | None:
    """Mean over seeds and half width of its interval, unknown where a seed has no value; None if that is everywhere."""
    known = np.where(np.isfinite(values), values, np.nan)
    mean, half = known.mean(0), half_width(known)
    if np.isnan(mean).all():
        return None
    band = pack(half) if len(values) > 1 else None
    return {"mean": pack(mean), "half": band, "final": [number(mean[-1]), number(half[-1])]}


def _share(cells: list[CellResults]) -> float | None:
    """Fraction of an agent's runs that ended solved."""
    solved = [cell.solved for cell in cells if cell.compared]
    return float(np.concatenate(solved).mean()) if solved else None


def pack(values: npt.ArrayLike) -> dict[str, str]:
    """Base64 of little-endian numbers: floats in 32 bits, integers ≥ 0 in the fewest bytes that hold them."""
    array = np.asarray(values)
    kind = "f4" if array.dtype.kind == "f" else np.min_scalar_type(int(array.max(initial=0))).str[1:]
    return {"type": kind, "data": base64.b64encode(array.astype(f"<{kind}").tobytes()).decode()}


def number(value: float) -> float | None:
    """A number as JSON allows it: None unless it is finite."""
    return float(value) if np.isfinite(value) else None


class Replay(NamedTuple):
    """A problem whose runs the page replays; agents: specs. seed: the run."""

    environment: str
    monitor: str
    description: str
    agents: tuple[str, ...]
    steps: int
    seed: int = 0
    discount: float = 0.99


#: Problems that are replayed first where a folder has them.
INSTRUCTIVE = (("Empty", "Ask"), ("Walk", "Button"), ("Hazard", "Button"), ("RiverSwim", "Button"))
#: Largest numbers of problems and of runs that are replayed, and of seconds that their training may take.
MOST_PROBLEMS, MOST_REPLAYS, MOST_SECONDS = 4, 16, 300.0


def replays_of(results: Results) -> list[Replay]:
    """Some runs of a folder that can be repeated in minutes: first seeds in a few problems with a map."""
    rank = {names: i for i, names in enumerate(INSTRUCTIVE)}
    problems = sorted(results.problems, key=lambda names: rank.get((kind(names[0]), kind(names[1])), len(rank)))
    chosen: list[list[CellResults]] = []
    slowest = MOST_SECONDS / MOST_REPLAYS
    for names in problems:
        seconds = {cell: _replay_seconds(cell) for cell in results.of_problem(*names)}
        cells = [cell for cell in seconds if np.isfinite(seconds[cell])]
        cells = [cell for cell in cells if cell.settings["steps"] == cells[0].settings["steps"]]
        cells.sort(key=lambda cell: "beta_bar" not in cell.settings.get("agent_options", {}))  # agents with goals first
        if cells:
            slowest = max(slowest, *(seconds[cell] for cell in cells))
            chosen.append(cells)
        if len(chosen) == MOST_PROBLEMS:
            break
    most_runs = max(1, int(MOST_SECONDS / slowest))
    chosen, replays = chosen[: max(1, most_runs // 2)], []
    for cells in chosen:
        most, first = min(len(cells), most_runs // len(chosen)), cells[0]
        kept = [cells[int(i)] for i in np.linspace(0, len(cells) - 1, most).round()]
        parts = [_summary(ENVIRONMENTS, first.environment), _summary(MONITORS, first.monitor)]
        if len(kept) < len(cells):
            parts.append(f"{len(kept)} of {len(cells)} agents are shown.")
        settings = first.settings["steps"], first.seeds[0], first.settings["discount"]
        agents = tuple(cell.settings["agent"] for cell in kept)
        replays.append(Replay(first.environment, first.monitor, " ".join(filter(None, parts)), agents, *settings))
    return replays


def _replay_seconds(cell: CellResults) -> float:
    """Estimated seconds of the same run; infinite if the names do not tell how to make it or its problem has no map."""
    if cell.problem is None or cell.problem.environment.layout is None:
        return np.inf
    settings = cell.settings
    try:
        job = paper_job(cell.problem, settings["agent"], settings["steps"], settings["points"], settings["evaluation"])
    except MonMDPError:
        return np.inf
    return Batch(job, (0,)).seconds if identity(job.run_settings) == cell.identity else np.inf


def _summary(registry: Registry[Any], spec: str) -> str:
    """The first sentence about a class."""
    return (registry.find(kind(spec)).__doc__ or "").partition("\n")[0] if kind(spec) in registry else ""


def inspector_data(
    replays: Sequence[Replay], tick: Callable[[], None], known: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Problems with their runs, without problems that have no map. Calls tick after each run.

    known: all agents of the page, among which those of the runs have their labels and colours.
    """
    problems = []
    for replay in replays:
        problem = make(replay.environment, replay.monitor, discount=replay.discount)
        if (layout := problem.environment.layout) is None:
            continue
        names = list(dict.fromkeys((*known, *replay.agents)))
        labels, styles, runs = dict(zip(names, short_labels(names), strict=True)), agent_styles(names), []
        for agent in replay.agents:
            with suppress(MonMDPError):  # an agent without a reward model
                run = _run(take_snapshots(problem, agent, replay.seed, replay.steps))
                runs.append({**run, "agent": labels[agent], "colour": styles[agent].colour})
            tick()
        if runs:
            problems.append({**_problem(problem, layout), "description": replay.description, "runs": runs})
    return problems


def _problem(problem: MonMDP, layout: Layout) -> dict[str, Any]:
    """Labels and geometry."""
    environment, monitor = problem.environment, problem.monitor
    return {
        "name": problem.name,
        "tiles": list(layout.tiles),
        "places": [list(place) for place in layout.cells],
        "states": [environment.state_label(state) for state in range(len(environment.states))],
        "actions": [str(action) for action in environment.actions],
        "monitorStates": [str(state) for state in monitor.states],
        "monitorActions": [str(action) for action in monitor.actions],
        "buttons": [int(state) for state, mark in monitor.landmarks.items() if mark == "button"],
        "reachable": pack(problem.reachable),
    }


def _run(run: Snapshots) -> dict[str, Any]:
    """Arrays over snapshots: sets of actions as bits, goals as pair + 1 so that 0 is none, metrics by column."""
    arrays = {
        "steps": run.steps,
        "states": run.states,
        "visits": run.visits.sum(-1),
        "best": best_actions(run.q),
        "rewardCounts": run.reward_counts,
    }
    if (run.goals >= 0).any():
        best = best_actions(run.goal_values)
        arrays |= {"goals": run.goals + 1, "goalBest": best, "goalValues": np.fmax.reduce(run.goal_values, axis=-1)}
    metrics = {metric.column: getattr(run, metric.attribute) for metric in METRICS}
    return {
        "levels": levels(run.optimal_return, getattr(AGENTS.build(run.agent), "beta_bar", None)),
        "metrics": {name: pack(values) for name, values in metrics.items() if np.isfinite(values).any()},
        **{name: pack(values) for name, values in arrays.items()},
    }


def best_actions(values: Floats) -> Integers:
    """The best actions as bits: values [k, S, A] → [k, S]; 0 where no value is known, or if A exceeds 32."""
    if values.shape[-1] > 32:
        return np.zeros(values.shape[:-1], np.int64)
    tied = values >= np.fmax.reduce(values, axis=-1, keepdims=True) - TIE
    return np.asarray((tied << np.arange(values.shape[-1])).sum(-1))
