"""Live training: the same agents against `env.step`, for Gymnasium environments that cannot be enumerated.

Returns are estimated from greedy test episodes, since there is no model to compute them from.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict
from gymnasium.vector import VectorEnv

from monmdp import check
from monmdp.agents.base import (
    AGENTS,
    Agent,
    HasDiscovery,
    HasLateAnswers,
    HasLive,
    Transition,
    memory_bytes,
    new_memory,
)
from monmdp.agents.choices import Draws
from monmdp.errors import MonMDPError, MonMDPWarning, plural, shown
from monmdp.exact.structure import Bounds, annuity
from monmdp.gym.answers import LateAnswers
from monmdp.gym.filled import FilledRewards
from monmdp.gym.preparation import Prepared
from monmdp.gym.single import MonitoredEnv
from monmdp.gym.wrapper import monitored
from monmdp.machine import check_memory
from monmdp.monitors import Monitor
from monmdp.problem import Floats, Integers
from monmdp.progress import print_message, progress_bar
from monmdp.rng import stream
from monmdp.training.curves import Recorded
from monmdp.training.discretizers import Discretizer, states_of
from monmdp.training.games import SMALLER, LiveSimulation, layers_of, spaces_of
from monmdp.training.job import as_seeds, recording_points
from monmdp.training.learner import interact

DEFAULT_POINTS = 20
#: Visit count of pairs whose state was never entered, so that none of them is a goal.
UNDISCOVERED = 2**62
#: Wrappers that a copy for tests does without, since their sources and models belong to training.
NOT_TESTED = (LateAnswers.__name__, FilledRewards.__name__)
#: Options of `gymnasium.make_vec` that a single copy does not have.
VECTOR_OPTIONS = ("num_envs", "vectorization_mode", "vector_kwargs", "wrappers")
#: A test episode ends when a reward counts for less than this.
NEGLIGIBLE = 1e-9


#: Final tables of a seed, which `LiveCurves` has for all seeds.
TABLES = ("visit_counts", "q", "reward_model")


@dataclass(frozen=True, eq=False)
class LiveCurves(Recorded):
    """Curves of live runs, recorded before the training steps `steps` [point] and once at the end.

    Every metric of `Curves` is an attribute, an array [seed, point]; returns are estimated from test episodes, and so
    are undiscounted_returns. Final tables: visit_counts and q [seed, S, A], reward_model [seed, environment pairs]; for
    agents with networks, states are codes of observations, and policies [seed] are the trained networks.
    """

    environment: str
    monitor: str
    agent: str
    seeds: list[int]
    steps: Integers
    recorded: dict[str, np.ndarray]
    undiscounted_returns: Floats
    visit_counts: Integers
    q: Floats
    reward_model: Floats
    seconds: float
    policies: list[Any] = field(default_factory=list)
    # without a model the best return is not known
    optimal_return: float = np.nan
    target_return: float = np.nan
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def solved(self) -> np.ndarray:
        """Unknown, so False for every seed, [seed]."""
        return np.zeros(len(self.seeds), np.bool_)

    def __repr__(self) -> str:
        width = "" if np.isnan(self.final_return_ci) else f" ± {self.final_return_ci:.4f}"
        outcome = "not tested" if np.isnan(self.final_return) else f"estimated return {self.final_return:.4f}{width}"
        observed, visited = (plural(round(self.curve(name)[:, -1].mean()), noun) for name, noun in (
            ("observed", "reward"), ("visited", "pair")))  # fmt: skip
        return (
            f"LiveCurves({self.agent} in {self.problem_name}, {plural(len(self.seeds), 'seed')} × "
            f"{plural(int(self.steps[-1]), 'step')}: {outcome}, {observed} observed, {visited} visited, "
            f"{self.seconds:.1f} s)"
        )


def train_live(
    env: gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any],
    monitor: Monitor | str | None = None,
    agent: Agent | str = "Directed",
    *,
    steps: int,
    seeds: int | Iterable[int] = 1,
    points: int | None = None,
    discount: float = 0.99,
    reward_range: tuple[float, float] | None = None,
    value_range: tuple[float, float] | None = None,
    discretizer: Discretizer = None,
    test_env: gymnasium.Env[Any, Any] | None = None,
    test_episodes: int = 20,
    progress: Callable[[int, int], None] | bool | None = None,
    seed: int | None = None,
) -> LiveCurves:
    """Train an agent by interaction with an environment, one run per seed, and test its greedy policy.

    env: made by `monitored`, gymnasium.make("monmdp/…") or wrappers around these that keep `info`; or any other, with
    a monitor, by default Full. Actions must be discrete, and so must observations (or tuples of discrete parts) unless
    there is a discretizer: Bins, Tiles, or a function observation → state and the number of states. Agents with
    networks, such as DeepDirected, take all observations that can be flattened, need no discretizer but a reward_range,
    and take vector environments too, where `steps` counts those of all copies.
    points: number of tests, by default 20. reward_range: smallest and largest reward, from which agents derive
    optimistic initial values and bounds; those that need it and do not get it raise an error. value_range: smallest and
    largest discounted return, monitor rewards included, if it is known to be narrower than what reward_range and
    discount allow; agents with networks tell values apart better in a narrow range. test_env: a second copy
    for test episodes, by default gymnasium.make(env.spec); where that is impossible, a warning says so and returns are
    NaN. Returns are discounted; undiscounted_returns are not, and end where a discounted reward would count for less
    than 1e-9. progress: True shows a bar; a function is called with the number of steps done and of all.
    seed: one seed, in place of seeds. A state is a possible goal once it was entered.
    """
    example = "Live training needs an environment such as gymnasium.make('Blackjack-v1')"
    if not isinstance(env, VectorEnv):
        check.instance(env, gymnasium.Env, example)
    if test_env is not None:
        check.instance(test_env, gymnasium.Env, example)
    length = check.steps(steps, what="The number of steps")
    if seed is not None and seeds != 1:
        raise MonMDPError("Give seed or seeds, not both; seed=3 is the same as seeds=[3].")
    chosen_seeds = as_seeds(seeds) if seed is None else [check.seed(seed, "The seed")]
    check.whole(test_episodes, 1, "The number of test episodes")
    discount = check.discount(discount)
    point_steps = recording_points(length, min(DEFAULT_POINTS, length) if points is None else points)
    chosen = AGENTS.build(agent)
    if isinstance(env, VectorEnv) and not isinstance(chosen, HasLive):
        raise MonMDPError(f"{chosen.name} takes single environments; agents such as DeepDirected take vectors of them.")
    options = chosen.filled({"alpha": 1.0})
    rewards = None if reward_range is None else _checked_range(reward_range, "reward")
    values = None if value_range is None else _checked_range(value_range, "value")
    if rewards is not None:
        options = options.filled(options.defaults(_bounds(env, rewards, values, discount)))
    elif values is not None:
        raise MonMDPError("A value_range needs a reward_range too.")
    world = with_monitor(env, monitor)
    test_world = _second_copy(env, monitor) if test_env is None else with_monitor(test_env, monitor)
    environment, monitor_name = _names(world)
    started, total = time.perf_counter(), length * len(chosen_seeds)
    bar = progress_bar(f"{chosen.name} in {environment}", print_message)
    with bar if progress is True else nullcontext(progress) as show:
        records, tables = [], []
        for number, each in enumerate(chosen_seeds):
            tests = Tests(discount, test_episodes, each)
            if isinstance(options, HasLive):
                if discretizer is not None:
                    raise MonMDPError(f"{chosen.name} needs no discretizer; leave it out.")
                run = options.live(world, test_world, each, point_steps, discount, rewards, values, tests)
            else:
                run = LiveRun(world, test_world, options, discretizer, each, point_steps, discount, tests)

            def report(step: int, before: int = number * length) -> None:
                if callable(show):
                    show(before + step, total)

            record, ends = run.train(report)
            if tests.blind:
                _no_tests("The info of the environment for tests has no 'env_reward' (evaluation_info=False)", 3)
                test_world = None
            records.append(record)
            tables.append({**ends, "undiscounted_returns": np.array(tests.undiscounted)})
    arrays: dict[str, Any] = {
        name: np.stack([ends[name] for ends in tables]) for name in (*TABLES, "undiscounted_returns")
    }
    return LiveCurves(
        environment=environment,
        monitor=monitor_name,
        agent=chosen.name,
        seeds=chosen_seeds,
        steps=point_steps,
        recorded={name: np.stack([getattr(each, name) for each in records]) for name in records[0]._fields},
        **arrays,
        policies=[ends.get("policy") for ends in tables],
        seconds=time.perf_counter() - started,
    )


def with_monitor(env: Any, monitor: Monitor | str | None) -> Any:
    """The environment, or vector environment, as it is if it is monitored, else with a monitor around it."""
    has_parts = all(isinstance(space, Dict) and set(space) == {"env", "monitor"} for space in spaces_of(env))
    if not has_parts and not any(isinstance(layer, (Prepared, MonitoredEnv)) for layer in layers_of(env)):
        return monitored(env, "Full" if monitor is None else monitor)
    if monitor is not None:
        raise MonMDPError(f"{shown(env)} has a monitor already; leave out the monitor {shown(monitor)}.")
    if not has_parts:
        raise MonMDPError(
            f"Live training needs observations and actions with the parts env and monitor; make {shown(env)} with "
            "actions='dict' and observations='dict', and without wrappers that flatten them."
        )
    return env


def _names(env: Any) -> tuple[str, str]:
    """Names of the environment and its monitor."""
    core = env.unwrapped
    if hasattr(core, "problem"):  # MonitoredEnv, or the vector of it
        return core.problem.environment.name, core.problem.monitor.name
    monitor = next((layer.monitor for layer in layers_of(env) if isinstance(layer, Prepared)), None)
    return core.spec.id if core.spec else type(core).__name__, getattr(monitor, "name", "its monitor")


def _second_copy(env: Any, monitor: Monitor | str | None) -> Any:
    """A copy of the environment, or of one of a vector, for tests, or None, with a warning, where none can be made."""
    try:
        spec = copy.copy(env.spec)
        if spec is None:
            raise MonMDPError("it has no spec")
        spec.additional_wrappers = tuple(layer for layer in spec.additional_wrappers if layer.name not in NOT_TESTED)
        if isinstance(env, VectorEnv):
            spec.kwargs = {name: value for name, value in spec.kwargs.items() if name not in VECTOR_OPTIONS}
            wrapper: Any = next((layer for layer in layers_of(env) if isinstance(layer, Prepared)), None)
            if wrapper is not None:
                return monitored(gymnasium.make(spec), **wrapper._saved_kwargs)
        return with_monitor(gymnasium.make(spec), monitor)
    except Exception as error:  # environments and wrappers of users can raise anything
        _no_tests(f"No second copy of {shown(env)} can be made ({error})", 4)
        return None


def _no_tests(reason: str, depth: int) -> None:
    warnings.warn(
        f"{reason}, so returns are NaN; pass a second copy as test_env, which is only used for tests.",
        MonMDPWarning,
        stacklevel=depth,
    )


def _checked_range(given: Any, what: str) -> tuple[float, float]:
    """The smallest and the largest reward, or value."""
    if not isinstance(given, Sequence) or len(given) != 2:
        raise MonMDPError(f"The {what} range must be the smallest and the largest {what}, not {shown(given)}.")
    low, high = (check.finite(bound, f"A bound of the {what} range") for bound in given)
    if low > high:
        raise MonMDPError(f"The {what} range must begin with the smaller bound, not {shown(given)}.")
    return low, high


def _bounds(
    env: Any, reward_range: tuple[float, float], value_range: tuple[float, float] | None, discount: float
) -> Bounds:
    """Bounds on rewards and values from the range of rewards and the registered step limit, unless they are known."""
    low, high = reward_range
    if value_range is not None:
        return Bounds(low, value_range[1])
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
        if self.sees_everything and np.isnan(transition.proxy_reward):
            raise MonMDPError(
                f"{self.agent.name} needs every reward, and info has no 'env_reward'; leave out evaluation_info=False."
            )
        self.memory.visits[transition.state * self.memory.q.shape[1] + transition.action] += 1
        if not transition.terminated:
            self._discover(transition.next_state)
        self.kernels.update(self.memory, transition)
        self._step += 1

    def answered(self, transition: Transition) -> None:
        """Learn the reward of an earlier transition, which has arrived now."""
        if not isinstance(self.agent, HasLateAnswers):
            raise MonMDPError(
                f"{self.agent.name} cannot use rewards that arrive later; give its class a method "
                "answered(memory, transition), or choose another agent."
            )
        self.agent.answered(self.memory, transition._replace(step=self._step - 1))

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


class LiveRun:
    """One seed of live training: a simulation, a learner and its tests."""

    def __init__(
        self, env: Any, test_env: Any, agent: Agent, discretizer: Discretizer, seed: int, point_steps: Integers,
        discount: float, tests: Tests,
    ) -> None:  # fmt: skip
        states = states_of(env.observation_space["env"], discretizer)
        self.game = LiveSimulation(env, states.n, states.training, seed)
        self.learner = LiveLearner(agent, self.game, int(point_steps[-1]), seed, discount)
        self._point_steps, self._tests = point_steps, tests
        if test_env is not None:
            tests.game = LiveSimulation(test_env, states.n, states.testing, seed + 1)

    def train(self, report: Callable[[int], None]) -> tuple[Any, dict[str, Any]]:
        """The record and final tables of the seed; report: called with the number of steps done at every point."""
        memory = self.learner.memory

        def evaluate(step: int) -> float:
            report(step)
            self.learner.kernels.plan(memory, step)
            return self._tests(lambda state: int(memory.q[state].argmax()))  # among tied actions, the first

        record, visits = interact(self.game, self.learner, self.game.env_pairs, self._point_steps, evaluate)
        rewards = getattr(memory, "reward_model", np.zeros(0))
        return record, {"visit_counts": visits, "q": memory.q, "reward_model": rewards}


class Tests:
    """Greedy test episodes of one seed in an environment for tests, `game`, or none if that is None.

    undiscounted: the mean return of each test so far. blind: whether `info` had no true rewards.
    """

    game: Any = None
    blind = False

    def __init__(self, discount: float, episodes: int, seed: int) -> None:
        self._discount, self._episodes, self._seed = discount, episodes, seed
        self.undiscounted: list[float] = []

    def __call__(self, greedy: Callable[[Any], int]) -> float:
        """Mean discounted return of episodes with a policy, a function state of `game` → joint action."""
        game, totals = self.game, np.zeros(2)
        for episode in range(self._episodes if game is not None else 0):
            game.restart(self._seed + 1 + episode)
            weight, over = 1.0, False
            while not over:
                outcome = game.step(greedy(game.state))
                reward = outcome.env_reward + outcome.monitor_reward
                totals += weight * reward, reward
                weight *= self._discount
                over = outcome.terminated or outcome.truncated or weight < NEGLIGIBLE
        if game is None:
            totals[:] = np.nan
        elif np.isnan(totals).any():
            self.game, self.blind = None, True
        self.undiscounted.append(totals[1] / self._episodes)
        return float(totals[0] / self._episodes)
