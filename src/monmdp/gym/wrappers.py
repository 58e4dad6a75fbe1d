"""Discrete views, for algorithms that know no dictionaries."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete

from monmdp.errors import MonMDPError


class FlattenDiscrete(gymnasium.Wrapper[Any, Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Joint states and joint actions as one number each; indices are those of the MonMDP."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        if not isinstance(env.observation_space, Dict) or not isinstance(env.action_space, Dict):
            raise MonMDPError("FlattenDiscrete wraps environments with an observation and an action of two parts.")
        self._monitor_states = int(env.observation_space["monitor"].n)  # type: ignore[attr-defined]
        self._monitor_actions = int(env.action_space["monitor"].n)  # type: ignore[attr-defined]
        self.observation_space = Discrete(int(env.observation_space["env"].n) * self._monitor_states)  # type: ignore[attr-defined]
        self.action_space = Discrete(int(env.action_space["env"].n) * self._monitor_actions)  # type: ignore[attr-defined]

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
