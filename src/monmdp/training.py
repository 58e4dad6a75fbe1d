"""Many seeds of one agent in one problem, side by side on all cores."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from monmdp import check
from monmdp.agents.base import AGENTS, Agent
from monmdp.curves import Curves
from monmdp.engine.evaluation import new_evaluator
from monmdp.engine.loop import STREAMS, Record, loop_of, new_record
from monmdp.engine.memory import SHARE, available_bytes, readable
from monmdp.engine.random import stream
from monmdp.engine.world import World, compact, is_deterministic
from monmdp.errors import MonMDPError
from monmdp.experiments.protocol import agent_defaults, paper_steps
from monmdp.model import Floats, Integers, MonMDP
from monmdp.solve import greedy_policy, optimal_values, policy_return


class Status(NamedTuple):
    """How far each seed is, [seed]: steps done, and what its last recording point says."""

    done: Integers
    steps: int
    returns: Floats
    observed: Integers


#: Called now and then while seeds train.
Progress = Callable[[Status], None]
EVALUATIONS = ("exact", "sampled", "none")
DEFAULT_POINTS = 1000
#: Test episodes of a sampled evaluation where anything is random.
TEST_EPISODES = 100


def train(
    problem: MonMDP,
    agent: Agent | str = "Directed",
    seeds: int | Iterable[int] = 1,
    steps: int | None = None,
    points: int | None = None,
    evaluation: str = "exact",
    threads: int | None = None,
    progress: Progress | None = None,
) -> Curves:
    """Train an agent, once a seed, and evaluate its greedy policy at evenly spaced points and at the end.

    seeds: how many, or which. steps: for the paper's problems, by default the paper's. points: by default
    1,000, at most one a step. evaluation: "exact", "sampled" as in the paper, or "none". The same seed gives
    the same result, whatever the threads, the other seeds and the points.
    """
    chosen = _seeds(seeds)
    length = paper_steps(problem) if steps is None else check.whole(steps, 1, "The number of steps")
    point_steps = recording_points(length, points)
    if evaluation not in EVALUATIONS:
        raise MonMDPError(f"The evaluation is one of {', '.join(EVALUATIONS)}, not {evaluation!r}.")
    given = as_agent(agent)
    learner = given.resolved(agent_defaults(problem, type(given).__name__))
    world = compact(problem)
    workers = _workers(learner, world, problem, len(chosen), threads)
    episodes = {"exact": 0, "none": -1}.get(evaluation, 1 if is_deterministic(world) else TEST_EPISODES)

    started = time.perf_counter()
    job = _Job(learner, world, length, point_steps, episodes)
    finished = _in_parallel(job, chosen, workers, progress)
    best = greedy_policy(optimal_values(problem, problem.reward))
    records = [record for record, _ in finished]
    tables = [memory for _, memory in finished]
    return Curves(
        problem=problem,
        agent=given.name,
        seeds=chosen,
        steps=point_steps,
        **{name: np.stack([getattr(record, name) for record in records]) for name in Record._fields},
        visit_counts=_expand(problem, [table["visits"] for table in tables], 0),
        q=_expand(problem, [table["q"] for table in tables], np.nan),
        reward_model=np.stack([table["reward_model"] for table in tables]),
        optimal_return=policy_return(problem, best),
        evaluation=evaluation,
        seconds=time.perf_counter() - started,
    )


def as_agent(given: Any) -> Agent:
    """An agent from a name such as "Directed(beta_bar=0.1)", or an object."""
    if isinstance(given, Agent):
        return given
    if isinstance(given, str):
        return AGENTS.build(given)
    raise MonMDPError(f"An agent is a name or an Agent, not {given!r}.")


def recording_points(steps: int, points: int | None) -> Integers:
    """The training steps 0, T/points, … before which is recorded, and the end T."""
    count = min(DEFAULT_POINTS, steps) if points is None else check.whole(points, 1, "The number of points")
    if count > steps:
        raise MonMDPError(f"There cannot be more points ({count}) than steps ({steps}).")
    return np.array([k * steps // count for k in range(count)] + [steps], np.int64)


def _seeds(seeds: int | Iterable[int]) -> list[int]:
    if isinstance(seeds, Iterable):
        chosen = [check.whole(seed, 0, "A seed") for seed in seeds]
    else:
        chosen = list(range(check.whole(seeds, 1, "The number of seeds")))
    if not chosen:
        raise MonMDPError("Training needs at least one seed.")
    if len(set(chosen)) < len(chosen):
        raise MonMDPError("Each seed may be given once only: the same seed gives the same run.")
    return chosen


def _workers(agent: Agent, world: World, problem: MonMDP, seeds: int, threads: int | None) -> int:
    """How many seeds run side by side: no more than cores, seeds and memory allow."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = cores if threads is None else check.whole(threads, 1, "The number of threads")
    need, room = agent.memory_bytes(world), int(available_bytes() * SHARE)
    if need > room:
        raise MonMDPError(
            f"{type(agent).__name__} in {problem.name} needs {readable(need)} of memory a seed for its "
            f"{world.n_states * world.n_actions:,} pairs, and {readable(room)} can be used; choose a smaller "
            "problem, or an agent without a quadratic table, such as Naive or UCB."
        )
    return max(1, min(wanted, seeds, room // max(need, 1)))


class _Job:
    """Everything that seeds share."""

    def __init__(self, agent: Agent, world: World, steps: int, point_steps: Integers, episodes: int) -> None:
        self.agent, self.world, self.steps = agent, world, steps
        self.point_steps, self.episodes = point_steps, episodes
        kind: Any = type(agent)
        self.loop = loop_of(kind)
        self.stop = np.zeros(1, np.int64)

    def run(self, seed: int, record: Record, progress: Integers) -> tuple[Record, dict[str, Any]]:
        memory = self.agent.memory(self.world, self.steps, seed)
        keys = np.array([stream(seed, role) for role in STREAMS], np.uint64)
        evaluator = new_evaluator(self.world)
        self.loop(self.world, memory, keys, self.point_steps, self.episodes, evaluator, record, progress, self.stop)
        known = getattr(memory, "reward_model", np.zeros(0))
        return record, {"visits": memory.visits, "q": memory.q, "reward_model": known}


def _in_parallel(
    job: _Job, seeds: list[int], workers: int, progress: Progress | None
) -> list[tuple[Record, dict[str, Any]]]:
    """Run all seeds on threads (the loop holds no lock); an interrupt stops them at their next point."""
    done = np.zeros((len(seeds), 2), np.int64)
    records = [new_record(len(job.point_steps)) for _ in seeds]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(job.run, seed, records[i], done[i]) for i, seed in enumerate(seeds)]
        try:
            waiting = set(futures)
            while waiting:
                finished, waiting = wait(waiting, timeout=0.1, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()  # raises what went wrong at once
                if progress is not None:
                    progress(_status(job, records, done))
        except BaseException:
            job.stop[0] = 1
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _status(job: _Job, records: list[Record], done: Integers) -> Status:
    last = [max(int(points) - 1, 0) for points in done[:, 1]]
    return Status(
        done=done[:, 0].copy(),
        steps=job.steps,
        returns=np.array([record.returns[point] for record, point in zip(records, last, strict=True)]),
        observed=np.array([record.observed[point] for record, point in zip(records, last, strict=True)]),
    )


def _expand(problem: MonMDP, tables: list[np.ndarray], missing: float) -> np.ndarray:
    """Tables over reachable states → [seed, S, A] over all states."""
    kind = tables[0].dtype
    full = np.full((len(tables), problem.n_states, problem.n_actions), missing, kind)
    for i, table in enumerate(tables):
        full[i, problem.reachable] = table.reshape(-1, problem.n_actions)
    return full
