"""Many seeds of one agent in one problem, side by side on all cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from monmdp import check
from monmdp.agents.base import AGENTS, Agent
from monmdp.cuda.backend import chosen as chosen_device
from monmdp.cuda.backend import is_suitable, train_on_gpu
from monmdp.cuda.schedule import Work
from monmdp.errors import MonMDPError
from monmdp.exact.solve import greedy_policy, optimal_values, policy_return, solve
from monmdp.exact.structure import hidden_env_pairs
from monmdp.machine import SHARE, available_bytes, n_cores, readable
from monmdp.paper.protocol import agent_defaults, minimum_reward, paper_steps
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.training.curves import Curves
from monmdp.training.evaluation import new_evaluator
from monmdp.training.loop import Record, loop_of, new_cursor, new_record, stream_keys
from monmdp.world import compact, is_deterministic


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
    device: str = "cpu",
) -> Curves:
    """Train an agent, once a seed, and evaluate its greedy policy at evenly spaced points and at the end.

    seeds: how many, or which. steps: for the paper's problems, by default the paper's. points: by default
    1,000, at most one a step. evaluation: "exact", "sampled" as in the paper, or "none". The same seed gives
    the same result, whatever the threads, the other seeds, the points and the device: "cpu", "cuda" for a GPU, or
    "auto" for a GPU if there is one that can run the agent.
    """
    chosen = as_seeds(seeds)
    job = Job(problem, agent, steps, points, evaluation)
    if chosen_device(device) == "cuda" and (device == "cuda" or is_suitable(job)):
        return _on_gpu(job, chosen, progress)
    workers = min(len(chosen), job.workers(threads))
    started = time.perf_counter()
    finished = _in_parallel(job, chosen, workers, progress)
    return job.collect(chosen, finished, time.perf_counter() - started)


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


def as_seeds(seeds: int | Iterable[int]) -> list[int]:
    """Seeds from their number or a list, checked."""
    if isinstance(seeds, Iterable):
        chosen = [check.whole(seed, 0, "A seed") for seed in seeds]
    else:
        chosen = list(range(check.whole(seeds, 1, "The number of seeds")))
    if not chosen:
        raise MonMDPError("Training needs at least one seed.")
    if len(set(chosen)) < len(chosen):
        raise MonMDPError("Each seed may be given once only: the same seed gives the same run.")
    return chosen


#: What one seed leaves behind: its curve, and its final tables by name.
Finished = tuple[Record, dict[str, Any]]


class Job:
    """One agent in one problem with everything resolved; seeds share it."""

    def __init__(
        self,
        problem: MonMDP,
        agent: Agent | str,
        steps: int | None = None,
        points: int | None = None,
        evaluation: str = "exact",
    ) -> None:
        if evaluation not in EVALUATIONS:
            raise MonMDPError(f"The evaluation is one of {', '.join(EVALUATIONS)}, not {evaluation!r}.")
        if not isinstance(problem, MonMDP):
            raise MonMDPError(f"Training needs a problem from monmdp.make, not {problem!r}.")
        given = as_agent(agent)
        self.problem, self.agent_name, self.evaluation = problem, given.name, evaluation
        self.agent = given.resolved(agent_defaults(problem, type(given).__name__))
        self.steps = paper_steps(problem) if steps is None else check.whole(steps, 1, "The number of steps")
        self.point_steps = recording_points(self.steps, points)
        self.world = compact(problem)
        self.episodes = {"exact": 0, "none": -1}.get(evaluation, 1 if is_deterministic(self.world) else TEST_EPISODES)
        kind: Any = type(self.agent)
        self.loop = loop_of(kind)
        self.stop = np.zeros(1, np.int64)

    @cached_property
    def optimal_return(self) -> float:
        """What the optimal policy earns within the step limit."""
        best = greedy_policy(optimal_values(self.problem, self.problem.reward))
        return policy_return(self.problem, best)

    @cached_property
    def target_return(self) -> float:
        """What can be learned to earn: where some rewards can never be seen, what caution earns."""
        if not len(hidden_env_pairs(self.problem)):
            return self.optimal_return
        return solve(self.problem, minimum_reward=minimum_reward(self.problem)).cautious_return

    def workers(self, threads: int | None = None) -> int:
        """How many seeds can run side by side: no more than cores and memory allow."""
        wanted = n_cores() if threads is None else check.whole(threads, 1, "The number of threads")
        need, room = self.agent.memory_bytes(self.world, self.steps), int(available_bytes() * SHARE)
        if need > room:
            raise MonMDPError(
                f"{type(self.agent).__name__} in {self.problem.name} needs {readable(need)} of memory a seed for its "
                f"{self.world.n_states * self.world.n_actions:,} pairs and {self.steps:,} steps, and {readable(room)} "
                "can be used; choose a smaller problem, or an agent without a quadratic table, such as DirectedModel."
            )
        return max(1, min(wanted, room // max(need, 1)))

    def run(self, seed: int, record: Record, progress: Integers) -> Finished:
        """Train one seed; a stopped run leaves its record incomplete."""
        memory = self.agent.memory(self.world, self.steps, seed)
        keys = stream_keys(seed)
        self.loop(
            self.world, memory, keys, new_cursor(self.world, keys), self.point_steps, self.episodes,
            new_evaluator(self.world), record, progress, self.stop,
        )  # fmt: skip
        known = getattr(memory, "reward_model", np.zeros(0))
        remarks = self.agent.remarks(memory)
        return record, {"visits": memory.visits, "q": memory.q, "reward_model": known, "remarks": remarks}

    def _told(self, env_pair: int, remark: str) -> str:
        """A remark about an environment pair as a sentence."""
        table = self.problem.environment
        state, action = divmod(env_pair, len(table.actions))
        return f"The reward of {table.actions[action]} in {table.state_label(state)} was {remark}."

    def collect(self, seeds: list[int], finished: list[Finished], seconds: float) -> Curves:
        """Put finished seeds together."""
        records = [record for record, _ in finished]
        tables = [memory for _, memory in finished]
        return Curves(
            problem=self.problem,
            agent=self.agent_name,
            seeds=seeds,
            steps=self.point_steps,
            **{name: np.stack([getattr(record, name) for record in records]) for name in Record._fields},
            visit_counts=on_all_states(self.problem, [table["visits"] for table in tables], 0),
            q=on_all_states(self.problem, [table["q"] for table in tables], np.nan),
            reward_model=np.stack([table["reward_model"] for table in tables]),
            optimal_return=self.optimal_return,
            target_return=self.target_return,
            remarks=[[self._told(*remark) for remark in table["remarks"]] for table in tables],
            evaluation=self.evaluation,
            seconds=seconds,
        )


def _in_parallel(job: Job, seeds: list[int], workers: int, progress: Progress | None) -> list[Finished]:
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


def _on_gpu(job: Job, seeds: list[int], progress: Progress | None) -> Curves:
    """All seeds on a GPU, at once or in waves."""
    done = dict.fromkeys(seeds, 0)
    unknown = np.full(len(seeds), np.nan)

    def tell(parts: list[Work], steps: list[np.ndarray]) -> None:
        for part, found in zip(parts, steps, strict=True):
            done.update(zip(part.seeds, found[:, 0].tolist(), strict=True))
        if progress is not None:
            progress(Status(np.array(list(done.values())), job.steps, unknown, np.zeros(len(seeds), np.int64)))

    started = time.perf_counter()
    finished: dict[int, Finished] = {}
    for part, results in train_on_gpu([Work(job, tuple(seeds))], watcher=tell):
        finished.update(zip(part.seeds, results, strict=True))
    return job.collect(seeds, [finished[seed] for seed in seeds], time.perf_counter() - started)


def _status(job: Job, records: list[Record], done: Integers) -> Status:
    last = [max(int(points) - 1, 0) for points in done[:, 1]]
    return Status(
        done=done[:, 0].copy(),
        steps=job.steps,
        returns=np.array([record.returns[point] for record, point in zip(records, last, strict=True)]),
        observed=np.array([record.observed[point] for record, point in zip(records, last, strict=True)]),
    )


def on_all_states(problem: MonMDP, tables: list[np.ndarray], missing: float) -> np.ndarray:
    """Tables over the states of a `World` → [table, S, A] over all states."""
    kind = tables[0].dtype
    full = np.full((len(tables), problem.n_states, problem.n_actions), missing, kind)
    for i, table in enumerate(tables):
        acting = table.reshape(-1, problem.n_actions)[: int(problem.reachable.sum())]
        full[i, problem.reachable] = acting
    return full
