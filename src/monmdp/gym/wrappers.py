"""Discrete observations and actions, for algorithms that do not support dictionaries."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete

from monmdp.errors import MonMDPError


class FlattenDiscrete(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Joint states and joint actions as one index each, the same as in the MonMDP."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        observations: Any = env.observation_space
        actions: Any = env.action_space
        if not isinstance(observations, Dict) or not isinstance(actions, Dict):
            raise MonMDPError(
                "FlattenDiscrete needs an environment whose observation and action have two parts, 'env' and 'monitor'."
            )
        self._monitor_states, self._monitor_actions = int(observations["monitor"].n), int(actions["monitor"].n)
        self.observation_space = Discrete(int(observations["env"].n) * self._monitor_states)
        self.action_space = Discrete(int(actions["env"].n) * self._monitor_actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        return self._flat(observation), info

    def step(self, action: Any) -> tuple[np.int64, Any, bool, bool, dict[str, Any]]:
        env_action, monitor_action = divmod(int(action), self._monitor_actions)
        parts = {"env": np.int64(env_action), "monitor": np.int64(monitor_action)}
        observation, *rest = self.env.step(parts)
        return self._flat(observation), *rest  # type: ignore[return-value]

    def _flat(self, observation: dict[str, np.int64]) -> np.int64:
        return np.int64(observation["env"] * self._monitor_states + observation["monitor"])
