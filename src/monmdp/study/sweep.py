"""Sweeps: products of environments × monitors × agents × seeds; and batches, their parts that are trained together."""

import dataclasses
import itertools
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from monmdp import check
from monmdp.agents.base import HasTimeEstimate, memory_bytes
from monmdp.errors import MonMDPError, shown
from monmdp.gym.worlds import WORLDS, LiveWorld
from monmdp.join import make
from monmdp.monitors import MONITORS
from monmdp.problem import Integers
from monmdp.protocol import DEFAULT_STEPS, PAPER_AGENTS, PAPER_MONITORS, paper_job, paper_steps
from monmdp.registry import construct, grid, parse_spec
from monmdp.training.job import Job, as_seeds, identity
from monmdp.training.live_job import LiveJob, LiveProblem
from monmdp.training.metrics import METRICS

SWEEPS_EXPECTED = "Sweeps must be an object of monmdp.Sweep, or a list of them"
#: The largest numbers of combinations of environment, monitor and agent, and of runs of a sweep.
MOST_CELLS, MOST_RUNS = 10**5, 10**7
#: Measured seconds per step, per byte of the agent's memory that a step touches, and per exact evaluation.
STEP_SECONDS, BYTE_SECONDS, EVALUATION_SECONDS = 1.8e-7, 2e-10, 1e-5
#: Measured bytes of a process with JAX and its programs.
PROCESS_BYTES = 900_000_000


@dataclass(frozen=True)
class Sweep:
    """Rows to be multiplied; entries are names with options, as in "Ask(cost=0.5)", objects, or grids.

    Environments may also be those without a table: "CartPole" and others of `monmdp.gym.worlds`, or a `LiveWorld`.

    A grid is "Ask(cost={0.1, 0.5})", or what `monmdp.grid` returns. In a TOML file it can also be
    {name = "Ask", grid = {cost = [0.1, 0.5]}}.
    steps: the same number for all runs; without it, each problem's number in the paper times `budget`.
    """

    environments: Sequence[Any] = tuple(DEFAULT_STEPS)
    monitors: Sequence[Any] = PAPER_MONITORS
    agents: Sequence[Any] = PAPER_AGENTS
    seeds: int | Sequence[int] = 100
    steps: int | None = None
    budget: float = 1.0
    points: int | None = None
    evaluation: str = "exact"
    discount: float = 0.99

    def jobs(self) -> list[Job]:
        """One job per environment, monitor and agent, in order; jobs of one problem share it."""
        environments, monitors, agents = (_rows(self, name) for name in ("environments", "monitors", "agents"))
        check.discount(self.discount)
        if (cells := len(environments) * len(monitors) * len(agents)) > MOST_CELLS:
            sizes = f"{len(environments):,} environments × {len(monitors):,} monitors × {len(agents):,} agents"
            raise MonMDPError(f"A sweep can have {MOST_CELLS:,} cells, not {cells:,} ({sizes}); choose smaller grids.")
        jobs: list[Job] = []
        for environment, monitor in itertools.product(environments, monitors):
            if (world := live_world(environment)) is not None:
                live = LiveProblem(world, MONITORS.build(monitor), self.discount)
                steps = self._steps(partial(getattr, world, "steps"))
                jobs += [LiveJob(live, agent, steps, self.points) for agent in agents]
                continue
            problem = make(environment, monitor, discount=self.discount)
            steps = self._steps(partial(paper_steps, problem, variants=True))
            jobs += [paper_job(problem, agent, steps, self.points, self.evaluation) for agent in agents]
        return jobs

    def _steps(self, usual: Callable[[], int]) -> int:
        """The number of training steps; usual: the problem's own."""
        budget = check.finite(self.budget, "The budget", least=0.0)
        if budget == 0.0:
            raise MonMDPError("The budget must be above 0, such as 0.1 for a tenth of the paper's training steps.")
        if self.steps is None:
            return max(1, round(usual() * budget))
        if budget != 1.0:
            raise MonMDPError("Specify the number of training steps or a budget, a part of the paper's, not both.")
        return self.steps


