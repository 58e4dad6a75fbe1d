"""Monitored environments as live training sees them: sizes, and games with the interface of `Simulation`."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from monmdp import check
from monmdp.agents.base import Transition
from monmdp.errors import MonMDPError, shown
from monmdp.machine import check_memory
from monmdp.simulation import Outcome
from monmdp.training.discretizers import discrete
from monmdp.world import World

#: Bytes per pair that live training always needs, and what to do if they do not fit.
PAIR_BYTES, SMALLER = 40, "choose a smaller environment or monitor, or fewer states of the discretizer"


def layers_of(env: Any) -> list[Any]:
    """An environment or vector environment and what is inside it, from the outside."""
    layers = [env]
    while isinstance(layers[-1], (gymnasium.Wrapper, VectorWrapper)):
        layers.append(layers[-1].env)
    return layers


def spaces_of(env: Any) -> tuple[Any, Any]:
    """Observation space and action space of an environment, or of one copy of a vector environment."""
    if isinstance(env, VectorEnv):
        return env.single_observation_space, env.single_action_space
    return env.observation_space, env.action_space


class Sizes(NamedTuple):
    """The numbers of monitor states, environment actions and monitor actions, and the first environment action."""

    n_monitor_states: int
    n_env_actions: int
    n_monitor_actions: int
    first_action: int

    def world(self, n_env_states: int, discount: float) -> World:
        """A world with sizes only, since there is no model."""
        n_states, n_actions = n_env_states * self.n_monitor_states, self.n_env_actions * self.n_monitor_actions
        env_state, monitor_state = np.divmod(np.arange(n_states, dtype=np.int32), np.int32(self.n_monitor_states))
        sizes = World._make([np.zeros(0)] * len(World._fields))
        return sizes._replace(
            env_state=env_state,
            monitor_state=monitor_state,
            n_states=n_states,
            n_acting_states=n_states,
            n_actions=n_actions,
            n_env_pairs=n_env_states * self.n_env_actions,
            n_env_states=n_env_states,
            n_monitor_states=self.n_monitor_states,
            n_monitor_actions=self.n_monitor_actions,
            step_limit=0,
            discount=discount,
        )


def sizes_of(env: Any) -> Sizes:
    """The sizes of a monitored environment, or vector environment, with discrete actions."""
    seen, actions = spaces_of(env)
    n_env_actions, _ = discrete(actions["env"], "actions")
    return Sizes(int(seen["monitor"].n), n_env_actions, int(actions["monitor"].n), int(actions["env"].start))


class LiveGame:
    """A monitored environment with the interface of `Simulation`.

    read: a function of the environment's observation and the monitor's state that returns `state`.
    """

    def __init__(self, env: Any, read: Callable[[Any, int], Any], seed: int) -> None:
        self._env, self._read, self.sizes = env, read, sizes_of(env)
        self._remembered: dict[Any, Transition] = {}
        self._step_id: Any = None
        self._answers: Iterable[tuple[Any, float]] = ()
        self.restart(seed)

    def restart(self, seed: int | None = None) -> None:
        """Begin a new episode."""
        observation, _ = self._env.reset(seed=seed)
        self.state, self.elapsed = self._read(observation["env"], int(observation["monitor"])), 0

    def step(self, action: int) -> Outcome:
        """Take a joint action; the caller restarts after the end of an episode."""
        env_action, monitor_action = divmod(action, self.sizes.n_monitor_actions)
        taken = {"env": self.sizes.first_action + env_action, "monitor": monitor_action}
        observation, _, terminated, truncated, info = self._env.step(taken)
        try:
            observed, proxy_reward, monitor_reward = (
                info[key] for key in ("reward_observed", "proxy_reward", "monitor_reward")
            )
        except KeyError as error:
            raise MonMDPError(f"The info of {shown(self._env)} has no {error}; wrappers must pass info on.") from None
        reward = float(proxy_reward if observed else info.get("env_reward", np.nan))
        self._step_id = info["step_id"] if info.get("reward_pending") else None
        self._answers = info.get("answers", ())
        self.state = self._read(observation["env"], int(observation["monitor"]))
        self.elapsed += 1
        return Outcome(self.state, reward, float(monitor_reward), bool(observed), bool(terminated), bool(truncated))

    def answers(self, transition: Transition) -> list[Transition]:
        """Earlier transitions whose reward arrived with the last step; remembers the last one if its own is pending."""
        if self._step_id is not None:
            self._remembered[self._step_id] = transition
        return [
            self._remembered.pop(step_id)._replace(proxy_reward=check.finite(reward, "A reward in info['answers']"))
            for step_id, reward in self._answers
            if step_id in self._remembered
        ]


class LiveSimulation(LiveGame):
    """A monitored environment whose observations and actions are joint indices.

    n_env_states: the number of environment states; env_state: a function observation → environment state.
    """

    def __init__(self, env: Any, n_env_states: int, env_state: Callable[[Any], int], seed: int) -> None:
        sizes, self._n_env_states, self._env_state = sizes_of(env), n_env_states, env_state
        self.n_states = n_env_states * sizes.n_monitor_states
        self.n_actions = sizes.n_env_actions * sizes.n_monitor_actions
        pairs = self.n_states * self.n_actions
        check_memory(PAIR_BYTES * pairs, f"Live training with {pairs:,} pairs of states and actions", SMALLER)
        state, action = np.divmod(np.arange(pairs), self.n_actions)
        self.env_pairs = state // sizes.n_monitor_states * sizes.n_env_actions + action // sizes.n_monitor_actions
        super().__init__(env, self._joint, seed)

    def world(self, discount: float) -> World:
        """A world with sizes only."""
        return self.sizes.world(self._n_env_states, discount)

    def _joint(self, observation: Any, monitor: int) -> int:
        """The index of an observation, which must be in the observation space."""
        try:
            state = int(self._env_state(observation))
        except (TypeError, ValueError, IndexError) as error:
            if isinstance(error, MonMDPError):
                raise
            state = -1
        if not 0 <= state < self._n_env_states:
            raise MonMDPError(
                f"{self._env} returned the observation {shown(observation)}, which is not in its observation space, "
                f"{self._env.observation_space['env']}."
            )
        return state * self.sizes.n_monitor_states + monitor
