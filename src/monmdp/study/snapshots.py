"""One run seen from inside: what an agent knows and wants at evenly spaced moments of its training."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from monmdp.agents.base import Agent
from monmdp.errors import MonMDPError
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.training.evaluation import exact_return, new_evaluator
from monmdp.training.job import Job, on_all_states
from monmdp.training.loop import advance_of, new_cursor, stream_keys


class Snapshots(NamedTuple):
    """Arrays over moments k, in the problem's own states and actions; see `Curves` for the curves among them.

    states [k]: where the agent is; visits, q [k, S, A]; reward_model, reward_counts [k, environment pairs];
    goals [k]: the pair the agent is after, -1 for none; goal_values [k, S, A]: its successor values toward it.
    Where there is nothing to tell, values are NaN.
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
    """Train one seed as `train` does, and look inside at `count` evenly spaced moments and at the end."""
    job = Job(problem, agent, steps, min(count, steps) if steps is not None else count)
    job.workers(1)  # complains if the run does not fit into memory
    kind: Any = type(job.agent)
    memory, keys = job.agent.memory(job.world, job.steps, seed), stream_keys(seed)
    if not hasattr(memory, "reward_model"):
        raise MonMDPError(f"{job.agent_name} has no reward model to look at.")
    cursor, evaluator = new_cursor(job.world, keys), new_evaluator(job.world)
    acting = np.flatnonzero(problem.reachable)
    progress, stop = np.zeros(2, np.int64), np.zeros(1, np.int64)
    taken: dict[str, list[Any]] = {name: [] for name in Snapshots._fields[5:]}
    for until in job.point_steps:
        advance_of(kind)(job.world, memory, keys, cursor, until, progress, stop)
        kind.plan(memory, cursor[1])
        goal, values = job.agent.aim(memory)
        looks = {
            "states": acting[cursor[0]],
            "visits": memory.visits.copy(),
            "q": memory.q.copy(),
            "reward_model": memory.reward_model.copy(),
            "reward_counts": memory.reward_counts.copy(),
            "goals": -1
            if goal < 0
            else int(acting[goal // problem.n_actions]) * problem.n_actions + goal % problem.n_actions,
            "goal_values": values,
            "beta": kind.beta(memory, cursor[1]),
            "returns": exact_return(job.world, memory.q, evaluator),
            "observed": cursor[4],
            "explored": cursor[6] / max(cursor[1], 1),
        }
        for name, look in looks.items():
            taken[name].append(look)
    expanded = {"visits": 0, "q": np.nan, "goal_values": np.nan}
    return Snapshots(
        problem=problem,
        agent=job.agent_name,
        seed=seed,
        optimal_return=job.optimal_return,
        steps=job.point_steps,
        **{
            name: on_all_states(problem, looks, expanded[name]) if name in expanded else np.array(looks)
            for name, looks in taken.items()
        },
    )
