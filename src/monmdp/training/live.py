"""Live training: the same agents against `env.step`, for Gymnasium environments that cannot be enumerated.

Returns are estimated from greedy test episodes, since there is no model to compute them from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp import check
from monmdp.agents.base import Agent, HasDiscovery, Transition, as_agent, memory_bytes
from monmdp.agents.choices import Draws
from monmdp.environments import Environment
from monmdp.errors import MonMDPError
from monmdp.exact.bounds import Bounds, annuity
from monmdp.join import as_monitor, never_observable_pairs
from monmdp.machine import SHARE, available_bytes, readable
from monmdp.monitors import Moment, Monitor, Outcome
from monmdp.problem import Floats, Integers
from monmdp.rng import stream, uniform
from monmdp.training.job import recording_points
from monmdp.training.loop import Keys
from monmdp.training.metrics import Tally, count_step, new_record, record_point
from monmdp.world import World

if TYPE_CHECKING:
    import gymnasium

DEFAULT_POINTS = 100
#: Visit count of pairs whose state was never entered, so that none of them is a goal.
UNDISCOVERED = 2**62


@dataclass(frozen=True, eq=False)
class LiveCurves:
    """Curves [point] of one live run, estimated from test episodes; final tables as in `Curves`."""

    agent: str
    steps: Integers
    record: Any
    visit_counts: Integers
    q: Floats
    reward_model: Floats

    def __repr__(self) -> str:
        return (
            f"LiveCurves({self.agent}, {int(self.steps[-1])} steps: estimated return {self.record.returns[-1]:.4f}, "
            f"{int(self.record.observed[-1])} rewards observed, {int(self.record.visited[-1])} pairs visited)"
        )


@dataclass(frozen=True, kw_only=True)
class _Sizes(Environment):
    """What a monitor can know of an environment without a model: the number of states and actions."""

    n_states: int = 1
    n_actions: int = 1

    @property
    def states(self) -> range:
        return range(self.n_states)

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(f"action {index}" for index in range(self.n_actions))


def train_live(
    env: gymnasium.Env[Any, Any],
    monitor: Monitor | str = "Full",
    agent: Agent | str = "Directed",
    *,
    steps: int,
    seed: int = 0,
    points: int | None = None,
    discount: float = 0.99,
    reward_range: tuple[float, float] | None = None,
    test_env: gymnasium.Env[Any, Any] | None = None,
    test_episodes: int = 20,
) -> LiveCurves:
    """Train an agent by interaction; observations and actions must be discrete (or tuples of discrete parts).

    points: number of tests, by default 100. reward_range: smallest and largest reward, from which agents derive
    optimistic initial values and bounds; those that need it and do not get it raise an error. test_env: a second copy
    for test episodes; without one, returns are NaN. A state is a possible goal once it was entered.
    """
    length = check.whole(steps, 1, "The number of steps")
    check.whole(seed, 0, "The seed")
    check.whole(test_episodes, 1, "The number of test episodes")
    game = _Game(env, as_monitor(monitor), seed)
    given = as_agent(agent)
    learner = given.filled({"alpha": 1.0})
    if reward_range is not None:
        learner = learner.filled(learner.defaults(_bounds(env, reward_range, discount)))
    world = game.world(check.discount(discount, 0.99, "The discount"))
    need, room = memory_bytes(learner, world, length), int(available_bytes() * SHARE)
    if need > room:
        raise MonMDPError(
            f"{type(learner).__name__} needs {readable(need)} of memory here, and {readable(room)} can be used."
        )
    memory = learner.memory(world, length, seed)
    memory.visits[:] = UNDISCOVERED
    test = None if test_env is None else _Game(test_env, as_monitor(monitor), seed + 1)
    kind = type(learner)
    agent_key = np.uint64(stream(seed, "agent"))

    def discover(state: int) -> None:
        row = memory.visits.reshape(world.n_states, world.n_actions)[state]
        if row[0] == UNDISCOVERED:
            row[:] = 0
            if isinstance(learner, HasDiscovery):
                learner.discovered(memory)

    point_steps = recording_points(length, min(DEFAULT_POINTS, length) if points is None else points)
    record = new_record(len(point_steps))
    tally, done, begins = Tally(0, 0, 0), 0, True
    state = game.reset(seed)
    discover(state)
    for point, until in enumerate(point_steps):
        while done < until:
            if begins:
                kind.begin(memory, state, done)
            action, exploring = kind.act(memory, state, Draws(agent_key, done))
            pair = state * world.n_actions + int(action)
            played = game.step(int(action))
            memory.visits[pair] += 1
            if not played.terminated:
                discover(played.next_state)
            observed = not np.isnan(played.proxy_reward)
            transition = Transition(
                done, state, int(action), played.env_pair, played.next_state, played.terminated,
                played.reward if kind.sees_everything else played.proxy_reward, played.monitor_reward,
            )  # fmt: skip
            tally = count_step(tally, transition, observed, bool(memory.visits[pair] == 1), bool(exploring))
            kind.update(memory, transition)
            done += 1
            state = played.next_state
            begins = played.terminated or played.truncated
            if begins:
                state = game.reset(None)
                discover(state)
        kind.plan(memory, done)
        value = _test(test, memory.q, discount, test_episodes, seed) if test else np.nan
        record_point(record, point, done, tally, kind.beta(memory, done), value)
    visits = np.where(memory.visits == UNDISCOVERED, 0, memory.visits)
    return LiveCurves(
        agent=given.name,
        steps=point_steps,
        record=record,
        visit_counts=visits.reshape(world.n_states, world.n_actions),
        q=memory.q,
        reward_model=getattr(memory, "reward_model", np.zeros(0)),
    )


def _bounds(env: gymnasium.Env[Any, Any], reward_range: tuple[float, float], discount: float) -> Bounds:
    """Bounds on rewards and values from the range of rewards and the registered step limit."""
    low, high = (check.finite(reward, "A bound of the reward range") for reward in reward_range)
    limit = env.spec.max_episode_steps if env.spec is not None else None
    return Bounds(low, high * annuity(discount, np.inf if limit is None else limit) if high > 0 else high)


@dataclass(frozen=True)
class _Played:
    env_pair: int
    next_state: int
    terminated: bool
    truncated: bool
    proxy_reward: float
    monitor_reward: float
    reward: float


class _Game:
    """A Gymnasium environment joined with a monitor."""

    def __init__(self, env: gymnasium.Env[Any, Any], monitor: Monitor, seed: int) -> None:
        self.env = env
        self.n_env_states, self._observe = _discrete(env.observation_space, "observations")
        self.n_env_actions, _ = _discrete(env.action_space, "actions")
        sizes = _Sizes(n_states=self.n_env_states, n_actions=self.n_env_actions)
        self.action_labels = sizes.actions
        self.monitor = monitor.installed(sizes)
        self.states, self.actions = tuple(monitor.states), tuple(monitor.actions)
        self.observability = check.probability(monitor.observability, f"The observability of {monitor.name}")
        self.hidden = never_observable_pairs(sizes, monitor)
        self.keys = {role: stream(seed, role) for role in Keys._fields}
        self.clock = self.episode = self.env_state = self.monitor_state = 0

    def world(self, discount: float) -> World:
        """A world with sizes only, since there is no model."""
        nothing, none, no = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.bool_)
        env_state, monitor_state = np.divmod(np.arange(self.n_env_states * len(self.states)), len(self.states))
        return World(
            none, nothing, nothing, none, nothing, nothing, nothing, nothing, no, none, no, nothing, nothing, none,
            env_state.astype(np.int32), monitor_state.astype(np.int32), none, nothing, nothing,
            n_states=self.n_env_states * len(self.states),
            n_acting_states=self.n_env_states * len(self.states),
            n_actions=self.n_env_actions * len(self.actions),
            n_env_pairs=self.n_env_states * self.n_env_actions,
            n_env_states=self.n_env_states,
            n_monitor_states=len(self.states),
            n_monitor_actions=len(self.actions),
            step_limit=0,
            discount=discount,
        )  # fmt: skip

    def reset(self, seed: int | None) -> int:
        observation, _ = self.env.reset(seed=seed)
        self.env_state = self._observe(observation)
        chances = [self.monitor.start.get(state, 0.0) for state in self.states]
        self.monitor_state = _pick(chances, uniform(self.keys["start"], self.episode))
        self.episode += 1
        return self.env_state * len(self.states) + self.monitor_state

    def step(self, action: int) -> _Played:
        env_action, monitor_action = divmod(action, len(self.actions))
        space: Any = self.env.action_space
        observation, reward, terminated, truncated, _ = self.env.step(env_action + int(getattr(space, "start", 0)))
        pair = self.env_state * self.n_env_actions + env_action
        moment = Moment(
            self.states[self.monitor_state], self.actions[monitor_action], self.env_state,
            self.action_labels[env_action], float(reward), bool(terminated), pair,
        )  # fmt: skip
        outcomes: list[Outcome] = list(self.monitor.outcomes(moment))
        chosen = outcomes[_pick([o.probability for o in outcomes], uniform(self.keys["world"], self.clock))]
        chance = 0.0 if pair in self.hidden else chosen.observed * self.observability
        shown = uniform(self.keys["observe"], self.clock) < chance
        self.clock += 1
        self.env_state = self._observe(observation)
        if chosen.next_state is not None:
            self.monitor_state = self.states.index(chosen.next_state)
        return _Played(
            env_pair=pair,
            next_state=self.env_state * len(self.states) + self.monitor_state,
            terminated=bool(terminated) or bool(chosen.terminated),
            truncated=bool(truncated),
            proxy_reward=float(reward) if shown else np.nan,
            monitor_reward=float(chosen.reward),
            reward=float(reward),
        )


def _test(game: _Game, q: Floats, discount: float, episodes: int, seed: int) -> float:
    """Mean discounted return of greedy test episodes; among tied actions the first is taken."""
    total = 0.0
    for episode in range(episodes):
        state, weight, over = game.reset(seed + 1 + episode), 1.0, False
        while not over:
            played = game.step(int(q[state].argmax()))
            total += weight * (played.reward + played.monitor_reward)
            weight *= discount
            state, over = played.next_state, played.terminated or played.truncated or weight < 1e-9
    return total / episodes


def _pick(chances: list[float], draw: float) -> int:
    """The index that a draw in [0, 1) selects."""
    for index, chance in enumerate(chances):
        draw -= chance
        if draw < 0:
            return index
    return len(chances) - 1


def _discrete(space: Any, what: str) -> tuple[int, Any]:
    """The size of a discrete space, and a function from its elements to 0 … size - 1."""
    from gymnasium.spaces import Discrete, MultiDiscrete, Tuple

    if isinstance(space, Discrete):
        first = int(space.start)
        return int(space.n), lambda value: int(value) - first
    if isinstance(space, MultiDiscrete) and what == "observations":
        sizes, firsts = [int(n) for n in space.nvec.ravel()], space.start.ravel()
        return int(np.prod(sizes)), lambda value: int(np.ravel_multi_index((np.ravel(value) - firsts).tolist(), sizes))
    if isinstance(space, Tuple) and what == "observations":
        parts = [_discrete(part, what) for part in space.spaces]
        sizes = [size for size, _ in parts]

        def joint(value: Any) -> int:
            digits = [read(part) for (_, read), part in zip(parts, value, strict=True)]
            return int(np.ravel_multi_index(digits, sizes))

        return int(np.prod(sizes)), joint
    raise MonMDPError(f"Live training needs discrete {what}, not {space}.")
