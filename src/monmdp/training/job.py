"""One agent in one problem with every setting resolved; each seed is a run."""

import dataclasses
import hashlib
import json
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import count, islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from monmdp import check
from monmdp.agents.base import AGENTS, Agent, HasGoal, HasJob, HasRemarks, memory_bytes, new_memory, own_options
from monmdp.errors import InvalidActionError, MonMDPError, MonMDPWarning, plural, shown
from monmdp.exact.solve import TIE, greedy_policy, optimal_values, policy_return, solve
from monmdp.exact.structure import hidden_env_pairs, visible_bounds
from monmdp.kernels.compile import on_compilation
from monmdp.kernels.returns import new_evaluator, sampled_return
from monmdp.machine import check_memory, n_cores
from monmdp.problem import Floats, Integers, MonMDP, checked_problem
from monmdp.registry import is_built_in
from monmdp.simulation import Simulation
from monmdp.training.compile_errors import explained
from monmdp.training.curves import Curves
from monmdp.training.fingerprint import Code, code_of
from monmdp.training.learner import PlainAgent, interact, is_plain, policy_of, q_of, value_of
from monmdp.training.loop import advance_of, loop_of, new_cursor, stream_keys
from monmdp.training.metrics import Tally, new_record
from monmdp.world import compact, is_deterministic

EVALUATIONS = ("exact", "sampled", "none")
DEFAULT_POINTS = 1000
#: The largest numbers of recording points and of seeds.
MOST_POINTS, MOST_SEEDS = 10**7, 10**6
#: Test episodes of a sampled evaluation if anything is random.
TEST_EPISODES = 100
#: Increased when the same settings give other numbers than before, for all agents; for one agent, its `revision` is.
#: The sum is part of every identity.
TRAJECTORIES = 1

#: Agent class of a user → its code when it was compiled.
_COMPILED: WeakKeyDictionary[type, str] = WeakKeyDictionary()

#: The result of one seed: its record, and its final tables by name.
Finished = tuple[Any, dict[str, Any]]


class RunState(NamedTuple):
    """A run in progress, for `watch` and the page; arrays are over the states of a `World`, and may change later.

    state: the agent's. visits [S * A], q [S, A]. reward_model and reward_counts [environment pairs]; None without them.
    goal: the pair that the agent explores toward, -1 for none; goal_values [S, A]: the values that lead to it, or NaN.
    """

    step: int
    state: int
    tally: Tally
    visits: Integers
    q: Floats
    beta: float
    goal: int
    goal_values: Floats
    reward_model: Floats | None
    reward_counts: Integers | None


