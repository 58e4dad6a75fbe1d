"""Many copies of one MonMDP as a compiled Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.gym.single import STREAMS, spaces
from monmdp.problem import Booleans, MonMDP
from monmdp.rng import stream

Arrays = dict[str, np.ndarray]


class MonitoredVectorEnv(VectorEnv):
    """Copy i, seeded with seed + i, plays exactly the game of a MonitoredEnv seeded with seed + i."""

    def __init__(
        self, problem: MonMDP, num_envs: int = 1, autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP
    ) -> None:
        self.problem = problem
        self.num_envs = check.whole(num_envs, 1, "The number of environments")
        self.autoreset_mode = _autoreset(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = spaces(problem)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._starts = np.flatnonzero(problem.start)
        self._start_cumulative = np.cumsum(problem.start[self._starts])
        self._start_cumulative[-1] = np.inf
        self._start_keys = np.zeros(num_envs, np.uint64)
        self._keys = np.zeros((num_envs, len(STREAMS)), np.uint64)
        self._seeded = np.zeros(num_envs, np.bool_)
        self._state, self._elapsed, self._clock, self._episode = np.zeros((4, num_envs), np.int64)
        self._done = np.ones(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Start episodes in all copies, or in those of options["reset_mask"]."""
        if isinstance(seed, (int, np.integer)) or seed is None:
            super().reset(seed=None if seed is None else int(seed))
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise MonMDPError(f"{len(seeds)} seeds do not fit {self.num_envs} environments.")
        mask = np.ones(self.num_envs, np.bool_) if options is None else options.get("reset_mask")
        if mask is None:
            mask = np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise MonMDPError(f"The reset mask must be a boolean array of {self.num_envs} entries.")
        if not mask.any():
            raise MonMDPError("The reset mask selects no environment.")
        for i in np.flatnonzero(mask):
            if seeds[i] is not None or not self._seeded[i]:
                self._seed(int(i), seeds[i])
        self._restart(mask)
        return self._observations(), {}

    def step(self, actions: Any) -> tuple[Arrays, np.ndarray, Booleans, Booleans, dict[str, Any]]:
        """Step all copies; ended ones are reset as the autoreset mode says."""
        from monmdp.kernels.stepping import step_many

        if not self._seeded.all():
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise gymnasium.error.ResetNeeded("Some environments have ended; reset them with options['reset_mask'].")
        n = self.num_envs
        stepping = ~self._done
        env_reward, monitor_reward = np.zeros(n), np.zeros(n)
        observed, terminated, truncated = np.zeros((3, n), np.bool_)
        step_many(
            self.problem.dynamics, self.problem.n_actions, self.problem.step_limit or 0, self._keys, stepping,
            self._joint_actions(actions), self._state, self._elapsed, self._clock,
            env_reward, monitor_reward, observed, terminated, truncated,
        )  # fmt: skip
        rewards = monitor_reward + np.where(observed, env_reward, 0.0)
        info: dict[str, Any] = {
            "proxy_reward": np.where(observed, env_reward, np.where(stepping, np.nan, 0.0)),
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
            "env_reward": env_reward,
        }
        done = terminated | truncated
        infos: dict[str, Any] = {}
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            if done.any():
                infos = {"final_obs": self._final_observations(done), "_final_obs": done.copy()}
                infos |= {"final_info": _masked(info, done), "_final_info": done.copy()}
                self._restart(done)
            infos |= _masked(info, ~done)
        else:
            infos = _masked(info, stepping)
            if self.autoreset_mode == AutoresetMode.NEXT_STEP and self._done.any():
                self._restart(self._done.copy())
            self._done = done
        return self._observations(), rewards, terminated, truncated, infos

    def _seed(self, i: int, seed: int | None) -> None:
        chosen = int(self.np_random.integers(2**63)) if seed is None else int(seed)
        self._start_keys[i] = stream(chosen, "start")
        self._keys[i] = [stream(chosen, role) for role in STREAMS]
        self._clock[i] = self._episode[i] = 0
        self._seeded[i] = True

    def _restart(self, mask: Booleans) -> None:
        from monmdp.kernels.stepping import reset_many

        reset_many(
            self._starts, self._start_cumulative, self._start_keys, mask, self._state, self._elapsed, self._episode
        )
        self._done[mask] = False

    def _joint_actions(self, actions: Any) -> np.ndarray:
        try:
            env_action, monitor_action = np.asarray(actions["env"]), np.asarray(actions["monitor"])
        except (TypeError, KeyError, IndexError):
            raise MonMDPError("Actions are a dict of two arrays, 'env' and 'monitor'.") from None
        sizes = len(self.problem.environment.actions), len(self.problem.monitor.actions)
        for name, given, size in zip(("env", "monitor"), (env_action, monitor_action), sizes, strict=True):
            if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
                raise MonMDPError(f"actions[{name!r}] must be {self.num_envs} integers.")
            if given.min() < 0 or given.max() >= size:
                raise MonMDPError(f"actions[{name!r}] must be between 0 and {size - 1}.")
        joint: np.ndarray = env_action.astype(np.int64) * sizes[1] + monitor_action
        return joint

    def _observations(self) -> Arrays:
        env_state, monitor_state = np.divmod(self._state, len(self.problem.monitor.states))
        return {"env": env_state, "monitor": monitor_state}

    def _final_observations(self, done: Booleans) -> np.ndarray:
        final = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(done):
            env_state, monitor_state = self.problem.split_state(int(self._state[i]))
            final[i] = {"env": np.int64(env_state), "monitor": np.int64(monitor_state)}
        return final


def _autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    names = {kind.name: kind for kind in AutoresetMode} | {kind.value.upper(): kind for kind in AutoresetMode}
    if isinstance(mode, AutoresetMode):
        return mode
    if isinstance(mode, str) and mode.upper() in names:
        return names[mode.upper()]
    raise MonMDPError(f"The autoreset mode is NEXT_STEP, SAME_STEP or DISABLED, not {mode!r}.")


def _masked(info: dict[str, np.ndarray], mask: Booleans) -> dict[str, Any]:
    """Gymnasium's vector info: zero where an environment has nothing to say, with a mask beside every entry."""
    if not mask.any():
        return {}
    masked: dict[str, Any] = {}
    for key, value in info.items():
        masked[key] = np.where(mask, value, np.zeros((), value.dtype))
        masked[f"_{key}"] = mask.copy()
    return masked
