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
        spaces: tuple[Any, Any] = (env.observation_space, env.action_space)
        if not all(isinstance(space, Dict) for space in spaces):
            raise MonMDPError("FlattenDiscrete needs observations and actions of two parts, 'env' and 'monitor'.")
        self._monitor_states, self._monitor_actions = (int(space["monitor"].n) for space in spaces)
        self.observation_space, self.action_space = (
            Discrete(int(space["env"].n) * int(space["monitor"].n)) for space in spaces
        )

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