def live_world(environment: Any) -> LiveWorld | None:
    """The environment without a table that is meant, such as "CartPole", or None."""
    if isinstance(environment, str):
        return WORLDS.build(environment) if parse_spec(environment)[0] in WORLDS else None
    return environment if isinstance(environment, LiveWorld) else None


def _rows(sweep: Sweep, name: str) -> list[Any]:
    """The entries of a sweep's list, with grids, also lists that `grid` returned, replaced by their combinations."""
    entries = getattr(sweep, name)
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise MonMDPError(f"The {name} of a sweep must be a list, not {shown(entries)}.")
    if not entries:
        raise MonMDPError(f"A sweep needs at least one of its {name}.")
    parts = (part for entry in entries for part in (entry if isinstance(entry, list) else [entry]))
    return [variant for part in parts for variant in _variants(part, name)]


def _variants(entry: Any, name: str) -> list[Any]:
    """The variants of an entry: a spec, in which braces are a grid, a table of a TOML file, or an object."""
    if not isinstance(entry, dict):
        return grid(entry) if isinstance(entry, str) else [entry]
    values = entry.get("grid", {})
    if not {"name"} <= entry.keys() <= {"name", "grid"} or not isinstance(values, dict):
        example = 'such as {name = "Ask", grid = {cost = [0.1, 0.5]}}'
        raise MonMDPError(f"A table in {name} has a name and a grid, {example}, not {shown(entry)}.")
    return grid(check.instance(entry["name"], str, f"The name of a table in {name} must be text"), **values)


def read_sweeps(path: Path) -> list[Sweep]:
    """Sweeps from a TOML file: one [[sweep]] table each, with the fields of `Sweep`; `envs` means `environments`."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise MonMDPError(f"{path} cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise MonMDPError(f"{path} has too many arrays or tables inside each other.") from None
    except (ValueError, OverflowError) as error:  # not TOML, not UTF-8, or a number with thousands of digits
        raise MonMDPError(f"{path} is not a TOML file: {error}.") from None
    tables = content.pop("sweep", None)
    if not isinstance(tables, list) or not tables or content or not all(isinstance(row, dict) for row in tables):
        raise MonMDPError(f"{path} must consist of [[sweep]] tables, and nothing else.")
    for table in tables:
        if "envs" in table and table.setdefault("environments", table["envs"]) is not table.pop("envs"):
            raise MonMDPError(f"In {path}, give a sweep environments or envs, which mean the same, not both.")
    return [construct(Sweep, table) for table in tables]


def narrowed(sweeps: Iterable[Sweep], **fields: Any) -> list[Sweep]:
    """The same sweeps with some fields replaced; a field that is None stays as it is.

    If the sweeps have all given environments, or monitors, each keeps those that it has, since a monitor may fit one
    environment only; sweeps without any go.
    """
    given, sweeps = {name: value for name, value in fields.items() if value is not None}, list(sweeps)
    for name in ("environments", "monitors"):
        asked = {_plain(entry) for entry in given.get(name, ())}
        if asked and asked <= {_plain(entry) for sweep in sweeps for entry in getattr(sweep, name)}:
            del given[name]
            kept: list[tuple[Sweep, Any]] = [
                (sweep, [entry for entry in getattr(sweep, name) if _plain(entry) in asked]) for sweep in sweeps
            ]
            sweeps = [dataclasses.replace(sweep, **{name: own}) for sweep, own in kept if own]
    return [dataclasses.replace(sweep, **given) for sweep in sweeps]


def _plain(entry: Any) -> str:
    """An entry of a sweep without spaces and capitals, for comparison."""
    return "".join((entry if isinstance(entry, str) else repr(entry)).split()).casefold()


@dataclass(frozen=True, eq=False)
class Batch:
    """Some seeds of a job: the unit that an executor trains and that a file holds."""

    job: Job
    seeds: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.job.agent_name} in {self.job.problem.name}"

    @cached_property
    def identity(self) -> str:
        """The hash of the job's settings."""
        return identity(self.job.run_settings)

    @property
    def steps(self) -> int:
        """Training steps of all seeds."""
        return self.job.steps * len(self.seeds)

    @cached_property
    def progress(self) -> Integers:
        """Training steps and recording points done, [seed, 2]; the executor that trains this batch updates it."""
        return np.zeros((len(self.seeds), 2), np.int64)

    @property
    def steps_done(self) -> int:
        """Training steps done so far, of all seeds."""
        return int(self.progress[:, 0].sum())

    @cached_property
    def seconds(self) -> float:
        """Estimated training time on one core."""
        job = self.job
        touched = memory_bytes(job.agent, job.world) / (job.world.n_states * job.world.n_actions)
        planning = planning_point = 0.0
        if isinstance(job.agent, HasTimeEstimate):
            planning, planning_point = job.agent.planning_seconds(job.world)
        step = STEP_SECONDS + touched * BYTE_SECONDS + planning
        return (job.steps * step + len(job.point_steps) * (EVALUATION_SECONDS + planning_point)) * len(self.seeds)

    @cached_property
    def memory(self) -> int:
        """Estimated bytes of one running seed, with its process if it has one, and of the records of all seeds."""
        job = self.job
        records = 8 * (len(METRICS) + 1) * len(job.point_steps) * len(self.seeds)
        return memory_bytes(job.agent, job.world, job.steps) + records + PROCESS_BYTES * job.own_process


