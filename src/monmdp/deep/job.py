"""A job of an agent with networks: seeds are trained side by side in one program, and evaluated exactly.

At every recording point the networks' action values of all states are read, and the greedy policy is evaluated with the
library's own exact return. What was counted is computed from the steps that the device recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from monmdp.agents.base import Transition
from monmdp.agents.goals import given_up_remark
from monmdp.agents.schedules import schedule, value_at
from monmdp.deep.codes import Codes, radius, scale
from monmdp.deep.given_up import given_up
from monmdp.deep.heads import new_bins
from monmdp.deep.inside import aims
from monmdp.deep.learner import Memory, Numbers, Plan, Reading, advance, begin, read
from monmdp.deep.memory import fitting, reserved, room
from monmdp.deep.networks import Layers
from monmdp.deep.observations import observations
from monmdp.deep.policy import Policy
from monmdp.deep.replay import History
from monmdp.deep.world import Device, Draws, draws_of, on_device
from monmdp.errors import MonMDPError
from monmdp.exact.structure import visible_bounds, visible_env_outcomes
from monmdp.kernels.compile import cache_folder, can_be_written
from monmdp.kernels.returns import exact_return, new_evaluator, sampled_return
from monmdp.kernels.stepping import draw_reward
from monmdp.machine import readable
from monmdp.problem import Floats, Integers, MonMDP
from monmdp.rng import stream
from monmdp.training.job import Finished, Job, Moment, Target
from monmdp.training.loop import stream_keys
from monmdp.training.metrics import Tally, count_step, new_record, record_point

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


class DeepJob(Job):
    """An agent with networks in a problem; seeds share it."""

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
        if not self.lanes:
            raise MonMDPError(
                f"A seed of {self.agent_name} in {problem.name} needs about {readable(self.run_bytes)} of the "
                f"accelerator's memory, and {readable(room())} can be used; choose smaller layers, a smaller batch or "
                "fewer steps, or let JAX run on the CPU with JAX_PLATFORMS=cpu."
            )

    @property
    def run_bytes(self) -> int:
        """Approximate size of one run."""
        size: int = self.agent.memory_bytes(self.world, self.steps, self.view.table.shape[1], self.plan.n_codes)
        return size

    @property
    def lanes(self) -> int:  # type: ignore[override]
        """Runs in one program: one on a CPU, and on an accelerator those that fit; 0 if none does."""
        return 1 if jax.default_backend() == "cpu" else fitting(self.run_bytes, room())

    @cached_property
    def plan(self) -> Plan:
        """What the program is compiled for."""
        agent, world, spare = self.agent, self.world, SPARE_CODES if self.view.noise else 1
        return Plan(
            steps=self.steps,
            n_codes=spare * world.n_env_states,
            n_monitor_states=world.n_monitor_states,
            n_env_actions=world.n_actions // world.n_monitor_actions,
            n_actions=world.n_actions,
            hidden=tuple(agent.hidden),
            batch=agent.batch,
            every=agent.every,
            directed=agent.directed,
        )

    @cached_property
    def numbers(self) -> Numbers:
        """Options, observations and bins for the program."""
        agent, (table, noise, _) = self.agent, self.view
        bonus = float(getattr(agent, "bonus", 0.0))
        rewards, values = reward_ranges(self.problem, agent.minimum_reward, bonus)
        line = schedule(agent.epsilon, self.steps, "The probability of a random action")
        epsilon = np.array([value_at(line, step) for step in range(self.steps)])
        numbers = Numbers(
            observations=table,
            noise=noise,
            squared_radius=radius(noise, table.shape[1]),
            epsilon=epsilon,
            learning_rate=agent.learning_rate,
            last_learning_rate=agent.last_learning_rate,
            balance=agent.balance,
            tracking=agent.tracking,
            q_bins=new_bins(*values, agent.bins),
            reward_bins=new_bins(*rewards, agent.bins),
            minimum_reward=agent.minimum_reward,
            discount=self.world.discount,
            beta_bar=getattr(agent, "beta_bar", 0.0),
            goal_discount=getattr(agent, "goal_discount", 0.0),
            goal_steps=getattr(agent, "goal_steps", 0),
            bonus=bonus,
            uses_model=agent.hidden_reward == "model",
            ignores=agent.hidden_reward == "ignore",
            sees_everything=agent.sees_everything,
        )
        return Numbers(*(np.asarray(number, np.float32) for number in numbers))

    @property
    def preparing(self) -> str:  # type: ignore[override]
        """What is said before the program is compiled."""
        kind, place = type(self.agent).__name__, jax.default_backend()
        return f"Compiling {kind} for the {place} (about 20 s; later runs load it) …"

    def prepare(self, announce: Callable[[str], None] | None = None) -> None:
        """Compile the program, so that the time of a run does not include it."""
        if self._prepared:
            return
        if announce is not None:
            announce(self.preparing)
        self._train([0], self.point_steps[:1], lambda steps, points: None, np.zeros(1, np.int64))
        self._prepared = True

    def run(self, seed: int, record: Any, progress: Integers, stop: Integers) -> Finished:
        """Train one seed; a non-zero stop [1] ends it soon and leaves its record incomplete."""
        (result,) = self.run_together([seed], progress[None], stop)
        if isinstance(result, Exception):
            raise result
        return result

    def run_together(self, seeds: Sequence[int], progress: Integers, stop: Integers) -> list[Finished | Exception]:
        """Train some seeds in one program, or in more if two of them have the same place; progress [seeds, 2]."""
        results: dict[int, Finished | Exception] = {}
        while len(results) < len(seeds):
            places: dict[int, int] = {}
            for index, seed in enumerate(seeds):
                if index not in results:
                    places.setdefault(seed % self.lanes, index)
            rows = list(places.values())

            def report(steps: int, points: int, rows: list[int] = rows) -> None:
                progress[rows] = steps, points

            trained = self._train([seeds[row] for row in rows], self.point_steps, report, stop)
            results.update(zip(rows, trained, strict=True))
        return [results[index] for index in range(len(seeds))]

    def _train(
        self, seeds: Sequence[int], point_steps: Integers, report: Callable[[int, int], None], stop: Integers
    ) -> list[Finished | Exception]:
        """Train seeds with different places up to some recording points; report: called with steps and points done."""
        with reserved(self.lanes * self.run_bytes, room(), stop):  # nothing to wait for on a CPU
            if stop[0]:
                return self._stopped(seeds)
            return self._train_now(seeds, point_steps, report, stop)

    def _stopped(self, seeds: Sequence[int]) -> list[Finished | Exception]:
        """The results of seeds that were stopped."""
        return [(new_record(len(self.point_steps)), {}) for _ in seeds]

    def _train_now(
        self, seeds: Sequence[int], point_steps: Integers, report: Callable[[int, int], None], stop: Integers
    ) -> list[Finished | Exception]:
        """The same, when there is memory for it."""
        plan, numbers, device = self.plan, self.numbers, on_device(self.world)
        draws, memories = self._begin(seeds, device)
        runs, before = {seed % self.lanes: Run(self, seed) for seed in seeds}, 0
        for point, until in enumerate(map(int, point_steps)):
            while True:  # also before the first step, so that the program is compiled
                part = min(before + LISTEN_EVERY, until)
                memories = advance(plan, numbers, device, draws, memories, before, part)
                before = part
                report(before, point)
                if stop[0]:
                    return self._stopped(seeds)
                if before == until:
                    break
            reading = jax.device_get(read(plan, numbers, device, memories, until))
            for lane, run in runs.items():
                run.evaluate(until, Reading(*(array[lane] for array in reading)))
            report(before, point + 1)
            if all(run.failure for run in runs.values()):
                break
        history = jax.device_get(memories.history)
        for lane, run in runs.items() if self.keeps_policies else ():
            kept = memories.codes, memories.networks["q"]
            run.policy = self._policy(run.seed, *jax.tree.map(itemgetter(lane), kept))
        return [run.failure or run.finished(History(*(field[lane] for field in history))) for lane, run in runs.items()]

    def _begin(self, seeds: Sequence[int], device: Device) -> tuple[Draws, Memory]:
        """Random numbers and memories of a program with these seeds at their places, filled up with the first."""
        places = {seed % self.lanes: seed for seed in seeds}
        lanes = [places.get(place, seeds[0]) for place in range(self.lanes)]
        noisy = bool(np.any(self.world.reward_noise))
        draws = Draws(*map(np.stack, zip(*(draws_of(seed, self.steps, noisy) for seed in lanes), strict=True)))
        keys = np.array([divmod(stream(seed, "agent"), 2**32) for seed in lanes], np.uint32)
        return draws, begin(self.plan, self.numbers, device, draws, jax.random.wrap_key_data(keys))

    def follow(self, seed: int) -> Callable[[int], Moment]:
        """A function that trains a seed to a step, in the program of `run`, and returns what is inside it then."""
        plan, numbers, device, lane = self.plan, self.numbers, on_device(self.world), seed % self.lanes
        (draws, memories), run, own = self._begin([seed], device), Run(self, seed), itemgetter(lane)

        def move(until: int) -> Moment:
            nonlocal memories
            before = run.step
            for part in (*range(before + LISTEN_EVERY, until, LISTEN_EVERY), until):  # so that Ctrl-C is heard
                memories = jax.block_until_ready(advance(plan, numbers, device, draws, memories, before, part))
                before = part
            state, history, reading = jax.device_get(
                (memories.state, memories.history, read(plan, numbers, device, memories, until))
            )
            reading, history = jax.tree.map(own, (reading, history))
            run.accept(until, reading)
            if run.failure:
                raise run.failure
            run.count(until, history)
            goal, values = -1, np.full(reading.q.shape, np.nan)
            if plan.directed:
                aim = jax.device_get(aims(plan, numbers, device, memories, until))
                goal, values = run.aim(history, *jax.tree.map(own, aim))
            return Moment(
                until, int(state[lane]), run.tally, run.visits, run.last.q, float(reading.beta), goal, values,
                run.last.reward_model.ravel(), run.reward_counts,
            )  # fmt: skip

        return move

    def _policy(self, seed: int, codes: Codes, layers: Layers) -> Policy:
        """The greedy policy of a run with these codes and this network of action values."""
        problem = self.problem
        mean, factor, layers = jax.device_get((*scale(codes), layers))
        return Policy(
            agent=self.agent_name,
            problem=problem.name,
            seed=seed,
            shape=self.view.shape,
            monitor_states=tuple(map(str, problem.monitor.states)),
            actions=tuple(map(problem.action_label, range(problem.n_actions))),
            mean=mean,
            factor=factor,
            bins=self.numbers.q_bins,
            layers=tuple(layers),
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

    def __init__(self, job: DeepJob, seed: int) -> None:
        world = job.world
        self.job, self.keys, self.clock = job, stream_keys(seed), 0
        self.evaluator, self.values, self.betas = new_evaluator(world), list[float](), list[float]()
        self.pair_of = np.repeat(np.arange(len(world.offsets) - 1), np.diff(world.offsets))  # outcome → pair
        self.step, self.tally, self.visits = 0, Tally(), np.zeros(world.n_states * world.n_actions, np.int64)
        self.reward_counts = np.zeros(world.n_env_pairs, np.int64)
        self.last: Any = None
        self.failure: MonMDPError | None = None
        self.seed = seed
        self.policy: Policy | None = None

    def accept(self, step: int, reading: Reading) -> None:
        """Keep what was read; a run whose losses or values are not finite has failed."""
        q, model = (np.asarray(table, np.float64) for table in (reading.q, reading.reward_model))
        self.last = reading._replace(q=q, reward_model=model)
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(reading.loss))):
            name = f"{self.job.agent_name} in {self.job.problem.name}, seed {self.seed}"
            self.failure = self.failure or MonMDPError(
                f"{name}, diverged before step {step:,}: a loss or value is not finite; choose a smaller learning_rate."
            )

    def evaluate(self, step: int, reading: Reading) -> None:
        """Evaluate the greedy policy of q [S, A], unless the run has failed."""
        world, episodes, value = self.job.world, self.job.episodes, np.nan
        self.accept(step, reading)
        if episodes == 0 and not self.failure:
            value = exact_return(world, self.last.q, self.evaluator)
        elif episodes > 0 and not self.failure:
            value, self.clock = sampled_return(world, self.last.q, episodes, self.keys.evaluation, self.clock)
        self.values.append(float(value))
        self.betas.append(float(reading.beta))

    def count(self, until: int, history: History) -> None:
        """Count the steps up to one, from what the device recorded [steps]."""
        world = self.job.world
        for step in range(self.step, until):
            outcome = int(history.outcome[step])
            pair = int(self.pair_of[outcome])
            self.visits[pair] += 1
            mean, noise = float(world.env_reward[outcome]), float(world.reward_noise[outcome])
            env_reward = draw_reward(mean, noise, self.keys.noise, step)
            transition = Transition(
                step, pair // world.n_actions, pair % world.n_actions, int(world.env_pair[pair]),
                int(world.next_state[outcome]), bool(world.terminated[outcome]), np.nan,
                float(world.monitor_reward[outcome]),
            )  # fmt: skip
            shown, new, explores = history.observed[step], self.visits[pair] == 1, history.exploring[step]
            self.tally = count_step(self.tally, transition, env_reward, bool(shown), bool(new), bool(explores))
            self.reward_counts[transition.env_pair] += history.known[step]
        self.step = until

    def aim(self, history: History, goal: int, reach: Floats) -> tuple[int, Floats]:
        """The goal, a pair of codes, as a pair of the world, and the values [S, A] that lead to it; -1 for none."""
        n_actions, values = self.job.world.n_actions, np.array(reach, np.float64)
        if goal < 0:
            return -1, np.full(values.shape, np.nan)
        first = int((history.pair[: self.step] // n_actions == goal // n_actions).argmax())  # a step that began there
        state, action = int(self.pair_of[history.outcome[first]]) // n_actions, int(goal) % n_actions
        values[state] = np.arange(n_actions) == action
        return state * n_actions + action, values

    def remarks(self, history: History) -> list[tuple[int, str]]:
        """Environment pairs whose reward was given up, and why."""
        world, codes = self.job.world, history.env_pair
        monitor_pairs = history.monitor * world.n_monitor_actions + history.action % world.n_monitor_actions
        pairs = {
            int(world.env_pair[self.pair_of[history.outcome[(codes == code).argmax()]]]): missed
            for code, missed in given_up(codes, monitor_pairs, history.observed).items()
        }
        return [(pair, given_up_remark(pairs[pair])) for pair in sorted(pairs)]

    def finished(self, history: History) -> Finished:
        """The record and final tables, from what the device recorded at every step [steps]."""
        world, last, record = self.job.world, self.last, new_record(len(self.job.point_steps))
        for point, until in enumerate(map(int, self.job.point_steps[: len(self.values)])):
            self.count(until, history)
            record_point(record, point, until, self.tally, self.betas[point], self.values[point])
        tables = {
            "visits": self.visits[: world.n_acting_states * world.n_actions],
            "q": last.q[: world.n_acting_states],
        }
        tables |= {"reward_model": last.reward_model.ravel(), "policy": self.policy}
        steps = History(*(field[: self.step] for field in history))
        return record, {**tables, "remarks": self.remarks(steps) if self.job.plan.directed else []}
