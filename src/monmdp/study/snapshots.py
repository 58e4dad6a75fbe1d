"""One run that can be advanced and inspected, and snapshots of it at evenly spaced moments of its training."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from monmdp.agents.base import Agent
from monmdp.errors import MonMDPError
from monmdp.kernels.returns import exact_return, new_evaluator
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.protocol import paper_job
from monmdp.training.job import Job, on_all_states
from monmdp.training.metrics import Tally, new_record, record_point


class Run:
    """A seed of a job in progress, with the same training steps; arrays are over the problem's own states."""

    def __init__(self, job: Job, seed: int) -> None:
        job.workers(1)  # refuses a run that does not fit into memory
        self.job, self.seed = job, seed
        self._follow = job.follow(seed)
        self._evaluator = new_evaluator(job.world)
        self._acting = np.flatnonzero(job.problem.reachable)
        self.advance(0)

    def advance(self, until: int) -> None:
        """Train to step `until`, at most to the end of the job."""
        self.now = self._follow(min(until, self.job.steps))

    @property
    def step(self) -> int:
        """Training steps done."""
        return self.now.step

    @property
    def tally(self) -> Tally:
        """What was counted so far."""
        return self.now.tally

    @property
    def state(self) -> int:
        """The joint state the agent is in."""
        return int(self._acting[self.now.state])

    @property
    def visits(self) -> Integers:
        """Visit counts, [S, A]."""
        return self._on_all_states(self.now.visits, 0)

    @property
    def q(self) -> Floats:
        """Action values, [S, A]; NaN for states that cannot be reached."""
        return self._on_all_states(self.now.q, np.nan)

    @property
    def goal(self) -> int:
        """The joint pair the agent explores toward, -1 for none."""
        if self.now.goal < 0:
            return -1
        state, action = divmod(self.now.goal, self.job.problem.n_actions)
        return int(self._acting[state]) * self.job.problem.n_actions + action

    @property
    def goal_values(self) -> Floats:
        """The values [S, A] that lead to the goal; NaN where there is none."""
        return self._on_all_states(self.now.goal_values, np.nan)

    def metrics(self) -> dict[str, float]:
        """Every metric of `METRICS` at this step, by attribute."""
        record = new_record(1)
        value = exact_return(self.job.world, self.now.q, self._evaluator)
        record_point(record, 0, self.step, self.tally, self.now.beta, value)
        return {name: getattr(record, name)[0] for name in record._fields}

    def _on_all_states(self, table: np.ndarray, missing: float) -> np.ndarray:
        full: np.ndarray = on_all_states(self.job.problem, [table], missing)[0]
        return full


class Snapshots(SimpleNamespace):
    """Arrays over moments k, in the problem's own states and actions; every metric of `METRICS` is an attribute [k].

    steps [k]; states [k]: the agent's state; visits, q [k, S, A]; reward_model, reward_counts [k, environment pairs];
    goals [k]: the pair that the agent explores toward, -1 for none; goal_values [k, S, A]: the values that lead to it.
    Values that do not exist are NaN. Also problem, agent, seed and optimal_return.
    """


def take_snapshots(
    problem: MonMDP, agent: Agent | str = "Directed", seed: int = 0, steps: int | None = None, count: int = 120
) -> Snapshots:
    """Train one seed as `train` does, and record its state at `count` evenly spaced moments and at the end."""
    job = paper_job(problem, agent, steps, min(count, steps) if steps is not None else count)
    run = Run(job, seed)
    if run.now.reward_model is None or run.now.reward_counts is None:
        raise MonMDPError(f"{job.agent_name} has no reward model to inspect.")
    moments: list[dict[str, Any]] = []
    for until in job.point_steps:
        run.advance(int(until))
        moments.append({
            "states": run.state,
            "visits": run.visits,
            "q": run.q,
            "reward_model": np.array(run.now.reward_model),
            "reward_counts": np.array(run.now.reward_counts),
            "goals": run.goal,
            "goal_values": run.goal_values,
            **run.metrics(),
        })  # fmt: skip
    taken = {name: np.array([moment[name] for moment in moments]) for name in moments[0]}
    settings = {"problem": problem, "agent": job.agent_name, "seed": seed, "optimal_return": job.optimal_return}
    return Snapshots(**settings, steps=job.point_steps, **taken)
