"""Agents with networks in any Gymnasium environment, or vector of them, which is stepped on the host.

o = 2 (x − low) / (high − low) − 1 in dimensions with finite bounds, o = x in others; x: the flat observation
ρ = 2 / n^(1/D) for n codes and D continuous numbers: n balls of this size fill about the space of observations

The learner is that of problems on the device. Its table of observations is a buffer with a row for every observation
so far. After the step of a copy of the environment, one program stores it, learns, and chooses the copy's next action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete, Space, flatten_space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import iterate

from monmdp.agents.base import Transition
from monmdp.deep.acting import Choice, goal_counts, mean_costs, recorded_values, reward_values
from monmdp.deep.codes import encode, scale
from monmdp.deep.ensemble import PRIOR_ROOM, mean_prior
from monmdp.deep.goals import least_visits, ratio
from monmdp.deep.job import LISTEN_EVERY, DeepJob
from monmdp.deep.learner import Seen, decide, remember
from monmdp.deep.learning import learn
from monmdp.deep.observations import Observations, Singles, inputs_of
from monmdp.deep.policy import Policy
from monmdp.deep.replay import reweighted
from monmdp.deep.state import Memory, Numbers, Plan, blank_memory, for_unit_vectors, joined, scaled
from monmdp.deep.world import Sizes
from monmdp.errors import MonMDPError, shown
from monmdp.exact.structure import annuity
from monmdp.gym.preparation import Prepared
from monmdp.gym.shapes import as_vectors
from monmdp.machine import check_memory
from monmdp.problem import Integers
from monmdp.rng import stream
from monmdp.training.games import LiveGame, layers_of, sizes_of, spaces_of
from monmdp.training.live import Tests
from monmdp.training.metrics import Tally, count_step, new_record, record_point

if TYPE_CHECKING:
    from monmdp.deep.agents import DeepAgent

#: Codes of observations that are not discrete, unless the agent says otherwise.
CODES = 100
#: Bins of values, unless the agent says otherwise.
BINS = 9
#: The radius of codes for discrete observations and images.
EXACT = 0.0
#: Bins of values go beyond their range by this share of it on both sides.
MARGIN = 0.05
#: A slope of logits that leaves the lowest bin only.
LOWEST = -100.0
#: The table of observations has a multiple of this number of rows, so that few programs are compiled.
ROWS = 128


class Vectors:
    """The observations of a space as vectors of numbers, most of them from -1 to 1, checked."""

    def __init__(self, space: Space[Any], title: str) -> None:
        if not space.is_np_flattenable:
            raise MonMDPError(
                f"Agents with networks need observations that can be flattened to numbers, not {shown(space)}; a "
                "wrapper such as gymnasium.wrappers.FilterObservation can leave out other parts."
            )
        self._space, self._title = space, title
        flat: Any = flatten_space(space)
        low, high = flat.low.astype(np.float64), flat.high.astype(np.float64)
        bounded = (np.abs(low) < 1e30) & (np.abs(high) < 1e30) & (low < high)
        self.middle = np.where(bounded, np.where(bounded, low, 0.0) / 2 + np.where(bounded, high, 0.0) / 2, 0.0).astype(
            np.float32
        )
        self.half = np.where(bounded, high / 2 - low / 2, 1.0).astype(np.float32)
        #: The shape of observations, if they are arrays.
        self.shape: tuple[int, ...] = space.shape if isinstance(space, Box) else flat.shape
        #: Whether observations are continuous, and the number of different ones if that is known.
        self.continuous = isinstance(space, Box) and np.issubdtype(space.dtype, np.floating)
        self.n_values = int(space.n) if isinstance(space, Discrete) else None

    def flat(self, observation: Any) -> Any:
        """The numbers of an observation as they are."""
        space = self._space
        right = np.shape(observation) == space.shape if isinstance(space, Box) else space.contains(observation)
        if not right:
            raise MonMDPError(
                f"{self._title} returned the observation {shown(observation)}, which is not in its observation space, "
                f"{shown(space)}; spaces must not change."
            )
        numbers = as_vectors(space, observation, ())
        if not np.all(np.isfinite(numbers)):
            raise MonMDPError(f"{self._title} returned an observation with a number that is NaN or infinite.")
        return numbers

    def __call__(self, observation: Any) -> Singles:
        """The vector of an observation."""
        vector: Singles = ((self.flat(observation) - self.middle) / self.half).astype(np.float32)
        return vector


class Shown(NamedTuple):
    """A step of one copy: what `Seen` has, with vectors in place of rows; start_monitor: after a restart, if any."""

    picture: Singles
    monitor: int
    start: Singles
    start_monitor: int
    env_reward: float
    monitor_reward: float
    observed: bool
    terminated: bool
    ended: bool


class OneCopy:
    """A single environment; starts: the vector and the monitor state of each copy."""

    def __init__(self, env: Any, vectors: Vectors, seed: int) -> None:
        self._game = LiveGame(env, lambda observation, monitor: (vectors(observation), monitor), seed)
        self.starts, self.answers = [self._game.state], self._game.answers

    def step(self, actions: list[int]) -> Iterator[tuple[int, Shown]]:
        """Take joint actions; each copy's index and step."""
        outcome = self._game.step(actions[0])
        (picture, monitor), ended = self._game.state, outcome.terminated or outcome.truncated
        if ended:
            self._game.restart()
        start, start_monitor = self._game.state
        yield 0, Shown(
            picture, monitor, start, start_monitor, outcome.env_reward, outcome.monitor_reward, outcome.observed,
            outcome.terminated, ended,
        )  # fmt: skip


