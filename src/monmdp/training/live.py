"""Live training: the same agents against `env.step`, for Gymnasium environments that cannot be enumerated.

Returns are estimated from greedy test episodes, since there is no model to compute them from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp import check
from monmdp.agents.base import AGENTS, Agent, HasDiscovery, HasJob, Transition, memory_bytes, new_memory
from monmdp.agents.choices import Draws
from monmdp.environments import Rule
from monmdp.errors import MonMDPError, plural, shown
from monmdp.exact.structure import Bounds, annuity
from monmdp.join import never_observable_pairs
from monmdp.machine import check_memory
from monmdp.monitors import MONITORS, Moment, Monitor
from monmdp.monitors import Outcome as MonitorOutcome
from monmdp.problem import Floats, Integers
from monmdp.rng import stream, uniform
from monmdp.simulation import Outcome
from monmdp.training.job import recording_points
from monmdp.training.learner import interact
from monmdp.world import World

if TYPE_CHECKING:
    import gymnasium

DEFAULT_POINTS = 100
#: Visit count of pairs whose state was never entered, so that none of them is a goal.
UNDISCOVERED = 2**62
#: Bytes per pair that live training needs in any case, and what to do if they do not fit.
PAIR_BYTES, SMALLER = 40, "choose a smaller environment or monitor"


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
        steps, observed, visited = self.steps[-1], self.record.observed[-1], self.record.visited[-1]
        return (
            f"LiveCurves({self.agent}, {plural(int(steps), 'step')}: estimated return {self.record.returns[-1]:.4f}, "
            f"{plural(int(observed), 'reward')} observed, {plural(int(visited), 'pair')} visited)"
        )


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
    from gymnasium import Env

    for given in (env,) if test_env is None else (env, test_env):
        check.instance(given, Env, "Live training needs an environment such as gymnasium.make('Blackjack-v1')")
    length = check.steps(steps, what="The number of steps")
    check.seed(seed, "The seed")
    check.whole(test_episodes, 1, "The number of test episodes")
    discount = check.discount(discount)
    chosen = AGENTS.build(agent)
    if isinstance(chosen, HasJob):
        raise MonMDPError(f"{type(chosen).__name__} trains in problems made by monmdp.make, not live.")
    options = chosen.filled({"alpha": 1.0})
    if reward_range is not None:
        options = options.filled(options.defaults(_bounds(env, reward_range, discount)))
    game = LiveSimulation(env, MONITORS.build(monitor), seed)
    learner = LiveLearner(options, game, length, seed, discount)
    test = None if test_env is None else LiveSimulation(test_env, MONITORS.build(monitor), seed + 1)

    def evaluate(step: int) -> float:
        learner.kernels.plan(learner.memory, step)
        return _test(test, learner.memory.q, discount, test_episodes, seed) if test else np.nan

    point_steps = recording_points(length, min(DEFAULT_POINTS, length) if points is None else points)
    record, visits = interact(game, learner, game.env_pairs, point_steps, evaluate)
    return LiveCurves(
        agent=chosen.name,
        steps=point_steps,
        record=record,
        visit_counts=visits,
        q=learner.memory.q,
        reward_model=getattr(learner.memory, "reward_model", np.zeros(0)),
    )


def _bounds(env: gymnasium.Env[Any, Any], reward_range: tuple[float, float], discount: float) -> Bounds:
    """Bounds on rewards and values from the range of rewards and the registered step limit."""
    if not isinstance(reward_range, Sequence) or len(reward_range) != 2:
        raise MonMDPError(f"The reward range must be the smallest and the largest reward, not {shown(reward_range)}.")
    low, high = (check.finite(reward, "A bound of the reward range") for reward in reward_range)
    limit = env.spec.max_episode_steps if env.spec is not None else None
    return Bounds(low, high * annuity(discount, np.inf if limit is None else limit) if high > 0 else high)


class LiveLearner:
    """An agent whose compiled kernels are called one by one."""

    def __init__(self, agent: Agent, game: LiveSimulation, steps: int, seed: int, discount: float) -> None:
        world = game.world(discount)
        check_memory(memory_bytes(agent, world, steps), f"{agent.name} with {world.n_states:,} states", SMALLER)
        self.agent, self.memory = agent, new_memory(agent, world, steps, seed)
        self.kernels: Any = type(agent)
        self.sees_everything = agent.sees_everything
        self._key, self._step = np.uint64(stream(seed, "agent")), 0
        self.memory.visits[:] = UNDISCOVERED
        self._discover(game.state)

    def begin(self, state: int) -> None:
        """An episode begins."""
        self._discover(state)
        self.kernels.begin(self.memory, state, self._step)

    def act(self, state: int) -> tuple[int, bool]:
        """The action, and whether it explores."""
        action, exploring = self.kernels.act(self.memory, state, Draws(self._key, self._step))
        return int(action), bool(exploring)

    def update(self, transition: Transition) -> None:
        """Learn from one step."""
        self.memory.visits[transition.state * self.memory.q.shape[1] + transition.action] += 1
        if not transition.terminated:
            self._discover(transition.next_state)
        self.kernels.update(self.memory, transition)
        self._step += 1

    def beta(self) -> float:
        """The explore-exploit ratio."""
        return float(self.kernels.beta(self.memory, self._step))

    def _discover(self, state: int) -> None:
        """Make the pairs of a state possible goals when it is entered for the first time."""
        row = self.memory.visits.reshape(self.memory.q.shape)[state]
        if row[0] == UNDISCOVERED:
            row[:] = 0
            if isinstance(self.agent, HasDiscovery):
                self.agent.discovered(self.memory)


class LiveSimulation:
    """A Gymnasium environment joined with a monitor, with the interface of `Simulation`."""

    def __init__(self, env: gymnasium.Env[Any, Any], monitor: Monitor, seed: int) -> None:
        self._env, self._seed = env, seed
        self._n_env_states, self._observe = _discrete(env.observation_space, "observations")
        self._n_env_actions, _ = _discrete(env.action_space, "actions")
        pairs = self._n_env_states * self._n_env_actions * len(monitor.states) * len(monitor.actions)
        check_memory(PAIR_BYTES * pairs, f"Live training with {pairs:,} pairs of states and actions", SMALLER)
        self._action_labels = tuple(f"action {index}" for index in range(self._n_env_actions))
        sizes = Rule(states=range(self._n_env_states), actions=self._action_labels)
        self._monitor, self._monitor_name = monitor.installed(sizes), monitor.name
        self._states, self._actions = tuple(monitor.states), tuple(monitor.actions)
        self._start = check.start_probabilities(self._monitor.start, self._states, monitor.name)
        self._index = {state: i for i, state in enumerate(self._states)}
        self._hidden = never_observable_pairs(sizes, monitor)
        self._keys = {role: stream(seed, role) for role in ("start", "world", "observe")}
        self._clock = self._episode = 0
        self.n_states = self._n_env_states * len(self._states)
        self.n_actions = self._n_env_actions * len(self._actions)
        state, action = np.divmod(np.arange(self.n_states * self.n_actions), self.n_actions)
        self.env_pairs = state // len(self._states) * self._n_env_actions + action // len(self._actions)
        self.restart(seed)

    def world(self, discount: float) -> World:
        """A world with sizes only, since there is no model."""
        env_state, monitor_state = np.divmod(np.arange(self.n_states, dtype=np.int32), np.int32(len(self._states)))
        sizes = World._make([np.zeros(0)] * len(World._fields))
        return sizes._replace(
            env_state=env_state,
            monitor_state=monitor_state,
            n_states=self.n_states,
            n_acting_states=self.n_states,
            n_actions=self.n_actions,
            n_env_pairs=self._n_env_states * self._n_env_actions,
            n_env_states=self._n_env_states,
            n_monitor_states=len(self._states),
            n_monitor_actions=len(self._actions),
            step_limit=0,
            discount=discount,
        )

    def restart(self, seed: int | None = None) -> None:
        """Begin a new episode."""
        observation, _ = self._env.reset(seed=seed)
        monitor_state = _pick(self._start, uniform(self._keys["start"], self._episode))
        self.state, self.elapsed = self._env_state(observation) * len(self._states) + monitor_state, 0
        self._episode += 1

    def step(self, action: int) -> Outcome:
        """Take a joint action; the caller restarts after the end of an episode."""
        env_action, monitor_action = divmod(action, len(self._actions))
        env_state, monitor_state = divmod(self.state, len(self._states))
        space: Any = self._env.action_space
        observation, reward, terminated, truncated, _ = self._env.step(env_action + int(getattr(space, "start", 0)))
        reward = check.finite(reward, f"The reward of action {env_action} in state {env_state} of {self._env}")
        pair = env_state * self._n_env_actions + env_action
        moment = Moment(
            self._states[monitor_state], self._actions[monitor_action], env_state,
            self._action_labels[env_action], reward, bool(terminated), pair,
        )  # fmt: skip
        where = f"{self._monitor_name} in state {moment.state!r} for action {moment.action!r}"
        produce = partial(self._monitor.outcomes, moment)
        outcomes = check.outcomes(produce, MonitorOutcome, where, self._index, moment.state)
        chosen = outcomes[_pick([outcome[0] for outcome in outcomes], uniform(self._keys["world"], self._clock))]
        _, monitor_state, monitor_reward, monitor_terminated, visible = chosen
        chance = 0.0 if pair in self._hidden else visible * self._monitor.observability
        observed = uniform(self._keys["observe"], self._clock) < chance
        self.state = self._env_state(observation) * len(self._states) + monitor_state
        self._clock += 1
        self.elapsed += 1
        ended = bool(terminated) or monitor_terminated
        return Outcome(self.state, reward, monitor_reward, observed, ended, bool(truncated))

    def _env_state(self, observation: Any) -> int:
        """The index of an observation, which must be in the observation space."""
        try:
            state = int(self._observe(observation))
        except (TypeError, ValueError, IndexError):
            state = -1
        if not 0 <= state < self._n_env_states:
            raise MonMDPError(
                f"{self._env} returned the observation {shown(observation)}, which is not in its observation space, "
                f"{self._env.observation_space}."
            )
        return state


def _test(game: LiveSimulation, q: Floats, discount: float, episodes: int, seed: int) -> float:
    """Mean discounted return of greedy test episodes; among tied actions the first is taken."""
    total = 0.0
    for episode in range(episodes):
        game.restart(seed + 1 + episode)
        weight, over = 1.0, False
        while not over:
            outcome = game.step(int(q[game.state].argmax()))
            total += weight * (outcome.env_reward + outcome.monitor_reward)
            weight *= discount
            over = outcome.terminated or outcome.truncated or weight < 1e-9
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
        return math.prod(sizes), lambda value: int(np.ravel_multi_index((np.ravel(value) - firsts).tolist(), sizes))
    if isinstance(space, Tuple) and what == "observations":
        parts = [_discrete(part, what) for part in space.spaces]
        sizes = [size for size, _ in parts]

        def joint(value: Any) -> int:
            digits = [read(part) for (_, read), part in zip(parts, value, strict=True)]
            return int(np.ravel_multi_index(digits, sizes))

        return math.prod(sizes), joint
    raise MonMDPError(f"Live training needs discrete {what}, not {space}.")
