"""A monitor around any Gymnasium environment: `monitored`, for environments that are not tables."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.utils import RecordConstructorArgs

from monmdp import check
from monmdp.environments import Environment, Rule, from_gymnasium
from monmdp.errors import MonMDPError, NoTableError, shown
from monmdp.gym.shapes import ActionShape, ObservationShape, action_shape, observation_shape
from monmdp.gym.single import HIDDEN
from monmdp.join import never_observable_pairs
from monmdp.monitors import MONITORS, Monitor
from monmdp.simulation import MonitorSimulation

Predicate = Callable[[Any, Any], Any]


def monitored(
    env: gymnasium.Env[Any, Any],
    monitor: Monitor | str,
    *,
    at: Predicate | None = None,
    hidden: Predicate | None = None,
    budget: int | None = None,
    actions: ActionShape = "dict",
    observations: ObservationShape = "dict",
    evaluation_info: bool = True,
) -> gymnasium.Env[Any, Any]:
    """Put a monitor around any Gymnasium environment, with `reward` and `info` as in `MonitoredEnv`.

    at: a function of the observation and the environment action that places what needs a place. It returns whether the
    button of Button is pressed, or a whole number, the pair of RandomPair. hidden: such a function that returns whether
    the reward can never be observed. budget: the number of rewards that are shown; afterwards all are hidden, and
    costs are the same. A reset with a seed restores it.

    actions: "dict" with the parts env and monitor; "joint", one Discrete, for discrete actions; "multidiscrete"; "box",
    for continuous actions, with one more dimension for every monitor action but the first: the largest of them selects
    the action if it is above zero, otherwise the first action is taken. observations: "dict" with the parts env and
    monitor; "concat", one vector that ends with the monitor state, one-hot; "channels", an image with one plane per
    monitor state. evaluation_info: whether `info` has env_reward, the true reward.
    """
    return Monitored(
        env,
        monitor,
        at=at,
        hidden=hidden,
        budget=budget,
        actions=actions,
        observations=observations,
        evaluation_info=evaluation_info,
    )


class Monitored(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """An environment with a monitor, made by `monitored`."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        monitor: Monitor | str,
        *,
        at: Predicate | None = None,
        hidden: Predicate | None = None,
        budget: int | None = None,
        actions: ActionShape = "dict",
        observations: ObservationShape = "dict",
        evaluation_info: bool = True,
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,  # functions and monitors do not change
            monitor=monitor,
            at=at,
            hidden=hidden,
            budget=budget,
            actions=actions,
            observations=observations,
            evaluation_info=evaluation_info,
        )
        check.instance(env, gymnasium.Env, "monitored takes an environment such as gymnasium.make('CartPole-v1')")
        super().__init__(env)
        for name, predicate in (("at", at), ("hidden", hidden)):
            if predicate is not None and not callable(predicate):
                raise MonMDPError(f"{name} must be a function of (observation, action), not {shown(predicate)}.")
        self.monitor = MONITORS.build(monitor)
        self._at, self._hidden, self._evaluation_info = at, hidden, check.boolean(evaluation_info, "evaluation_info")
        self._budget = math.inf if budget is None else check.whole(budget, 0, "The budget")
        self._table, self._never = _place(env, self.monitor, at is not None)
        self._simulation = MonitorSimulation(self.monitor, self._table or Unlisted(title=_title(env)))
        n_states, n_actions = len(self._simulation.states), len(self._simulation.actions)
        self.action_space, self._split = action_shape(actions, env.action_space, n_actions)
        self.observation_space, self._combine = observation_shape(observations, env.observation_space, n_states)
        # continuous actions are not checked: environments clip them
        space = env.action_space
        self._limits = (space.start, space.start + space.n) if isinstance(space, Discrete) else None
        self._observation: Any = None
        self._started = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; a seed also restarts the monitor's random streams and restores the budget."""
        if seed is not None or not self._started:
            self._simulation.seed(int(np.random.default_rng().integers(2**63)) if seed is None else int(seed))
            self._left, self._started = self._budget, True
        self._observation, info = self.env.reset(seed=seed, options=options)
        self._simulation.restart()
        return self._combine(self._observation, self._simulation.state), _without_rewards(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an environment action and a monitor action."""
        simulation = self._simulation
        if not self._started:
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        try:
            env_action, choice = self._split(action)
            known = self._limits is None or self._limits[0] <= env_action < self._limits[1]
        except (TypeError, KeyError, IndexError, ValueError):
            known = False
        if not known or not 0 <= choice < len(simulation.actions):
            example = self.action_space.sample()
            raise MonMDPError(f"The action {shown(action)} is not in the action space; an example is {example}.")
        state, label, pair, place = self._observation, env_action, None, None
        visible = self._hidden is None or not _asked(self._hidden, "hidden", bool, state, env_action)
        if self._table is not None:
            state, index = int(state), int(env_action)
            label, pair = self._table.actions[index], state * len(self._table.actions) + index
            visible = visible and pair not in self._never
        if self._at is not None:
            pair = place = _asked(self._at, "at", int, self._observation, env_action)
        self._observation, reward, env_terminated, truncated, env_info = self.env.step(env_action)
        if not (isinstance(reward, float) and abs(reward) <= check.LARGEST):
            reward = check.finite(reward, f"The reward of action {shown(env_action)} in {_title(self.env)}")
        env_reward, env_terminated = float(reward), bool(env_terminated)
        monitor_reward, observed, terminated = simulation.step(
            choice, state, label, env_reward, env_terminated, pair, place, visible=visible and self._left > 0
        )
        self._left -= observed
        terminated = terminated or env_terminated
        info = {
            **_without_rewards(env_info),
            "proxy_reward": env_reward if observed else HIDDEN,
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
        }
        if self._budget < math.inf:
            info["answers_left"] = self._left
        if self._evaluation_info:
            info["env_reward"] = env_reward
        total = monitor_reward + (env_reward if observed else 0.0)
        seen = self._combine(self._observation, simulation.state)
        return seen, total, terminated, bool(truncated) and not terminated, info


@dataclass(frozen=True)
class Unlisted(Environment):
    """Stands for an environment without lists of states and actions when a monitor is installed."""

    title: str = ""

    @property
    def states(self) -> Any:
        raise MonMDPError(
            f"{self.title} has no list of states or actions to choose from; leave out the monitor's options that name "
            "them, and pass functions: monmdp.monitored(env, monitor, at=lambda observation, action: …, hidden=…)."
        )

    actions = states

    @property
    def button(self) -> Any:
        return None, None


def _place(env: gymnasium.Env[Any, Any], monitor: Monitor, placed: bool) -> tuple[Environment | None, set[int]]:
    """The environment's states and actions, if they can be listed, and its pairs that are never observable."""
    never = check.as_label(monitor.never_observable) != ()
    try:
        table = from_gymnasium(env)
        return table, never_observable_pairs(table, monitor)
    except NoTableError:
        pass
    spaces: Any = (env.observation_space, env.action_space)
    if all(isinstance(space, Discrete) and space.start == 0 for space in spaces):
        labels: Any = [range(space.n) for space in spaces]
        numbered = Rule(states=labels[0], actions=labels[1], title=_title(env))
        return numbered, never_observable_pairs(numbered, monitor) if never else set()
    title, name = _title(env), monitor.name
    if never:
        raise MonMDPError(
            f"{title} has no list of states for never_observable; say which rewards are never shown with "
            f"monmdp.monitored(env, {type(monitor).__name__!r}, hidden=lambda observation, action: …)."
        )
    if monitor.needs_place and not placed:
        raise MonMDPError(
            f"{type(monitor).__name__} needs a place, and {title} has no list of states; choose one with "
            f"monmdp.monitored(env, {name!r}, at=lambda observation, action: …)."
        )
    return None, set()


def _title(env: gymnasium.Env[Any, Any]) -> str:
    return type(env.unwrapped).__name__ if env.spec is None else env.spec.id


def _asked(predicate: Predicate, name: str, kind: Any, observation: Any, action: Any) -> Any:
    """What a user's function returns, as a bool or int."""
    try:
        return kind(predicate(observation, action))
    except Exception as error:  # code of a user can raise anything
        where = f"{name}, for observation {shown(observation)} and action {shown(action)},"
        raise check.raised(where, error) from error


def _without_rewards(info: Mapping[str, Any]) -> dict[str, Any]:
    """An environment's own info without entries that would reveal a hidden reward."""
    return {key: value for key, value in info.items() if key != "episode" and "reward" not in key} if info else {}