class ManyCopies:
    """A vector environment; the last step of an episode is returned when the copy has restarted."""

    def __init__(self, env: Any, vectors: Vectors, seed: int) -> None:
        self._env, self._vectors, self._sizes = env, vectors, sizes_of(env)
        if env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP) == AutoresetMode.DISABLED:
            raise MonMDPError("Live training needs a vector environment that restarts its copies; enable autoreset.")
        self.starts = self._read(env.reset(seed=seed)[0])
        self._waiting: dict[int, dict[str, Any]] = {}

    def answers(self, transition: Transition) -> list[Transition]:
        """Vector environments have no late answers."""
        return []

    def step(self, actions: list[int]) -> Iterator[tuple[int, Shown]]:
        """Take joint actions; each copy's index and step, those that have ended when their start is known."""
        env_actions, choices = np.divmod(np.array(actions), self._sizes.n_monitor_actions)
        taken = {"env": env_actions + self._sizes.first_action, "monitor": choices}
        observations, _, terminated, truncated, infos = self._env.step(taken)
        now, final = self._read(observations), infos.get("final_info", {})
        for copy, (start, start_monitor) in enumerate(now):
            restarted = self._waiting.pop(copy, None)
            if restarted is not None:
                yield copy, Shown(start=start, start_monitor=start_monitor, **restarted)
                continue
            ended, after, info = bool(terminated[copy] or truncated[copy]), now[copy], infos
            if "final_obs" in infos and infos["_final_obs"][copy]:
                last, info = infos["final_obs"][copy], final
                after = self._vectors(last["env"]), int(last["monitor"])
            try:
                observed = bool(info["reward_observed"][copy])
                reward = info["proxy_reward"] if observed else info.get("env_reward", np.full(copy + 1, np.nan))
                step: dict[str, Any] = {
                    "picture": after[0], "monitor": after[1], "env_reward": float(reward[copy]), "observed": observed,
                    "monitor_reward": float(info["monitor_reward"][copy]), "terminated": bool(terminated[copy]),
                    "ended": ended,
                }  # fmt: skip
            except KeyError as error:
                raise MonMDPError(
                    f"The infos of {shown(self._env)} have no {error}; wrappers must pass them on."
                ) from None
            if ended and info is infos:  # it restarts at the next step
                self._waiting[copy] = step
            else:
                yield copy, Shown(start=start, start_monitor=start_monitor, **step)

    def _read(self, observations: Any) -> list[tuple[Singles, int]]:
        """Vectors and monitor states of all copies."""
        space, monitors = self._env.observation_space["env"], observations["monitor"]
        seen = iterate(space, observations["env"])
        return [(self._vectors(one), int(monitor)) for one, monitor in zip(seen, monitors, strict=True)]


class Copy(NamedTuple):
    """Where a copy of the environment is: the row of its observation, monitor state, code, goal, and its action."""

    row: Any
    monitor: Any
    code: Any
    choice: Choice


