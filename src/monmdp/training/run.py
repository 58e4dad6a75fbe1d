"""One run that can be advanced step by step and inspected, for `watch` and the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from monmdp.agents.base import HasGoal
from monmdp.problem import Floats, Integers
from monmdp.training.evaluation import exact_return, new_evaluator
from monmdp.training.job import Job, on_all_states
from monmdp.training.loop import advance_of, new_cursor, stream_keys
from monmdp.training.metrics import Tally, new_record, record_point


class Run:
    """A seed of a job in progress, with the compiled training steps; arrays are over the problem's own states.

    tally: what was counted so far, see `metrics`.
    """

    def __init__(self, job: Job, seed: int) -> None:
        job.workers(1)  # refuses a run that does not fit into memory
        self.job, self.seed, self.tally = job, seed, Tally(0, 0, 0)
        self.memory = job.agent.memory(job.world, job.steps, seed)
        self._kernels: Any = type(job.agent)
        self._keys = stream_keys(seed)
        self._cursor = new_cursor(job.world, self._keys)
        self._evaluator = new_evaluator(job.world)
        self._acting = np.flatnonzero(job.problem.reachable)

    def advance(self, until: int) -> None:
        """Train to step `until`, at most to the end of the job."""
        until = min(until, self.job.steps)
        progress, stop = np.zeros(2, np.int64), np.zeros(1, np.int64)
        self._cursor, self.tally = advance_of(self._kernels)(
            self.job.world, self.memory, self._keys, self._cursor, self.tally, until, progress, stop
        )
        self._kernels.plan(self.memory, self.step)

    @property
    def step(self) -> int:
        """Training steps done."""
        return int(self._cursor.step)

    @property
    def state(self) -> int:
        """The joint state the agent is in."""
        return int(self._acting[self._cursor.state])

    @property
    def visits(self) -> Integers:
        """Visit counts, [S, A]."""
        return self._on_all_states(self.memory.visits, 0)

    @property
    def q(self) -> Floats:
        """Action values, [S, A]; NaN for states that cannot be reached."""
        return self._on_all_states(self.memory.q, np.nan)

    @property
    def goal(self) -> int:
        """The joint pair the agent explores toward, -1 for none."""
        pair = self.job.agent.goal(self.memory)[0] if isinstance(self.job.agent, HasGoal) else -1
        if pair < 0:
            return -1
        state, action = divmod(pair, self.job.problem.n_actions)
        return int(self._acting[state]) * self.job.problem.n_actions + action

    @property
    def goal_values(self) -> Floats:
        """The values [S, A] that lead to the goal; NaN where there is none."""
        agent, shape = self.job.agent, self.memory.q.shape
        values = agent.goal(self.memory)[1] if isinstance(agent, HasGoal) else np.full(shape, np.nan)
        return self._on_all_states(values, np.nan)

    def metrics(self) -> dict[str, float]:
        """Every metric of `METRICS` at this step, by attribute."""
        record = new_record(1)
        value = exact_return(self.job.world, self.memory.q, self._evaluator)
        record_point(record, 0, self.step, self.tally, self._kernels.beta(self.memory, self.step), value)
        return {name: getattr(record, name)[0] for name in record._fields}

    def _on_all_states(self, table: np.ndarray, missing: float) -> np.ndarray:
        full: np.ndarray = on_all_states(self.job.problem, [table], missing)[0]
        return full
