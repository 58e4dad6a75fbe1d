"""What the run inspector shows: a few runs, trained anew and looked into while they learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from monmdp.figures.style import agent_styles
from monmdp.join import make
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.report.colours import colours
from monmdp.report.packing import number, pack
from monmdp.study.snapshots import Snapshots, take_snapshots
from monmdp.training.job import as_agent

#: Moments of a run that can be looked at.
MOMENTS = 120
#: Values closer than this are ties.
TIE = 1e-9


class Flagship(NamedTuple):
    """A problem worth watching, and why; steps are the paper's unless given."""

    environment: str
    monitor: str
    story: str
    agents: tuple[str, ...] = ("Directed", "Optimism", "UCB")
    steps: int | None = None


FLAGSHIPS = (
    Flagship(
        "Empty",
        "Ask",
        "Rewards are seen only when asked for, at a price of 0.2. An agent that stops asking too early never learns "
        "which coin is the large one.",
    ),
    Flagship(
        "Walk",
        "Button",
        "Pushing the button (LEFT in the start cell) turns the monitor on: rewards are then seen, and each step costs "
        "0.2. A small coin is near, the large one far.",
        steps=4_000,
    ),
    Flagship(
        "Hazard",
        "Button",
        "Toxic clouds, quicksand and distracting coins; rewards are seen only while the monitor is on.",
    ),
    Flagship(
        "RiverSwim",
        "Button",
        "The current pushes left; the large reward waits at the right end. The button is at the left end.",
    ),
)


def inspector_data(flagships: Sequence[Flagship], tick: Callable[[], None]) -> list[dict[str, Any]]:
    """Problems with their runs; those whose states have no places cannot be drawn and are left out."""
    told = []
    for flagship in flagships:
        problem = make(flagship.environment, flagship.monitor)
        if problem.environment.layout is None:
            continue
        runs = []
        for agent, style in agent_styles(flagship.agents).items():
            taken = take_snapshots(problem, agent, seed=0, steps=flagship.steps, count=MOMENTS)
            bar = getattr(as_agent(agent), "beta_bar", None)
            runs.append({**_run(taken), "betaBar": bar, **colours(style)})
            tick()
        told.append({**_problem(problem), "story": flagship.story, "runs": runs})
    return told


def _problem(problem: MonMDP) -> dict[str, Any]:
    """Labels and geometry."""
    layout = problem.environment.layout
    assert layout is not None
    return {
        "name": problem.name,
        "tiles": list(layout.tiles),
        "places": [list(place) for place in layout.cells],
        "states": [problem.environment.state_label(state) for state in range(len(problem.environment.states))],
        "actions": [str(action) for action in problem.environment.actions],
        "monitorStates": [str(state) for state in problem.monitor.states],
        "monitorActions": [str(action) for action in problem.monitor.actions],
        "landmarks": {str(state): mark for state, mark in problem.monitor.landmarks.items()},
        "reachable": pack(problem.reachable.astype(np.uint8)),
    }


def _run(taken: Snapshots) -> dict[str, Any]:
    """Arrays over moments; actions as one bit each, goals as pair + 1 so that 0 is none."""
    aims = bool((taken.goals >= 0).any())
    return {
        "agent": taken.agent,
        "seed": taken.seed,
        "optimum": number(taken.optimal_return),
        "steps": pack(taken.steps),
        "states": pack(taken.states),
        "visits": pack(taken.visits.sum(-1)),
        "best": pack(best_actions(taken.q)),
        "known": pack(taken.reward_counts),
        "goals": pack(taken.goals + 1) if aims else None,
        "goalBest": pack(best_actions(taken.goal_values)) if aims else None,
        "goalValues": pack(_best(taken.goal_values)) if aims else None,
        "beta": pack(np.where(np.isfinite(taken.beta), taken.beta, np.nan)) if aims else None,
        "returns": pack(taken.returns),
        "observed": pack(taken.observed),
        "explored": pack(taken.explored),
    }


def best_actions(values: Floats) -> Integers:
    """Which actions are best, as bits: values [k, S, A] → [k, S]; 0 where nothing is known, or A exceeds 32."""
    if values.shape[-1] > 32:
        return np.zeros(values.shape[:-1], np.int64)
    tied: Integers = values >= _best(values)[..., None] - TIE
    bits: Integers = (tied * (1 << np.arange(values.shape[-1]))).sum(-1)
    return bits


def _best(values: Floats) -> Floats:
    """The largest along the last axis, NaN where there is none."""
    largest: Floats = np.where(np.isnan(values), -np.inf, values).max(-1)
    return np.where(np.isinf(largest), np.nan, largest)