def choose(
    plan: Plan, numbers: Numbers, memory: Memory, row: jax.Array, monitor: jax.Array, ticket: jax.Array
) -> tuple[Memory, Copy]:
    """The next action of the copy that the memory is in; ticket: the number of choices so far."""
    row, monitor = jnp.asarray(row, jnp.int32), jnp.asarray(monitor, jnp.int32)
    memory, choice = decide(plan, numbers, memory, row, monitor, ticket)
    return memory, Copy(row, monitor, memory.code, choice)


@partial(jax.jit, static_argnums=0, donate_argnums=(2, 3))
def enter(
    plan: Plan, numbers: Numbers, table: jax.Array, memory: Memory, start: jax.Array, monitor: jax.Array, row: jax.Array
) -> tuple[jax.Array, Memory, Copy]:
    """A copy begins, with its first observation in a row of the table."""
    table = table.at[row].set(start)
    code, codes = encode(memory.codes, start, numbers.squared_radius)
    memory = memory._replace(codes=codes, code=code.astype(jnp.int32), goal=jnp.full((), -1, jnp.int32))
    memory, copy = choose(plan, numbers._replace(observations=table), memory, row, monitor, row)
    return table, memory, copy


@partial(jax.jit, static_argnums=0, donate_argnums=(2, 3))
def turn(
    plan: Plan, numbers: Numbers, table: jax.Array, memory: Memory, copy: Copy, step: Shown, place: jax.Array
) -> tuple[jax.Array, Memory, Copy]:
    """Store a step, learn from replay, and choose the copy's next action; place: step, free row and ticket."""
    number, row, ticket = place
    start = row + step.ended
    table = table.at[row].set(step.picture).at[start].set(step.start)
    numbers = numbers._replace(observations=table)
    seen = Seen(
        picture=row,
        monitor=step.monitor,
        start=start,
        outcome=number,
        env_reward=step.env_reward,
        monitor_reward=step.monitor_reward,
        observed=step.observed,
        terminated=step.terminated,
        ended=step.ended,
    )
    memory = memory._replace(code=copy.code)  # `remember` takes the goal from the copy's choice
    memory = remember(plan, numbers, memory, copy.row, copy.monitor, copy.choice, seen, number)
    memory = memory._replace(episode=memory.episode + step.ended)
    due = number % plan.every == plan.every - 1
    memory = jax.lax.cond(due, lambda before: learn(plan, numbers, before, number), lambda before: before, memory)
    memory, copy = choose(plan, numbers, memory, start, step.start_monitor, ticket)
    return table, memory, copy


@partial(jax.jit, static_argnums=0, donate_argnums=2)
def answer(plan: Plan, numbers: Numbers, memory: Memory, step: jax.Array, reward: jax.Array) -> Memory:
    """The reward of an earlier step becomes known."""
    history, n_monitor_actions = memory.history, plan.n_actions // plan.n_env_actions
    env_pair, asked = history.env_pair[step], history.monitor[step] * n_monitor_actions
    asked += history.action[step] % n_monitor_actions
    history = history._replace(
        env_reward=history.env_reward.at[step].set(reward), known=history.known.at[step].set(True)
    )
    visits = memory.reward_visits.at[env_pair].add(1)
    return memory._replace(
        history=history,
        reward_weights=reweighted(
            memory.reward_weights, history.env_pair, env_pair, visits[env_pair], history.known, numbers.balance
        ),
        reward_visits=visits,
        shown=memory.shown.at[asked].add(1),
    )


@partial(jax.jit, static_argnums=0)
def survey(plan: Plan, numbers: Numbers, memory: Memory, step: jax.Array) -> tuple[jax.Array, ...]:
    """Q [goals, A] and R̂ [codes, environment actions] of all prototypes, and β."""
    pictures = scaled(memory.codes, memory.codes.prototypes)
    each, monitors = jnp.divmod(jnp.arange(plan.n_goals), plan.n_monitor_states)
    q = recorded_values(plan, numbers, memory, joined(plan, pictures[each], monitors))
    least = least_visits(goal_counts(plan, numbers, memory, step), memory.seen)
    beta = ratio(step, least) if plan.directed else jnp.full((), jnp.nan)
    return q, reward_values(plan, numbers, memory, pictures), beta


