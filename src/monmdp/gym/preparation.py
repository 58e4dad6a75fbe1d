"""What `monitored` prepares for one environment and for many: the monitor, its place, and the shapes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
from gymnasium.spaces import Discrete, Space

from monmdp import check
from monmdp.environments import Environment, Rule, from_gymnasium
from monmdp.errors import MonMDPError, NoTableError, shown
from monmdp.gym.shapes import ActionShape, Batch, ObservationShape, action_shape, observation_shape
from monmdp.join import never_observable_pairs
from monmdp.monitors import MONITORS, Monitor
from monmdp.simulation import MonitorSimulation

Predicate = Callable[[Any, Any], Any]


class Prepared:
    """The options of `monitored`, checked, and what both of its forms derive from them."""

    def _prepare(
        self,
        env: gymnasium.Env[Any, Any] | None,
        title: str,
        spaces: tuple[Space[Any], Space[Any]],
        monitor: Monitor | str,
        batch: Batch = (),
        *,
        at: Predicate | None,
        hidden: Predicate | None,
        budget: int | None,
        actions: ActionShape,
        observations: ObservationShape,
        evaluation_info: bool,
    ) -> tuple[Space[Any], Space[Any]]:
        """Spaces of observations and actions of one environment with a monitor, from those without it.

        env: an environment that may have a table.
        """
        for name, predicate in (("at", at), ("hidden", hidden)):
            if predicate is not None and not callable(predicate):
                raise MonMDPError(f"{name} must be a function of (observation, action), not {shown(predicate)}.")
        self.monitor, self._title, self.env_spaces = MONITORS.build(monitor), title, spaces
        self._at, self._hidden, self._evaluation_info = at, hidden, check.boolean(evaluation_info, "evaluation_info")
        self._budget = math.inf if budget is None else check.whole(budget, 0, "The budget")
        self._table, self._never = _place(env, title, self.monitor, at is not None)
        self._simulation = MonitorSimulation(self.monitor, self._table or Unlisted(title=title))
        seen, space = spaces
        n_states, n_actions = len(self._simulation.states), len(self._simulation.actions)
        action_space, self._split = action_shape(actions, space, n_actions, batch)
        observation_space, self._combine_one = observation_shape(observations, seen, n_states)
        _, self._combine = observation_shape(observations, seen, n_states, batch)
        # continuous actions are not checked: environments clip them
        self._limits = (space.start, space.start + space.n) if isinstance(space, Discrete) else None
        return observation_space, action_space


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


def _place(
    env: gymnasium.Env[Any, Any] | None, title: str, monitor: Monitor, placed: bool
) -> tuple[Environment | None, set[int]]:
    """The environment's states and actions, if they can be listed, and its pairs that are never observable."""
    never = check.as_label(monitor.never_observable) != ()
    if env is not None:
        try:
            table = from_gymnasium(env)
            return table, never_observable_pairs(table, monitor)
        except NoTableError:
            spaces: Any = (env.observation_space, env.action_space)
        if all(isinstance(space, Discrete) and space.start == 0 for space in spaces):
            labels: Any = [range(space.n) for space in spaces]
            numbered = Rule(states=labels[0], actions=labels[1], title=title)
            return numbered, never_observable_pairs(numbered, monitor) if never else set()
    name = monitor.name
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


def title_of(env: Any) -> str:
    """An environment's name in messages."""
    return type(env.unwrapped).__name__ if env.spec is None else str(env.spec.id)


def asked(predicate: Predicate, name: str, kind: Any, observation: Any, action: Any) -> Any:
    """What a user's function returns, as a bool or int."""
    try:
        return kind(predicate(observation, action))
    except Exception as error:  # code of a user can raise anything
        where = f"{name}, for observation {shown(observation)} and action {shown(action)},"
        raise check.raised(where, error) from error


def without_rewards(info: Mapping[str, Any]) -> dict[str, Any]:
    """An environment's own info without entries, or masks of entries, that would reveal a hidden reward."""
    if not info:
        return {}
    return {key: value for key, value in info.items() if key not in ("episode", "_episode") and "reward" not in key}