def requested(sweeps: Sweep | Iterable[Sweep]) -> list[Batch]:
    """Every job of some sweeps once, with all seeds that any of the sweeps asks for."""
    jobs: dict[str, Job] = {}
    seeds: dict[str, set[int]] = {}
    given = [sweeps] if isinstance(sweeps, Sweep) else check.instance(sweeps, Iterable, SWEEPS_EXPECTED)
    for sweep in given:
        check.instance(sweep, Sweep, SWEEPS_EXPECTED)
        chosen = as_seeds(sweep.seeds)
        new_jobs = sweep.jobs()
        if (runs := len(chosen) * len(new_jobs)) > MOST_RUNS:
            raise MonMDPError(f"A sweep can have {MOST_RUNS:,} runs, not {runs:,}; choose fewer seeds.")
        for job in new_jobs:
            key = identity(job.run_settings)
            jobs.setdefault(key, job)
            seeds.setdefault(key, set()).update(chosen)
    return [Batch(job, tuple(sorted(seeds[key]))) for key, job in jobs.items()]


def cut(batch: Batch, size: int) -> list[Batch]:
    """A batch as batches of at most `size` seeds."""
    return [Batch(batch.job, batch.seeds[start : start + size]) for start in range(0, len(batch.seeds), size)]


def merged(batches: Iterable[Batch]) -> list[Batch]:
    """All seeds of each job in one batch: a GPU trains them together, and few large files are saved faster."""
    seeds: dict[Job, list[int]] = {}
    for batch in batches:
        seeds.setdefault(batch.job, []).extend(batch.seeds)
    return [Batch(job, tuple(sorted(chosen))) for job, chosen in seeds.items()]


def remaining(requests: Iterable[Batch], done: Mapping[str, set[int]], shard: tuple[int, int]) -> list[Batch]:
    """The batches of shard i of n that are not done yet, longest first; done: identity → seeds.

    Batches are cut, sorted and assigned to shards before finished seeds are left out, so that every shard and every
    resumed sweep cuts them in the same places, and shards take about equally long.
    """
    batches = [part for request in requests for part in cut(request, request.job.batch)]
    left = []
    for batch in _longest_first(batches)[shard[0] - 1 :: shard[1]]:
        seeds = tuple(seed for seed in batch.seeds if seed not in done.get(batch.identity, ()))
        if seeds:
            left.append(Batch(batch.job, seeds))
    return _longest_first(left)


def _longest_first(batches: Iterable[Batch]) -> list[Batch]:
    return sorted(batches, key=lambda batch: -batch.seconds)


def parse_shard(text: str) -> tuple[int, int]:
    """`2/4` → (2, 4): the second of four shards."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None:
        raise MonMDPError(f"A shard is written as 1/4, the first of four, not {text!r}.")
    index, count = int(match[1]), int(match[2])
    if not 1 <= index <= count:
        raise MonMDPError(f"There is no shard {index} of {count}; shards of {count} go from 1 to {max(count, 1)}.")
    return index, count