def monitor_rewards(env: Any) -> tuple[float, float] | None:
    """The smallest and largest reward of the monitor; None if its outcomes depend on the environment."""
    for layer in layers_of(env):
        problem = layer._simulation.alone() if isinstance(layer, Prepared) else getattr(layer, "problem", None)
        if problem is not None:
            return float(problem.monitor.reward.min()), float(problem.monitor.reward.max())
    return None


class HostRun(DeepJob):
    """One seed of an agent with networks in a monitored environment, or vector environment."""

    _shared, sizes = None, Sizes(0, 0, 0, 0, 0)

    def __init__(
        self, env: Any, test_env: Any, agent: DeepAgent, seed: int, point_steps: Integers, discount: float,
        rewards: tuple[float, float] | None, values: tuple[float, float] | None, tests: Tests,
    ) -> None:  # fmt: skip
        if rewards is None:
            raise MonMDPError(
                f"{agent.name} needs the range of rewards; pass reward_range=(smallest, largest) to train_live."
            )
        title = getattr(env.unwrapped.spec, "id", None) or type(env.unwrapped).__name__
        vectors, self._title = Vectors(spaces_of(env)[0]["env"], title), title
        codes = agent.codes or vectors.n_values or CODES
        spread = 2.0 / codes ** (1.0 / vectors.middle.size) if vectors.continuous else EXACT
        filled = agent.filled({"bins": BINS, "codes": codes, "code_radius": spread, "minimum_reward": rewards[0]})
        self.agent, self.agent_name, self.seed, self.point_steps = filled, agent.name, seed, point_steps
        self.steps, self._rewards, self._values, self._tests = int(point_steps[-1]), rewards, values, tests
        self._monitor_rewards = monitor_rewards(env)
        copies: Any = (ManyCopies if isinstance(env, VectorEnv) else OneCopy)(env, vectors, seed)
        self._copies, self._vectors, n = copies, vectors, len(copies.starts)
        self._rows = -(-(2 * self.steps + n) // ROWS) * ROWS
        self.world = sizes_of(env).world(codes, discount)
        self.view = Observations(np.zeros((0, vectors.middle.size), np.float32), 0.0, vectors.shape)
        self.inputs = inputs_of(self.view)
        size = 4 * self._rows * vectors.middle.size + self.run_bytes
        check_memory(size, f"{agent.name} in {title}", "choose fewer steps, smaller observations or smaller layers")
        if test_env is not None:
            tests.game = LiveGame(test_env, lambda observation, monitor: (vectors.flat(observation), monitor), seed + 1)

    def ranges(self, bonus: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Smallest and largest environment reward, and value with the monitor's rewards."""
        low, high = min(*self._rewards, 0.0), max(*self._rewards, 0.0)
        least, most = self._monitor_rewards or (low - high, 0.0)  # a guess where they depend on the environment
        forever = annuity(self.world.discount, np.inf)
        lowest, highest = self._values or ((low + min(least, 0.0)) * forever, (high + max(most, 0.0)) * forever)
        return (low, high), (lowest, highest + bonus * forever)

    @cached_property
    def plan(self) -> Plan:
        """What the program is compiled for."""
        return super().plan._replace(exact=False, live=True)

    @cached_property
    def numbers(self) -> Numbers:
        """Those of problems, with even bins of values: rewards of many steps add up, and all are about as large."""
        low, high = self.ranges(float(getattr(self.agent, "bonus", 0.0)))[1]
        room = PRIOR_ROOM * self.agent.prior_scale if self.plan.heads else 0.0
        margin = MARGIN * (high - low) + room
        return super().numbers._replace(
            q_bins=np.linspace(low - margin, high + margin, self.agent.bins, dtype=np.float32)
        )

    def train(self, report: Callable[[int], None]) -> tuple[Any, dict[str, Any]]:
        """The record and final tables of the seed; report: called with the number of steps done, often."""
        plan, numbers, n = self.plan, self.numbers, len(self._copies.starts)
        key = jax.random.wrap_key_data(np.array(divmod(stream(self.seed, "agent"), 2**32), np.uint32))
        table = jnp.zeros((self._rows, self._vectors.middle.size))
        memory = jax.jit(blank_memory, static_argnums=0)(plan, numbers, key)
        copies: list[Any] = [None] * n
        for i, (start, monitor) in enumerate(self._copies.starts):
            table, memory, copies[i] = enter(plan, numbers, table, memory, start, monitor, i)
        actions = [int(copy.choice.action) for copy in copies]
        record, tally, step, row = new_record(len(self.point_steps)), Tally(), 0, n
        ends: dict[str, Any] = {}
        steps = (each for _ in count() for each in self._copies.step(actions))
        for point, until in enumerate(map(int, self.point_steps)):
            while step < until:
                i, taken = next(steps)
                if self.agent.sees_everything and np.isnan(taken.env_reward):
                    raise MonMDPError(
                        f"{self.agent_name} needs every reward, and info has no 'env_reward'; leave out "
                        "evaluation_info=False."
                    )
                transition = Transition(
                    step, 0, actions[i], 0, 0, taken.terminated, taken.env_reward if taken.observed else np.nan,
                    taken.monitor_reward,
                )  # fmt: skip
                exploring = bool(copies[i].choice.exploring)
                tally = count_step(tally, transition, taken.env_reward, taken.observed, False, exploring)
                known = taken.observed or self.agent.sees_everything
                given = taken._replace(env_reward=taken.env_reward if known else 0.0)
                place = np.array([step, row, step + n], np.int32)
                table, memory, copies[i] = turn(plan, numbers, table, memory, copies[i], given, place)
                actions[i], step, row = int(copies[i].choice.action), step + 1, row + 1 + taken.ended
                if step % LISTEN_EVERY == 0:
                    report(step)
                for earlier in self._copies.answers(transition):
                    tally = tally._replace(observed=tally.observed + 1)
                    if not self.agent.sees_everything:
                        memory = answer(plan, numbers, memory, earlier.step, earlier.proxy_reward)
            report(step)
            ends, beta = self._ends(memory, step)
            tally = tally._replace(visited=int((ends["visit_counts"] > 0).sum()))
            policy = ends["policy"]
            record_point(record, point, step, tally, beta, self._tests(lambda state: policy(*state)))  # noqa: B023
        return record, ends

    def _ends(self, memory: Memory, step: int) -> tuple[dict[str, Any], float]:
        """The final tables if training ended now, and β."""
        q, reward_model, beta = jax.device_get(survey(self.plan, self.numbers, memory, step))
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(memory.loss))):
            raise MonMDPError(
                f"{self.agent_name} in {self._title}, seed {self.seed}, diverged before step {step:,}: a loss or value "
                "is not finite; choose a smaller learning_rate."
            )
        used = np.asarray(memory.codes.counts) > 0
        tables = {
            "visit_counts": np.array(memory.visits, np.int64),
            "q": np.where(np.repeat(used, self.plan.n_monitor_states)[:, None], q, np.nan).astype(np.float64),
            "reward_model": np.where(used[:, None], reward_model, np.nan).ravel().astype(np.float64),
        }
        return tables | {"policy": self._greedy(memory)}, float(beta)

    def _greedy(self, memory: Memory) -> Policy:
        """The greedy policy, on observations of the environment as they are."""
        vectors, plan, prior = self._vectors, self.plan, memory.fixed.get("q", [])
        prior = mean_prior(prior, self.numbers.prior_scale, plan.heads) if prior else []
        mean, factor, layers, prior = jax.device_get((*scale(memory.codes), memory.mean, prior))
        for each in (layers, prior) if prior else (layers,):
            each[0] = for_unit_vectors(each[0], plan, len(mean))
        if plan.directed and plan.n_monitor_states == 1:  # as `act`: other actions of the monitor have the lowest value
            costs = np.asarray(mean_costs(plan, memory))[0]
            last = layers[-1] = {name: np.array(array) for name, array in layers[-1].items()}
            dear = np.repeat(costs > costs.min(), self.agent.bins)
            last["weights"][:, dear] = 0.0
            last["bias"][dear] = np.tile(LOWEST * np.arange(self.agent.bins), int((costs > costs.min()).sum()))
        return Policy(
            agent=self.agent_name,
            problem=self._title,
            seed=self.seed,
            shape=vectors.shape,
            monitor_states=tuple(map(str, range(plan.n_monitor_states))),
            actions=tuple(map(str, range(plan.n_actions))),
            mean=vectors.middle + vectors.half * mean,
            factor=factor / vectors.half,
            bins=self.numbers.q_bins,
            layers=tuple(layers),
            prior=tuple(prior),
        )
