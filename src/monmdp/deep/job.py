"""A job of an agent with networks: seeds are trained side by side in one program, and evaluated exactly.

At every recording point the networks' action values of all states are read, and the greedy policy is evaluated with the
library's own exact return. What was counted is computed from the steps that the device recorded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from monmdp.agents.goals import given_up_remark
from monmdp.agents.schedules import schedule, value_at
from monmdp.deep.codes import Codes, radius, scale
from monmdp.deep.ensemble import PRIOR_ROOM, mean_prior
from monmdp.deep.given_up import given_up
from monmdp.deep.heads import new_bins
from monmdp.deep.inside import aims, in_world
from monmdp.deep.learner import Reading, advance, begin, read
from monmdp.deep.memory import accelerated, fitting, reserved, room
from monmdp.deep.networks import Layers
from monmdp.deep.observations import inputs_of, observations, picture_numbers
from monmdp.deep.policy import Policy
from monmdp.deep.replay import History
from monmdp.deep.sharing import LANES, Shared, shared_sizes
from monmdp.deep.state import Numbers, Plan, for_unit_vectors, monitor_size
from monmdp.deep.world import Sizes, draws_of, on_device, sizes_of
from monmdp.errors import MonMDPError
from monmdp.exact.structure import visible_bounds, visible_env_outcomes
from monmdp.kernels.compile import cache_folder, can_be_written
from monmdp.kernels.returns import exact_return, new_evaluator, sampled_return
from monmdp.machine import readable
from monmdp.problem import Integers, MonMDP
from monmdp.rng import stream
from monmdp.training.job import Finished, Job, RunState, Target
from monmdp.training.loop import fill_record, stream_keys
from monmdp.training.metrics import Tally, new_record

if TYPE_CHECKING:
    from monmdp.deep.agents import DeepAgent

#: The folder of compiled programs, unless the user has chosen one for JAX.
PROGRAMS = cache_folder().parent / "jax"
if jax.config.jax_compilation_cache_dir is None and can_be_written(PROGRAMS):
    jax.config.update("jax_compilation_cache_dir", str(PROGRAMS))

#: Steps between two checks of the stop flag; about a second.
LISTEN_EVERY = 100
#: Codes that noise may add, as a factor.
SPARE_CODES = 2
#: One lock per program: it is compiled once.
_COMPILING: dict[Hashable, Lock] = defaultdict(Lock)
#: The most programs at hand, before all are dropped: one for a CPU takes about 1,400 pieces of memory, and Linux gives
#: 65,530 to a process. Those that are still needed are loaded from disk again.
MOST_PROGRAMS = 20
_at_hand: set[Hashable] = set()
_counting = Lock()


class DeepJob(Job):
    """An agent with networks in a problem; seeds share it."""

    uses_accelerator = True
    _prepared = False

    def __init__(
        self, problem: MonMDP, agent: DeepAgent, steps: int, points: int | None = None, evaluation: str = "exact",
        defaults: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        defaults = defaults or {}
        Target.__init__(self, problem, steps, points, evaluation, defaults.get("minimum_reward"))
        self.agent_name, bounds = agent.name, visible_bounds(problem)
        self.agent: Any = agent.filled(defaults)
        self.agent = self.agent.filled(self.agent.defaults(bounds))
        self.view = observations(problem, agent.observe)
        self.inputs = inputs_of(self.view)
        if not self.lanes:
            raise MonMDPError(
                f"A seed of {self.agent_name} in {problem.name} needs about {readable(self.run_bytes)} of the "
                f"accelerator's memory, and {readable(room())} can be used; choose smaller layers, a smaller batch or "
                "fewer steps, or let JAX run on the CPU with JAX_PLATFORMS=cpu."
            )

    @property
    def run_bytes(self) -> int:
        """Approximate size of one run."""
        n_numbers, sizes = self.numbers.observations.shape[1], self.sizes
        world = self.world._replace(n_actions=self.plan.n_actions)
        agent = self.agent.filled({"bins": len(self.numbers.q_bins)})
        size: int = agent.memory_bytes(world, self.steps, n_numbers, self.plan.n_codes, self.plan.reach_outputs)
        return size + 4 * (6 * sizes.outcomes + sizes.states * sizes.actions * sizes.outcomes_of_pair)

    @property
    def lanes(self) -> int:  # type: ignore[override]
        """Runs in one program: one on a CPU, and on an accelerator those that fit; 0 if none does."""
        most = self._shared.lanes if self._shared else LANES
        return fitting(self.run_bytes, room(), most) if accelerated() else 1

    @property
    def program(self) -> Hashable:  # type: ignore[override]
        """Runs of all jobs with the same value can be trained in one program; a CPU trains one run at a time."""
        return self._program if accelerated() else None

    @cached_property
    def _program(self) -> Hashable:
        numbers, n_points = self.numbers, len(self.point_steps)  # runs are recorded at the same steps
        shapes = numbers.observations.shape, len(numbers.q_bins), len(numbers.reward_bins), numbers.noise is None
        return self.plan, self.sizes, *shapes, n_points

    @cached_property
    def _shared(self) -> Shared | None:
        """The sizes that this problem is filled up to on an accelerator; None if it keeps its own."""
        if not accelerated() or self.view.noise:
            return None
        return shared_sizes(self.world, self.inputs.table.shape[1], len(self._bins[0]))

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the problem's arrays on the device."""
        shared, plan = self._shared, self.plan
        if shared is None:
            return sizes_of(self.world)
        # an episode can start in every state, and some states are entered only at the end of one
        states = 2 * shared.states * plan.n_monitor_states
        return Sizes(states, plan.n_actions, states * plan.n_actions * shared.outcomes, shared.outcomes, states)

    @cached_property
    def plan(self) -> Plan:
        """What the program is compiled for."""
        agent, world, spare = self.agent, self.world, SPARE_CODES if self.view.noise else 1
        n_codes, n_env_actions = spare * world.n_env_states, world.n_actions // world.n_monitor_actions
        if self._shared:
            n_codes, n_env_actions = self._shared.states, self._shared.actions
        n_codes = agent.codes or n_codes
        return Plan(
            steps=self.steps,
            n_codes=n_codes,
            n_monitor_states=world.n_monitor_states,
            n_env_actions=n_env_actions,
            n_actions=n_env_actions * world.n_monitor_actions,
            hidden=tuple(agent.hidden),
            batch=agent.batch,
            every=agent.every,
            directed=agent.directed,
            pooled=getattr(agent, "pooled", False),
            heads=getattr(agent, "heads", 0),
            models=getattr(agent, "n", 0),
            smallest=getattr(agent, "k", 0),
            features=agent.features,
            exact=self._squared_radius == 0.0 and len(self.view.table) <= n_codes,
        )

    @cached_property
    def _squared_radius(self) -> float:
        """The squared distance from which on an observation has another code."""
        chosen, noise = self.agent.code_radius, self.view.noise
        return radius(noise, self.view.table.shape[1]) if chosen is None else chosen**2

    @cached_property
    def _bins(self) -> tuple[np.ndarray, np.ndarray]:
        """The bins of values and of rewards."""
        agent = self.agent
        rewards, values = self.ranges(float(getattr(agent, "bonus", 0.0)))
        prior = PRIOR_ROOM * getattr(agent, "prior_scale", 0.0)
        q_room, reward_room = prior * hasattr(agent, "heads"), prior * hasattr(agent, "n")
        q_bins = new_bins(values[0] - q_room, values[1] + q_room, agent.bins)
        return q_bins, new_bins(rewards[0] - reward_room, rewards[1] + reward_room, agent.bins)

    @cached_property
    def numbers(self) -> Numbers:
        """Options, observations and bins for the program."""
        agent, table, noise = self.agent, self.inputs.table, self.view.noise
        if self._shared:
            table = np.pad(table, ((0, self._shared.states - len(table)), (0, self._shared.inputs - table.shape[1])))
        # networks see inputs on the scale of their number: weights learn faster where few inputs stand for many numbers
        n_numbers, n_inputs, missing = self.view.table.shape[1], table.shape[1], table.shape[1] - len(self.inputs.rates)
        rates = np.pad((n_numbers / n_inputs) ** 0.5 * self.inputs.rates, (0, missing))
        monitors = monitor_size(self.plan, n_numbers) / monitor_size(self.plan, n_inputs)
        q_bins, reward_bins = self._bins
        line = schedule(agent.epsilon, self.steps, "The probability of a random action")
        epsilon = np.array([value_at(line, step) for step in range(self.steps)])
        numbers = Numbers(
            observations=table,
            rates=np.append(rates, np.full(self.plan.n_monitor_states, monitors)),
            pictures=picture_numbers(table),
            n_actions=self.world.n_actions,
            noise=noise or None,
            squared_radius=self._squared_radius,
            epsilon=epsilon,
            learning_rate=agent.learning_rate,
            last_learning_rate=agent.last_learning_rate,
            balance=agent.balance,
            tracking=agent.tracking,
            last_tracking=agent.last_tracking,
            q_bins=q_bins,
            reward_bins=reward_bins,
            minimum_reward=agent.minimum_reward,
            discount=self.world.discount,
            beta_bar=getattr(agent, "beta_bar", 0.0),
            goal_discount=getattr(agent, "goal_discount", 0.0),
            goal_steps=getattr(agent, "goal_steps", 0),
            bonus=getattr(agent, "bonus", 0.0),
            prior_scale=getattr(agent, "prior_scale", 0.0),
            share=getattr(agent, "share", 1.0),
            uses_model=agent.hidden_reward == "model",
            ignores=agent.hidden_reward == "ignore",
            sees_everything=agent.sees_everything,
        )
        return Numbers(*(None if number is None else np.asarray(number, np.float32) for number in numbers))

    def ranges(self, bonus: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Smallest and largest environment reward, and value."""
        return reward_ranges(self.problem, self.agent.minimum_reward, bonus)

    @property
    def preparing(self) -> str:  # type: ignore[override]
        """What is said before the program is compiled."""
        kind, place = type(self.agent).__name__, jax.default_backend()
        return f"Compiling {kind} for the {place} (about 20 s; later runs load it) …"

    def prepare(self, announce: Callable[[str], None] | None = None) -> None:
        """Compile the program, so that the time of a run does not include it."""
        with _COMPILING[self._program]:
            if self._prepared:
                return
            if announce is not None:
                announce(self.preparing)
            self._train([(self, 0)], [np.zeros(2, np.int64)], self.point_steps[:1], np.zeros(1, np.int64))
            self._prepared = True

    def run(self, seed: int, record: Any, progress: Integers, stop: Integers) -> Finished:
        """Train one seed; a non-zero stop [1] ends it soon and leaves its record incomplete."""
        (result,) = self.run_together([(self, seed)], [progress], stop)
        if isinstance(result, Exception):
            raise result
        return result

    def run_together(
        self, runs: Sequence[tuple[Job, int]], progress: Sequence[Integers], stop: Integers
    ) -> list[Finished | Exception]:
        """Train some runs of this program, at most `lanes`; a run that fails does not stop the others."""
        return self._train(runs, progress, self.point_steps, stop)

    def _train(
        self, runs: Sequence[tuple[Any, int]], progress: Sequence[Integers], point_steps: Integers, stop: Integers
    ) -> list[Finished | Exception]:
        """Train runs up to some recording points."""
        with reserved(self.lanes * self.run_bytes, room(), stop):  # nothing to wait for on a CPU
            trained = [Run(job, seed, own) for (job, seed), own in zip(runs, progress, strict=True)]
            if not stop[0]:
                self._train_now(trained, point_steps, stop)
        return [run.result() for run in trained]

    def _train_now(self, runs: list[Run], point_steps: Integers, stop: Integers) -> None:
        """The same, when there is memory for it. While the device trains, the last policies are evaluated."""
        with _counting:
            if len(_at_hand | {self._program}) > MOST_PROGRAMS:
                jax.clear_caches()
                _at_hand.clear()
            _at_hand.add(self._program)
        plan, numbers, device, draws, keys = self._inputs(runs)
        memories = begin(plan, numbers, device, draws, keys)
        before = 0
        for point, until in enumerate(map(int, point_steps)):
            while True:  # also before the first step, so that the program is compiled
                part = min(before + LISTEN_EVERY, until)
                memories = advance(plan, numbers, device, draws, memories, before, part)
                for run in runs:
                    run.evaluate_last()
                    run.progress[:] = before, point
                before = part
                jax.block_until_ready(memories.loss)
                if stop[0]:
                    return
                if before == until:
                    break
            reading = read(plan, numbers, device, memories, until)
            for lane, run in enumerate(runs):
                run.last = until, reading, lane
            if all(run.failure for run in runs):
                break
        history = jax.device_get(memories.history)
        for lane, run in enumerate(runs):
            run.evaluate_last()
            run.history = History(*(field[lane][:before] for field in history))
            if run.job.keeps_policies:
                kept = memories.codes, memories.mean, memories.fixed.get("q", [])
                run.policy = run.job.policy(run.seed, *jax.tree.map(itemgetter(lane), kept))
            run.progress[:] = before, len(point_steps)

    def _inputs(self, runs: Sequence[Run]) -> tuple[Any, ...]:
        """The plan and, for every lane of the program, numbers, problem, draws and key; lanes without a run repeat."""
        lanes = [*runs, *[runs[0]] * (self.lanes - len(runs))]
        jobs = {run.job: (run.job.numbers, on_device(run.job.world, self.sizes)) for run in runs}
        draws = {
            (run.job, run.seed): draws_of(run.seed, self.steps, bool(np.any(run.job.world.reward_noise)))
            for run in runs
        }
        each = [(*jobs[run.job], draws[run.job, run.seed]) for run in lanes]
        keys = np.array([divmod(stream(run.seed, "agent"), 2**32) for run in lanes], np.uint32)
        stacked = jax.device_put(jax.tree.map(lambda *arrays: np.stack(arrays), *each))
        return self.plan, *stacked, jax.random.wrap_key_data(keys)

    def follow(self, seed: int) -> Callable[[int], RunState]:
        """A function that trains a seed to a step, in the program of `run`, and returns what is inside it then."""
        run, before = Run(self, seed, np.zeros(2, np.int64)), 0
        plan, numbers, device, draws, keys = self._inputs([run])
        memories = begin(plan, numbers, device, draws, keys)

        def move(until: int) -> RunState:
            nonlocal memories, before
            for part in (*range(before + LISTEN_EVERY, until, LISTEN_EVERY), until):  # so that Ctrl-C is heard
                memories = jax.block_until_ready(advance(plan, numbers, device, draws, memories, before, part))
                before = part
            run.last = until, read(plan, numbers, device, memories, until), 0
            run.evaluate_last()
            if run.failure:
                raise run.failure
            state, history = jax.device_get((memories.state, memories.history))
            run.history = History(*(field[0][:until] for field in history))
            tally, visits = run.counted(new_record(1), np.array([until]))
            goal, values = -1, np.full(run.q.shape, np.nan)
            if plan.directed:
                aim = jax.device_get(aims(plan, numbers, device, memories, until))
                goal, values = in_world(aim, self.world, plan, run.history, run.pairs)
            counts = np.bincount(self.world.env_pair[run.pairs], run.history.known, self.world.n_env_pairs)
            return RunState(
                until, int(state[0]), tally, visits, run.q, run.betas[-1], goal, values, run.tables["reward_model"],
                counts.astype(np.int64),
            )  # fmt: skip

        return move

    def _possible(self, array: np.ndarray) -> np.ndarray:
        """The outputs of the problem's own actions among all, [..., heads * actions * bins] or [..., actions]."""
        n_bins = 1 if array.shape[-1] == self.plan.n_actions else len(self.numbers.q_bins)
        parts = array.reshape(*array.shape[:-1], -1, self.plan.n_actions, n_bins)[..., : self.world.n_actions, :]
        return parts.reshape(*array.shape[:-1], -1)

    def policy(self, seed: int, codes: Codes, layers: Layers, prior: Layers) -> Policy:
        """The greedy policy of a run with these codes, this network of action values and its prior, if it has one."""
        problem, (_, _, group, share, first) = self.problem, self.inputs
        prior = mean_prior(prior, self.numbers.prior_scale, self.plan.heads) if prior else []
        mean, factor, layers, prior = jax.device_get((*scale(codes), layers, prior))
        for each in (layers, prior) if prior else (layers,):  # for all numbers and unit vectors, with own actions
            own = for_unit_vectors(each[0], self.plan, len(mean))
            pictures, monitors = np.split(own["weights"], [len(mean)])
            each[0] = {**own, "weights": np.concatenate([share[:, None] * pictures[group], monitors])}
            each[-1] = {name: self._possible(array) for name, array in each[-1].items()}
        return Policy(
            agent=self.agent_name,
            problem=problem.name,
            seed=seed,
            shape=self.view.shape,
            monitor_states=tuple(map(str, problem.monitor.states)),
            actions=tuple(map(problem.action_label, range(problem.n_actions))),
            mean=first + share * mean[group],
            factor=factor,
            bins=self.numbers.q_bins,
            layers=tuple(layers),
            prior=tuple(prior),
        )


def reward_ranges(
    problem: MonMDP, minimum_reward: float, bonus: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Smallest and largest environment reward, and value, that an agent can know: hidden rewards do not count."""
    visible = visible_env_outcomes(problem)
    rewards = problem.environment.reward[visible]
    low, high = min(minimum_reward, *rewards, 0.0), max(minimum_reward, *rewards, 0.0)
    joint = visible[problem.monitor.env_outcome]
    shown = np.where(joint, problem.env_reward, minimum_reward) + problem.monitor.reward
    forever, ending = 1.0 / (1.0 - problem.discount), problem.terminated
    least, most = float(shown.min(initial=0.0)), float(shown[~ending].max(initial=0.0)) + bonus
    most = max(most * forever, float(shown[ending].max(initial=0.0)) + bonus)
    return (low, high), (least * forever, most)


class Run:
    """One seed on the host: the returns of its policies at recording points, and its record at the end."""

    def __init__(self, job: DeepJob, seed: int, progress: Integers) -> None:
        self.job, self.seed, self.progress, self.keys, self.clock = job, seed, progress, stream_keys(seed), 0
        self.evaluator, self.values, self.betas = new_evaluator(job.world), list[float](), list[float]()
        self.last: tuple[int, Reading, int] | None = None
        self.tables: dict[str, Any] = {}
        self.q = np.zeros((job.world.n_states, job.world.n_actions))
        self.history: Any = None  # of the steps done, once they are known
        self.failure: MonMDPError | None = None
        self.policy: Policy | None = None

    def evaluate_last(self) -> None:
        """Evaluate the greedy policy of the last reading, once; a run whose values are not finite has failed."""
        if self.last is None:
            return
        (step, reading, lane), self.last = self.last, None
        world, job, value = self.job.world, self.job, np.nan
        own = Reading(*(np.asarray(array)[lane] for array in reading))
        q = np.asarray(own.q[: world.n_states, : world.n_actions], np.float64)
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(own.loss))):
            name = f"{job.agent_name} in {job.problem.name}, seed {self.seed}"
            self.failure = self.failure or MonMDPError(
                f"{name}, diverged before step {step:,}: a loss or value is not finite; choose a smaller learning_rate."
            )
        elif job.episodes == 0:
            value = exact_return(world, q, self.evaluator)
        elif job.episodes > 0:
            value, self.clock = sampled_return(world, q, job.episodes, self.keys.evaluation, self.clock)
        self.q = q
        self.values.append(float(value))
        self.betas.append(float(own.beta))
        env_actions = world.n_actions // world.n_monitor_actions
        rewards = own.reward_model[: world.n_env_states, :env_actions].ravel().astype(np.float64)
        self.tables = {"q": q[: world.n_acting_states], "reward_model": rewards}

    def result(self) -> Finished | Exception:
        """The record and final tables; incomplete if the run was stopped."""
        if self.failure is not None:
            return self.failure
        record, world = new_record(len(self.job.point_steps)), self.job.world
        if self.history is None:
            return record, {}
        _, visits = self.counted(record, self.job.point_steps)
        visits = visits[: world.n_acting_states * world.n_actions]
        return record, {**self.tables, "visits": visits, "policy": self.policy, "remarks": self.remarks()}

    def counted(self, record: Any, point_steps: Integers) -> tuple[Tally, Integers]:
        """What was counted in the steps that the device recorded, and visits [S * A]; fills a record."""
        world, history = self.job.world, self.history
        visits = np.zeros(world.n_states * world.n_actions, np.int64)
        points = [np.array(column)[-len(point_steps) :] for column in (self.values, self.betas)]
        steps = history.outcome, history.observed, history.exploring
        tally = fill_record(world, *steps, Tally(), self.keys.noise, point_steps, *points, visits, record)
        return tally, visits

    @property
    def pairs(self) -> Integers:
        """The world's pairs of the steps that the device recorded, [steps]."""
        offsets = self.job.world.offsets
        pairs: Integers = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[self.history.outcome]
        return pairs

    def remarks(self) -> list[tuple[int, str]]:
        """Environment pairs whose reward an agent that explores toward goals gave up, and why."""
        world, history = self.job.world, self.history
        if not self.job.plan.directed:
            return []
        monitor_pairs = history.monitor * world.n_monitor_actions + history.action % world.n_monitor_actions
        missed = given_up(history.env_pair, monitor_pairs, history.observed)
        env_pairs = world.env_pair[self.pairs]
        named = {int(env_pairs[(history.env_pair == pair).argmax()]): missed[pair] for pair in missed}
        return [(pair, given_up_remark(named[pair])) for pair in sorted(named)]
