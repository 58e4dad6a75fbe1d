"""A job in an environment without a table: each seed is a live run, tested by greedy episodes.

return = mean over test episodes of the undiscounted sum of true rewards, less what the monitor charges
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium
import numpy as np

from monmdp import check
from monmdp.agents.base import AGENTS
from monmdp.errors import MonMDPError
from monmdp.gym.worlds import LiveWorld
from monmdp.gym.wrapper import monitored
from monmdp.monitors import Monitor
from monmdp.problem import Integers
from monmdp.registry import is_built_in
from monmdp.training.fingerprint import code_of
from monmdp.training.games import sizes_of
from monmdp.training.job import Finished, Job, RunState, identity, recording_points
from monmdp.training.live import DEFAULT_POINTS, TABLES, LiveCurves, train_live

#: Episodes of a test.
TEST_EPISODES = 20
#: Environment states of which an agent is assumed to keep counts, if it does not say.
STATES = 100


class StoppedError(Exception):
    """A run was asked to stop."""


@dataclass(frozen=True, eq=False)
class LiveProblem:
    """An environment without a table, and a monitor."""

    environment: LiveWorld
    monitor: Monitor
    discount: float

    @property
    def name(self) -> str:
        """Environment and monitor with their options."""
        return f"{self.environment.name} + {self.monitor.name}"

    @cached_property
    def digest(self) -> str:
        """A hash of what is not in the names: the range of rewards, and the code of a user's environment."""
        parts = self.environment, self.monitor
        codes = {part.name: code_of(type(part)).digest for part in parts if not is_built_in(type(part))}
        values = self.environment.values
        known = {} if values is None else {"values": values}
        return identity({"rewards": self.environment.rewards, "episodes": TEST_EPISODES, **known, **codes})

    def make(self) -> gymnasium.Env[Any, Any]:
        """A new copy of the environment with its monitor."""
        place = self.environment.button if self.monitor.needs_place else None
        return monitored(self.environment.make(), self.monitor, at=place)

    def random_return(self, episodes: int = 100) -> float:
        """Mean return of episodes with random actions."""
        env, earned = self.make(), 0.0
        env.action_space.seed(0)
        for episode in range(episodes):
            env.reset(seed=episode)
            over = False
            while not over:
                *_, terminated, truncated, info = env.step(env.action_space.sample())
                earned += info["env_reward"] + info["monitor_reward"]
                over = terminated or truncated
        return float(earned / episodes)


class LiveJob(Job):
    """An agent in an environment without a table."""

    own_process = True
    batch = 1
    problem: Any

    def __init__(self, problem: LiveProblem, agent: Any, steps: int, points: int | None = None) -> None:
        self.problem, self.evaluation = problem, "tests"
        self.steps = check.steps(steps, what="The number of steps")
        self.point_steps = recording_points(self.steps, min(DEFAULT_POINTS, self.steps) if points is None else points)
        self.agent = AGENTS.build(agent)
        self.agent_name, kind = self.agent.name, type(self.agent)
        self.agent_code = None if is_built_in(kind) else code_of(kind).digest
        states = getattr(self.agent, "codes", None) or STATES
        self.world = sizes_of(problem.make()).world(states, problem.discount)  # an error if it cannot be made

    def prepare(self, announce: Callable[[str], None] | None = None) -> None:
        """Nothing: every run compiles its own program, or loads it."""

    def follow(self, seed: int) -> Callable[[int], RunState]:
        """Not possible."""
        raise MonMDPError(f"{self.problem.name} has no table of states; only runs in problems with one can be watched.")

    def run(self, seed: int, record: Any, progress: Integers, stop: Integers) -> Finished:
        """Train one seed; a non-zero stop [1] ends it soon and leaves its record incomplete."""

        def report(step: int, _: int) -> None:
            progress[0] = min(step, self.steps - 1)  # the last test follows
            if stop[0]:
                raise StoppedError

        try:
            curves = train_live(
                self.problem.make(),
                agent=self.agent,
                steps=self.steps,
                points=len(self.point_steps) - 1,
                discount=self.problem.discount,
                reward_range=self.problem.environment.rewards,
                value_range=self.problem.environment.values,
                test_env=self.problem.make(),
                test_episodes=TEST_EPISODES,
                progress=report,
                seed=seed,
            )
        except StoppedError:
            return record, {}
        progress[:] = self.steps, len(self.point_steps)
        for name, values in {**curves.recorded, "returns": curves.undiscounted_returns}.items():
            getattr(record, name)[:] = values[0]
        return record, {name: getattr(curves, name)[0] for name in TABLES}

    def collect(self, settings: dict[str, Any], seeds: list[int], finished: list[Finished], seconds: float) -> Any:
        """`LiveCurves` from finished seeds; returns are not discounted."""
        records, tables = [record._asdict() for record, _ in finished], [table for _, table in finished]
        recorded, final = (
            {name: np.stack([each[name] for each in several]) for name in several[0]} for several in (records, tables)
        )
        return LiveCurves(
            environment=settings["environment"],
            monitor=settings["monitor"],
            agent=settings["agent"],
            seeds=seeds,
            steps=self.point_steps,
            recorded=recorded,
            undiscounted_returns=recorded["returns"],
            visit_counts=final["visit_counts"],
            q=final["q"],
            reward_model=final["reward_model"],
            seconds=seconds,
            settings=settings,
        )
