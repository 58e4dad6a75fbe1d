"""The internal state of one run at evenly spaced moments of its training: estimates, goal and metrics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.base import Agent
from monmdp.errors import MonMDPError
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.protocol import paper_job
from monmdp.training.run import Run


class Snapshots(NamedTuple):
    """Arrays over moments k, in the problem's own states and actions; see `Curves` for the curves among them.

    states [k]: the agent's state; visits, q [k, S, A]; reward_model, reward_counts [k, environment pairs];
    goals [k]: the pair that the agent explores toward, -1 for none; goal_values [k, S, A]: the values that lead to it.
    Values that do not exist are NaN.
    """

    problem: MonMDP
    agent: str
    seed: int
    optimal_return: float
    steps: Integers
    states: Integers
    visits: Integers
    q: Floats
    reward_model: Floats
    reward_counts: Integers
    goals: Integers
    goal_values: Floats
    beta: Floats
    returns: Floats
    observed: Integers
    explored: Floats


def take_snapshots(
    problem: MonMDP, agent: Agent | str = "Directed", seed: int = 0, steps: int | None = None, count: int = 120
) -> Snapshots:
    """Train one seed as `train` does, and record its state at `count` evenly spaced moments and at the end."""
    job = paper_job(problem, agent, steps, min(count, steps) if steps is not None else count)
    run = Run(job, seed)
    if not hasattr(run.memory, "reward_model"):
        raise MonMDPError(f"{job.agent_name} has no reward model to inspect.")
    taken: dict[str, list[Any]] = {name: [] for name in Snapshots._fields[5:]}
    for until in job.point_steps:
        run.advance(int(until))
        metrics = run.metrics()
        values = {
            "states": run.state,
            "visits": run.visits,
            "q": run.q,
            "reward_model": run.memory.reward_model.copy(),
            "reward_counts": run.memory.reward_counts.copy(),
            "goals": run.goal,
            "goal_values": run.goal_values,
            **{name: metrics[name] for name in ("beta", "returns", "observed", "explored")},
        }
        for name, value in values.items():
            taken[name].append(value)
    return Snapshots(
        problem=problem,
        agent=job.agent_name,
        seed=seed,
        optimal_return=job.optimal_return,
        steps=job.point_steps,
        **{name: np.array(values) for name, values in taken.items()},
    )
