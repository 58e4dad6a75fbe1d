"""A monitor around any Gymnasium environment: `monitored`, for environments that are not tables."""

import math
from operator import index
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from monmdp import check
from monmdp.errors import MonMDPError, shown
from monmdp.gym.preparation import Predicate, Prepared, asked, title_of, without_rewards
from monmdp.gym.shapes import ActionShape, ObservationShape
from monmdp.gym.single import HIDDEN
from monmdp.monitors import Monitor

#: One environment or a vector environment.
T = TypeVar("T", gymnasium.Env[Any, Any], VectorEnv[Any, Any, Any])


def monitored(
    env: T,
    monitor: Monitor | str,
    *,
    at: Predicate | None = None,
    hidden: Predicate | None = None,
    budget: int | None = None,
    actions: ActionShape = "dict",
    observations: ObservationShape = "dict",
    evaluation_info: bool = True,
) -> T:
    """Put a monitor around any Gymnasium environment, with `reward` and `info` as in `MonitoredEnv`.

    env: an environment, or a vector environment, each copy of which gets its own monitor and budget.

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
    kind: Any = Monitored
    if isinstance(env, VectorEnv):
        from monmdp.gym.vector_wrapper import VectorMonitored  # kernels are imported where they are needed

        kind = VectorMonitored
    return kind(  # type: ignore[no-any-return]
        env,
        monitor,
        at=at,
        hidden=hidden,
        budget=budget,
        actions=actions,
        observations=observations,
        evaluation_info=evaluation_info,
    )


class Monitored(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs, Prepared):
    """An environment with a monitor, made by `monitored`, which has the options.

    env_spaces: observation space and action space of the environment alone. env_transition: its last step, as
    (observation, action, next observation).
    """

    def __init__(self, env: gymnasium.Env[Any, Any], monitor: Monitor | str, **options: Any) -> None:
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,  # functions and monitors do not change
            monitor=monitor,
            **options,
        )
        check.instance(env, gymnasium.Env, "monitored takes an environment such as gymnasium.make('CartPole-v1')")
        super().__init__(env)
        spaces = env.observation_space, env.action_space
        self.observation_space, self.action_space = self._prepare(env, title_of(env), spaces, monitor, **options)
        self.env_transition: tuple[Any, Any, Any] | None = None
        self._observation: Any = None
        self._started = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode; a seed also restarts the monitor's random streams and restores the budget."""
        if seed is not None or not self._started:
            self._simulation.seed(int(np.random.default_rng().integers(2**63)) if seed is None else int(seed))
            self._left, self._started = self._budget, True
        self._observation, info = self.env.reset(seed=seed, options=options)
        self._simulation.restart()
        return self._combine(self._observation, self._simulation.state), without_rewards(info)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an environment action and a monitor action."""
        simulation = self._simulation
        if not self._started:
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        try:
            env_action, choice = self._split(action)
            choice = index(choice)
            known = self._limits is None or self._limits[0] <= env_action < self._limits[1]
        except (TypeError, KeyError, IndexError, ValueError):
            known = False
        if not known or not 0 <= choice < len(simulation.actions):
            example = self.action_space.sample()
            raise MonMDPError(f"The action {shown(action)} is not in the action space; an example is {example}.")
        before, step_id = self._observation, simulation.clock
        state, label, pair, place = before, env_action, None, None
        visible = self._hidden is None or not asked(self._hidden, "hidden", bool, state, env_action)
        if self._table is not None:
            state, row = int(state), int(env_action)
            label, pair = self._table.actions[row], state * len(self._table.actions) + row
            visible = visible and pair not in self._never
        if self._at is not None:
            pair = place = asked(self._at, "at", int, self._observation, env_action)
        self._observation, reward, env_terminated, truncated, env_info = self.env.step(env_action)
        if not (isinstance(reward, float) and abs(reward) <= check.LARGEST):
            reward = check.finite(reward, f"The reward of action {shown(env_action)} in {self._title}")
        env_reward, env_terminated = float(reward), bool(env_terminated)
        monitor_reward, observed, terminated = simulation.step(
            choice, state, label, env_reward, env_terminated, pair, place, visible=visible and self._left > 0
        )
        self.env_transition = before, env_action, self._observation
        self._left -= observed
        terminated = terminated or env_terminated
        info = {
            **without_rewards(env_info),
            "proxy_reward": env_reward if observed else HIDDEN,
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
            "step_id": step_id,
        }
        if self._budget < math.inf:
            info["answers_left"] = self._left
        if self._evaluation_info:
            info["env_reward"] = env_reward
        total = monitor_reward + (env_reward if observed else 0.0)
        seen = self._combine(self._observation, simulation.state)
        return seen, total, terminated, bool(truncated) and not terminated, info
