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
from monmdp.agents.schedules import schedule, value_at
from monmdp.deep.codes import Codes, radius, scale
from monmdp.deep.ensemble import PRIOR_ROOM, mean_prior
from monmdp.deep.heads import new_bins
from monmdp.deep.learner import Numbers, Plan, Reading, advance, begin, read
from monmdp.deep.memory import fitting, reserved, room
from monmdp.deep.networks import Layers
from monmdp.deep.observations import observations
from monmdp.deep.policy import Policy
from monmdp.deep.world import Draws, draws_of, on_device
from monmdp.errors import MonMDPError
from monmdp.exact.structure import visible_bounds, visible_env_outcomes
from monmdp.kernels.compile import cache_folder, can_be_written
from monmdp.kernels.returns import exact_return, new_evaluator, sampled_return
from monmdp.kernels.stepping import draw_reward
from monmdp.machine import readable
from monmdp.problem import Booleans, Integers, MonMDP
from monmdp.rng import stream
from monmdp.training.job import Finished, Job, Target
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
            heads=getattr(agent, "heads", 0),
            models=getattr(agent, "n", 0),
            smallest=getattr(agent, "k", 0),
            features=agent.features,
        )

    @cached_property
    def numbers(self) -> Numbers:
        """Options, observations and bins for the program."""
        agent, (table, noise, _) = self.agent, self.view
        bonus = float(getattr(agent, "bonus", 0.0))
        rewards, values = reward_ranges(self.problem, agent.minimum_reward, bonus)
        prior_scale = float(getattr(agent, "prior_scale", 0.0))
        q_room, reward_room = (PRIOR_ROOM * prior_scale * (n > 0) for n in (self.plan.heads, self.plan.models))
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
            q_bins=new_bins(values[0] - q_room, values[1] + q_room, agent.bins),
            reward_bins=new_bins(rewards[0] - reward_room, rewards[1] + reward_room, agent.bins),
            minimum_reward=agent.minimum_reward,
            discount=self.world.discount,
            beta_bar=getattr(agent, "beta_bar", 0.0),
            goal_discount=getattr(agent, "goal_discount", 0.0),
            goal_steps=getattr(agent, "goal_steps", 0),
            bonus=bonus,
            prior_scale=prior_scale,
            share=getattr(agent, "share", 1.0),
            uses_model=agent.hidden_reward == "model",
            ignores=agent.hidden_reward == "ignore",
            sees_everything=agent.sees_everything,
        )
        return Numbers(*(np.asarray(number, np.float32) for number in numbers))

    def prepare(self, announce: Callable[[str], None] | None = None) -> None:
        """Compile the program, so that the time of a run does not include it."""
        if self._prepared:
            return
        kind, place = type(self.agent).__name__, jax.default_backend()
        if announce is not None:
            announce(f"Compiling {kind} for the {place} (about 20 s; later runs load it) …")
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
        places = {seed % self.lanes: seed for seed in seeds}
        lanes = [places.get(place, seeds[0]) for place in range(self.lanes)]
        noisy = bool(np.any(self.world.reward_noise))
        draws = Draws(*map(np.stack, zip(*(draws_of(seed, self.steps, noisy) for seed in lanes), strict=True)))
        keys = np.array([divmod(stream(seed, "agent"), 2**32) for seed in lanes], np.uint32)
        memories = begin(plan, numbers, device, draws, jax.random.wrap_key_data(keys))
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
        history = jax.device_get((memories.history.outcome, memories.history.observed, memories.history.exploring))
        for lane, run in runs.items() if self.keeps_policies else ():
            prior = mean_prior(memories.fixed["q"], numbers.prior_scale, plan.heads) if plan.heads else []
            kept = memories.codes, memories.networks["q"], prior
            run.policy = self._policy(run.seed, *jax.tree.map(itemgetter(lane), kept))
        return [run.failure or run.finished(*(field[lane] for field in history)) for lane, run in runs.items()]

    def _policy(self, seed: int, codes: Codes, layers: Layers, prior: Layers) -> Policy:
        """The greedy policy of a run with these codes, this network of action values and its prior."""
        problem = self.problem
        mean, factor, layers, prior = jax.device_get((*scale(codes), layers, prior))
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

    def __init__(self, job: DeepJob, seed: int) -> None:
        self.job, self.keys, self.clock = job, stream_keys(seed), 0
        self.evaluator, self.values, self.betas = new_evaluator(job.world), list[float](), list[float]()
        self.last: Any = None
        self.failure: MonMDPError | None = None
        self.seed = seed
        self.policy: Policy | None = None

    def evaluate(self, step: int, reading: Reading) -> None:
        """Evaluate the greedy policy of q [S, A]; a run whose losses or values are not finite has failed."""
        world, episodes, value = self.job.world, self.job.episodes, np.nan
        q = np.asarray(reading.q, np.float64)
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(reading.loss))):
            name = f"{self.job.agent_name} in {self.job.problem.name}, seed {self.seed}"
            self.failure = self.failure or MonMDPError(
                f"{name}, diverged before step {step:,}: a loss or value is not finite; choose a smaller learning_rate."
            )
        elif episodes == 0:
            value = exact_return(world, q, self.evaluator)
        elif episodes > 0:
            value, self.clock = sampled_return(world, q, episodes, self.keys.evaluation, self.clock)
        self.values.append(float(value))
        self.last = reading._replace(q=q)
        self.betas.append(float(reading.beta))

    def finished(self, outcomes: Integers, observed: Booleans, exploring: Booleans) -> Finished:
        """The record and final tables, from what the device recorded at every step [steps]."""
        world, record, tally, step = self.job.world, new_record(len(self.job.point_steps)), Tally(), 0
        pairs = np.repeat(np.arange(len(world.offsets) - 1), np.diff(world.offsets))[outcomes]
        visits = np.zeros(world.n_states * world.n_actions, np.int64)
        for point, until in enumerate(self.job.point_steps[: len(self.values)]):
            while step < until:
                pair, outcome = int(pairs[step]), int(outcomes[step])
                visits[pair] += 1
                mean, noise = float(world.env_reward[outcome]), float(world.reward_noise[outcome])
                env_reward = draw_reward(mean, noise, self.keys.noise, step)
                transition = Transition(
                    step, pair // world.n_actions, pair % world.n_actions, int(world.env_pair[pair]),
                    int(world.next_state[outcome]), bool(world.terminated[outcome]), np.nan,
                    float(world.monitor_reward[outcome]),
                )  # fmt: skip
                shown, new, explores = bool(observed[step]), bool(visits[pair] == 1), bool(exploring[step])
                tally = count_step(tally, transition, env_reward, shown, new, explores)
                step += 1
            record_point(record, point, step, tally, self.betas[point], self.values[point])
        last = self.last
        tables = {"visits": visits[: world.n_acting_states * world.n_actions], "q": last.q[: world.n_acting_states]}
        tables |= {"reward_model": last.reward_model.ravel().astype(np.float64), "policy": self.policy}
        return record, {**tables, "remarks": []}