def recording_points(steps: int, points: int | None) -> Integers:
    """The training steps 0, T/points, … before which a point is recorded, and the end T."""
    count = min(DEFAULT_POINTS, steps) if points is None else points
    check.whole(count, 1, "The number of points", MOST_POINTS)
    if count > steps:
        raise MonMDPError(f"There cannot be more points ({count}) than steps ({steps}).")
    return np.array([k * steps // count for k in range(count)] + [steps], np.int64)


def as_seeds(seeds: int | Iterable[int]) -> list[int]:
    """Seeds from their number or a list, checked."""
    if isinstance(seeds, Iterable):
        chosen = [check.seed(seed) for seed in islice(seeds, MOST_SEEDS + 1)]
        check.whole(len(chosen), 0, "The number of seeds", MOST_SEEDS)
    else:
        chosen = list(range(check.whole(seeds, 1, "The number of seeds", MOST_SEEDS)))
    if not chosen:
        raise MonMDPError("Training needs at least one seed.")
    if len(set(chosen)) < len(chosen):
        raise MonMDPError("A seed is given twice; the same seed gives the same run.")
    return chosen


class Target:
    """What can be learned in a problem, and how training is measured there."""

    def __init__(
        self, problem: MonMDP, steps: int, points: int | None, evaluation: str, minimum_reward: float | None
    ) -> None:
        checked_problem(problem)
        if evaluation not in EVALUATIONS:
            raise MonMDPError(f"The evaluation is one of {', '.join(EVALUATIONS)}, not {shown(evaluation)}.")
        self.problem, self.evaluation = problem, evaluation
        self.steps = check.steps(steps, what="The number of steps")
        self.point_steps = recording_points(self.steps, points)
        self.world = compact(problem)
        self.episodes = {"exact": 0, "none": -1}.get(evaluation, 1 if is_deterministic(self.world) else TEST_EPISODES)
        self._minimum_reward = minimum_reward

    @cached_property
    def optimal_return(self) -> float:
        """The return of the optimal policy within the step limit."""
        q = optimal_values(self.problem, self.problem.reward)
        return policy_return(self.problem, greedy_policy(q, TIE * self.problem.scale))

    @cached_property
    def target_return(self) -> float:
        """The return that can be learned: that of the minimax policy if some rewards can never be observed."""
        if not len(hidden_env_pairs(self.problem)):
            return self.optimal_return
        lowest = self._minimum_reward
        lowest = visible_bounds(self.problem).minimum_reward if lowest is None else lowest
        return solve(self.problem, minimum_reward=lowest).cautious_return

    def settings(
        self, agent: str, agent_class: str, options: Mapping[str, Any], agent_code: str | None = None, revision: int = 0
    ) -> dict[str, Any]:
        """Every setting that the numbers of a run depend on, as plain values.

        agent_code: the hash of the agent's code if it is not built in. The code of environments and monitors need not
        be known: the hash of the problem is one of the arrays that they become.
        """
        code = {} if agent_code is None else {"agent_code": agent_code}
        return {
            **code,
            "trajectories": TRAJECTORIES + revision,
            "environment": self.problem.environment.name,
            "monitor": self.problem.monitor.name,
            "agent": agent,
            "agent_class": agent_class,
            "agent_options": {name: _plain(value) for name, value in options.items()},
            "steps": self.steps,
            "points": len(self.point_steps) - 1,
            "evaluation": self.evaluation,
            "discount": _plain(self.problem.discount),
            "problem": self.problem.digest,
        }

    def collect(self, settings: dict[str, Any], seeds: list[int], finished: list[Finished], seconds: float) -> Curves:
        """Curves from finished seeds."""
        records = [record for record, _ in finished]
        tables = [table for _, table in finished]
        return Curves(
            problem=self.problem,
            agent=settings["agent"],
            seeds=seeds,
            steps=self.point_steps,
            recorded={name: np.stack([getattr(record, name) for record in records]) for name in records[0]._fields},
            visit_counts=on_all_states(self.problem, [table["visits"] for table in tables], 0),
            q=on_all_states(self.problem, [table["q"] for table in tables], np.nan),
            reward_model=np.stack([table["reward_model"] for table in tables]),
            optimal_return=self.optimal_return,
            target_return=self.target_return,
            remarks=[[self._sentence(*remark) for remark in table["remarks"]] for table in tables],
            evaluation=self.evaluation,
            settings=settings,
            seconds=seconds,
            policies=[table.get("policy") for table in tables],
        )

    def _sentence(self, env_pair: int, remark: str) -> str:
        """A remark about an environment pair as a sentence."""
        table = self.problem.environment
        state, action = divmod(env_pair, len(table.actions))
        return f"The reward of {table.actions[action]} in {table.state_label(state)} was {remark}."


class Job(Target):
    """A compiled agent in a problem; seeds share it.

    defaults: values for options of the agent that are None, before the agent's own defaults; a minimum_reward among
    them is also the lower bound for rewards that can never be observed.
    """

    agent_code: str | None = None
    #: Runs of all jobs with the same program can be trained together, `lanes` of them; None: one run at a time.
    program: Hashable = None
    lanes = 1
    #: Whether runs are faster on an accelerator, if a machine of a cluster has one.
    uses_accelerator = False
    #: Whether a run holds Python's lock most of the time, so that runs side by side need a process each.
    own_process = False
    #: Seeds per batch of a sweep: few, so that little is lost when it is stopped, and enough for files of a reasonable
    #: size.
    batch = 25
    #: Whether the finished tables of an agent with networks have its policy.
    keeps_policies = False
    #: What `watch` says before the first step.
    preparing = "Preparing (the first run compiles kernels) …"
    _failure: MonMDPError | None = None

    def __init__(
        self,
        problem: MonMDP,
        agent: Agent | str,
        steps: int,
        points: int | None = None,
        evaluation: str = "exact",
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        defaults = defaults or {}
        super().__init__(problem, steps, points, evaluation, defaults.get("minimum_reward"))
        given = AGENTS.build(agent)
        self.agent_name, self.agent = given.name, given.filled(defaults)
        self.agent = self.agent.filled(self.agent.defaults(visible_bounds(problem)))
        kernels: Any = type(self.agent)
        self.loop = loop_of(kernels)
        if not is_built_in(kernels):
            code = code_of(kernels)
            _report_unused(kernels.__name__, own_options(kernels), code)
            self.agent_code = code.digest
            if _COMPILED.setdefault(kernels, code.digest) != code.digest:
                raise MonMDPError(
                    f"Something that the code of {kernels.__name__} uses was changed after it was compiled, such as a "
                    "global constant; define its kernels and its class again."
                )

    @cached_property
    def run_settings(self) -> dict[str, Any]:
        """The settings of this job's runs."""
        options = {field.name: getattr(self.agent, field.name) for field in dataclasses.fields(self.agent)}
        kind = type(self.agent)
        return self.settings(self.agent_name, kind.__name__, options, self.agent_code, kind.revision)

    def workers(self, threads: int | None = None) -> int:
        """Number of seeds that can run side by side, limited by cores and memory."""
        wanted = n_cores() if threads is None else check.whole(threads, 1, "The number of threads")
        need, pairs = memory_bytes(self.agent, self.world, self.steps), self.world.n_states * self.world.n_actions
        runner = f"A seed of {self.agent_name.partition('(')[0]} in {self.problem.name}"
        advice = "choose a smaller problem, or an agent without a quadratic table, such as DirectedModel"
        room = check_memory(need, f"{runner} with {plural(pairs, 'pair')} and {plural(self.steps, 'step')}", advice)
        return max(1, min(wanted, room // max(need, 1)))

    def run(self, seed: int, record: Any, progress: Integers, stop: Integers) -> Finished:
        """Train one seed; a non-zero stop [1] ends it soon and leaves its record incomplete."""
        return record, self.tables(self._run(seed, self.point_steps, record, progress, stop))

    def run_together(
        self, runs: Sequence[tuple["Job", int]], progress: Sequence[Integers], stop: Integers
    ) -> list[Finished | Exception]:
        """Train at most `lanes` runs of this program, jobs and seeds; a run that fails does not stop the others."""
        results: list[Finished | Exception] = []
        for (job, seed), own in zip(runs, progress, strict=True):
            try:
                results.append(job.run(seed, new_record(len(job.point_steps)), own, stop))
            except Exception as error:
                results.append(error)
        return results

    def prepare(self, announce: Callable[[str], None] | None = None) -> None:
        """Compile the loop, or load it from disk, so that the time of a run does not include it.

        announce: called with a sentence before the loop is compiled.
        """
        name, kept = type(self.agent).__name__, is_built_in(type(self.agent))
        sentence = f"Compiling {name} (once{', later runs load it' if kept else ' per process'}) …"
        with on_compilation(self.loop, lambda: announce(sentence) if announce is not None else None):
            self._run(0, self.point_steps[:0], new_record(1), np.zeros(2, np.int64), np.zeros(1, np.int64))

    def _run(self, seed: int, point_steps: Integers, record: Any, progress: Integers, stop: Integers) -> Any:
        """The memory of one seed after training up to the last of some recording points."""
        if self._failure is not None:
            raise self._failure
        memory, keys = self.new_memory(seed), stream_keys(seed)
        try:
            self.loop(
                self.world, memory, keys, new_cursor(self.world, keys), Tally(), point_steps, self.episodes,
                new_evaluator(self.world), record, progress, stop,
            )  # fmt: skip
        except InvalidActionError:
            raise MonMDPError(
                f"act of {type(self.agent).__name__} returned an action that is not a whole number from 0 to "
                f"{self.world.n_actions - 1}."
            ) from None
        except Exception as error:
            self._failure = explained(type(self.agent), memory, error)
            if self._failure is None:
                raise
            raise self._failure from None
        return memory

    def new_memory(self, seed: int) -> Any:
        """The agent's memory before its first step."""
        return new_memory(self.agent, self.world, self.steps, seed)

    def follow(self, seed: int) -> Callable[[int], RunState]:
        """A function that trains a seed to a step, not before the last one, and returns what is inside the run then."""
        agent, keys = self.agent, stream_keys(seed)
        kernels: Any = type(agent)
        memory, cursor, tally = self.new_memory(seed), new_cursor(self.world, keys), Tally()
        progress, stop = np.zeros(2, np.int64), np.zeros(1, np.int64)

        def advance(until: int) -> RunState:
            nonlocal cursor, tally
            cursor, tally = advance_of(kernels)(self.world, memory, keys, cursor, tally, until, progress, stop)
            kernels.plan(memory, cursor.step)
            goal, values = agent.goal(memory) if isinstance(agent, HasGoal) else (-1, np.full(memory.q.shape, np.nan))
            return RunState(
                int(cursor.step), int(cursor.state), tally, memory.visits, memory.q, kernels.beta(memory, cursor.step),
                goal, values, getattr(memory, "reward_model", None), getattr(memory, "reward_counts", None),
            )  # fmt: skip

        return advance

    def tables(self, memory: Any) -> dict[str, Any]:
        """The final tables of a memory."""
        return {
            "visits": memory.visits,
            "q": memory.q,
            "reward_model": getattr(memory, "reward_model", np.zeros(0)),
            "remarks": self.agent.remarks(memory) if isinstance(self.agent, HasRemarks) else [],
        }


class PlainJob(Job):
    """A learner in plain Python in a problem; seeds share it."""

    def __init__(
        self, problem: MonMDP, agent: PlainAgent, steps: int, points: int | None = None, evaluation: str = "exact",
        minimum_reward: float | None = None,
    ) -> None:  # fmt: skip
        Target.__init__(self, problem, steps, points, evaluation, minimum_reward)
        code = code_of(agent.source)
        _report_unused(agent.source.__name__, agent.options, code)
        self.agent: Any = agent
        self.agent_name, self.agent_code = agent.name, code.digest

    @cached_property
    def run_settings(self) -> dict[str, Any]:
        """The settings of this job's runs."""
        return self.settings(self.agent_name, self.agent.source.__name__, self.agent.options, self.agent_code)

    def prepare(self, announce: Callable[[str], None] | None = None) -> None:
        """Nothing is compiled."""

    def follow(self, seed: int) -> Callable[[int], RunState]:
        """Not possible."""
        raise MonMDPError(
            f"{self.agent_name} is not compiled; only compiled agents and those with networks can be watched while "
            "they learn."
        )

    def run(
        self,
        seed: int,
        record: Any,
        progress: Integers,
        stop: Integers,
        watch: Callable[[int, int], None] | None = None,
    ) -> Finished:
        """Train one seed; watch is called with the seed and the steps done at every recording point."""
        problem, learner = self.problem, self.agent.learner(self.problem, seed)
        key, clock, points = stream_keys(seed).evaluation, 0, count(1)

        def evaluate(step: int) -> float:
            nonlocal clock
            progress[:] = step, next(points)
            if watch is not None:
                watch(seed, step)
            if self.evaluation == "exact":
                return policy_return(problem, policy_of(problem, learner))
            if self.evaluation == "none":
                return np.nan
            q = np.zeros((self.world.n_states, self.world.n_actions))
            q[: self.world.n_acting_states] = q_of(problem, learner)[problem.reachable]
            value, clock = sampled_return(self.world, q, self.episodes, key, clock)
            return float(value)

        simulation = Simulation(problem, seed)
        result, visits = interact(simulation, learner, problem.env_pair, self.point_steps, evaluate, stop)
        q = np.asarray(value_of(learner, "q", np.full(visits.shape, np.nan)), np.float64)
        tables = {"visits": visits[problem.reachable], "q": q[problem.reachable]}
        return result, {**tables, "reward_model": np.zeros(0), "remarks": []}


def _report_unused(owner: str, options: Iterable[str], code: Code) -> None:
    """Warn of options that no code reads; not where the code reads all fields at once."""
    if code.reads.isdisjoint(("__dict__", "asdict", "astuple", "fields", "replace", "vars")):
        for name in options:
            if name not in code.reads:
                _warn_once(f"The option {name!r} of {owner} changes nothing: its kernels and methods do not read it.")


@cache
def _warn_once(message: str) -> None:
    warnings.warn(message, MonMDPWarning, stacklevel=4)


def identity(settings: Mapping[str, Any]) -> str:
    """A hash of settings: runs that differ in any of them never share results."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def job_of(
    problem: MonMDP,
    agent: Any,
    steps: int,
    points: int | None = None,
    evaluation: str = "exact",
    defaults: Mapping[str, Any] | None = None,
) -> Job:
    """The job of a compiled agent or of one in plain Python."""
    if is_plain(agent):
        return PlainJob(problem, PlainAgent(agent), steps, points, evaluation, (defaults or {}).get("minimum_reward"))
    built = AGENTS.build(agent)
    if isinstance(built, HasJob):
        own: Job = built.job(problem, steps, points, evaluation, defaults)
        return own
    return Job(problem, built, steps, points, evaluation, defaults)


def on_all_states(problem: MonMDP, tables: list[np.ndarray], missing: float) -> np.ndarray:
    """Tables over the states of a `World` → [table, S, A] over all states."""
    stacked = np.stack(tables).reshape(len(tables), -1, problem.n_actions)
    full = np.full((len(tables), problem.n_states, problem.n_actions), missing, stacked.dtype)
    full[:, problem.reachable] = stacked[:, : int(problem.reachable.sum())]
    return full


def _plain(value: Any) -> Any:
    """An option as a JSON value."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return f"{type(value).__name__} {code_of(value).digest}"
