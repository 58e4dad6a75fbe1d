"""How fast: compiled loops against their plain twins, in one run on one core."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from reference.agents import PLAIN_AGENTS, plain_agent
from reference.loop import training

from monmdp.join import make
from monmdp.machine import n_cores
from monmdp.paper.protocol import DEFAULT_STEPS, PAPER_MONITORS, agent_defaults, paper_steps
from monmdp.problem import MonMDP
from monmdp.study.executors import Outcome, Threads, Tracker
from monmdp.study.plan import BATCH
from monmdp.study.runner import run_sweep
from monmdp.study.sweep import Sweep
from monmdp.training.job import as_agent, train

#: Problems of different kind and size whose rows are shown.
SHOWN = (("Empty", "Full"), ("Hazard", "Ask"), ("RiverSwim", "Button"), ("Corridor", "Level"), ("Empty", "Experts"))
PLAIN_STEPS = 400
#: What the sweep consists of on which the overhead of runner and store is measured.
OVERHEAD_ENVIRONMENTS, OVERHEAD_MONITORS = ("Loop", "Hazard"), ("Ask", "Experts")
PAPER_SEEDS = 100


@dataclass(frozen=True)
class Row:
    """One agent in one problem."""

    problem: str
    agent: str
    pairs: int
    step_ns: float
    evaluation_us: float
    plain_step_us: float

    @property
    def ratio(self) -> float:
        """How many times faster a compiled step is than a plain one."""
        return self.plain_step_us * 1000 / self.step_ns


def machine() -> str:
    """The machine in words."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def rows() -> Iterator[Row]:
    """Measure every agent in the shown problems."""
    for names in SHOWN:
        problem = make(*names)
        for agent in PLAIN_AGENTS:
            train(problem, agent, 1, steps=50)  # compiles
            blind, seeing = _fastest(problem, agent, "none"), _fastest(problem, agent, "exact")
            steps = paper_steps(problem)
            yield Row(
                problem=problem.name,
                agent=agent,
                pairs=problem.n_pairs,
                step_ns=blind / steps * 1e9,
                evaluation_us=max(seeing - blind, 0.0) / 1001 * 1e6,
                plain_step_us=_plain(problem, agent) / PLAIN_STEPS * 1e6,
            )


@dataclass(frozen=True)
class Paper:
    """What the whole paper costs: core-seconds of one seed of its 48 problems by agent, and what is lost around it."""

    core_seconds: dict[str, float]
    cores: int
    speedup: float
    overhead: float

    @property
    def seed_seconds(self) -> float:
        """Core seconds of one seed of all its problems and agents."""
        return sum(self.core_seconds.values())

    @property
    def minutes(self) -> float:
        """Projected for all its seeds on all cores of this machine."""
        return self.seed_seconds * PAPER_SEEDS / self.cores / 60


def measure_paper(progress: Callable[[int, int], None]) -> Paper:
    """One seed of everything with 1,001 exact evaluations each, how threads scale, and the cost of a sweep."""
    problems = [make(environment, monitor) for environment in DEFAULT_STEPS for monitor in PAPER_MONITORS]
    found, done = {}, 0
    for agent in PAPER_AGENTS:
        train(problems[0], agent, 1, steps=50)
        found[agent] = 0.0
        for problem in problems:
            found[agent] += train(problem, agent, 1, threads=1).seconds
            done += 1
            progress(done, len(problems) * len(PAPER_AGENTS))
    wall, trained = sweep_overhead()
    return Paper(found, n_cores(), _speedup(), (wall - trained) / trained)


def _speedup() -> float:
    """How much faster two threads train than one."""
    problem = make("Corridor", "Level")
    one, two = (train(problem, "Directed", 2, threads=threads).seconds for threads in (1, 2))
    return one / two


def sweep_overhead() -> tuple[float, float]:
    """Seconds that a small sweep takes on one core, and how many of them are training."""
    trained = 0.0

    class Timed(Threads):
        def train(self, tracker: Tracker) -> Outcome:
            nonlocal trained
            outcome = super().train(tracker)
            trained += outcome.seconds
            return outcome

    with TemporaryDirectory() as folder:
        sweep = Sweep(environments=OVERHEAD_ENVIRONMENTS, monitors=OVERHEAD_MONITORS, seeds=BATCH)
        started = time.perf_counter()
        run_sweep(sweep, folder, executor=Timed(1))
        return time.perf_counter() - started, trained


def _fastest(problem: MonMDP, agent: str, evaluation: str, times: int = 2) -> float:
    return min(train(problem, agent, 1, threads=1, evaluation=evaluation).seconds for _ in range(times))


def _plain(problem: MonMDP, agent: str) -> float:
    """Seconds that the plain twin needs for a few hundred steps, evaluation not counted."""
    given = as_agent(agent)
    options: Any = given.resolved(agent_defaults(problem, agent))
    learner = plain_agent(options, problem, PLAIN_STEPS, 0)
    started = time.perf_counter()
    for _ in training(problem, learner, PLAIN_STEPS, 0):
        pass
    return time.perf_counter() - started
