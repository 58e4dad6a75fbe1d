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
from monmdp.gym.single import observation_of, spaces
from monmdp.problem import Booleans, MonMDP
from monmdp.rng import stream
from monmdp.simulation import STREAMS

Arrays = dict[str, np.ndarray]


class MonitoredVectorEnv(VectorEnv):
    """Copy i, seeded with seed + i, produces the same episodes as a MonitoredEnv seeded with seed + i."""

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
            raise MonMDPError(f"{len(seeds)} seeds do not match {self.num_envs} environments; give one for each.")
        mask = (options or {}).get("reset_mask")
        if mask is None:
            mask = np.ones(self.num_envs, np.bool_)
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise MonMDPError(f"The reset mask must be a boolean array of {self.num_envs} entries.")
        if not mask.any():
            raise MonMDPError("The reset mask selects no environment; set at least one entry to True.")
        for i in np.flatnonzero(mask):
            chosen = seeds[i]
            if chosen is not None or not self._seeded[i]:
                chosen = int(self.np_random.integers(2**63)) if chosen is None else int(chosen)
                self._keys[i] = [stream(chosen, role) for role in STREAMS]
                self._clock[i] = self._episode[i] = 0
                self._seeded[i] = True
        self._restart(mask)
        return self._observations(), {}

    def step(self, actions: Any) -> tuple[Arrays, np.ndarray, Booleans, Booleans, dict[str, Any]]:
        """Step all copies; those that have ended are reset according to the autoreset mode."""
        from monmdp.kernels.stepping import step_many

        if not self._seeded.all():
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise gymnasium.error.ResetNeeded("Some environments have ended; reset them with options['reset_mask'].")
        stepping = ~self._done
        env_reward, monitor_reward = np.zeros((2, self.num_envs))
        observed, terminated, truncated = np.zeros((3, self.num_envs), np.bool_)
        step_many(
            self.problem.dynamics, self.problem.n_actions, self.problem.step_limit or 0, self._keys, stepping,
            self._joint_actions(actions), self._state, self._elapsed, self._clock,
            env_reward, monitor_reward, observed, terminated, truncated,
        )  # fmt: skip
        rewards = monitor_reward + np.where(observed, env_reward, 0.0)
        info: Arrays = {
            "proxy_reward": np.where(observed, env_reward, np.nan),
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
            "env_reward": env_reward,
        }
        done = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            infos = _masked(info, ~done)
            if done.any():
                infos |= {"final_obs": self._final_observations(done), "_final_obs": done.copy()}
                infos |= {"final_info": _masked(info, done), "_final_info": done.copy()}
                self._restart(done)
        else:
            infos = _masked(info, stepping)
            if self.autoreset_mode == AutoresetMode.NEXT_STEP and self._done.any():
                self._restart(self._done)
            self._done = done
        return self._observations(), rewards, terminated, truncated, infos

    def _restart(self, mask: Booleans) -> None:
        from monmdp.kernels.stepping import reset_many

        starts = self.problem.start_states, self.problem.start_cumulative
        reset_many(*starts, self._keys, mask, self._state, self._elapsed, self._episode)
        self._done = self._done & ~mask

    def _joint_actions(self, actions: Any) -> np.ndarray:
        sizes = len(self.problem.environment.actions), len(self.problem.monitor.actions)
        try:
            parts = np.asarray(actions["env"]), np.asarray(actions["monitor"])
        except (TypeError, KeyError, IndexError):
            raise MonMDPError("Actions are a dict of two arrays, 'env' and 'monitor'.") from None
        for name, part, size in zip(("env", "monitor"), parts, sizes, strict=True):
            integers = part.shape == (self.num_envs,) and part.dtype.kind in "iu"
            if not integers or part.min() < 0 or part.max() >= size:
                raise MonMDPError(f"actions[{name!r}] must be {self.num_envs} integers between 0 and {size - 1}.")
        joint: np.ndarray = parts[0].astype(np.int64) * sizes[1] + parts[1]
        return joint

    def _observations(self) -> Arrays:
        env_state, monitor_state = np.divmod(self._state, len(self.problem.monitor.states))
        return {"env": env_state, "monitor": monitor_state}

    def _final_observations(self, done: Booleans) -> np.ndarray:
        final = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(done):
            final[i] = observation_of(self.problem, self._state[i])
        return final


def _autoreset(mode: AutoresetMode | str) -> AutoresetMode:
    for known in AutoresetMode:
        if mode is known or str(mode).upper() in (known.name, known.value.upper()):
            return known
    raise MonMDPError(f"The autoreset mode is NEXT_STEP, SAME_STEP or DISABLED, not {mode!r}.")


def _masked(info: Arrays, mask: Booleans) -> dict[str, Any]:
    """Gymnasium's vector info: zero for environments without an entry, and a mask for every key."""
    masked: dict[str, Any] = {}
    for key, value in info.items() if mask.any() else ():
        masked[key] = np.where(mask, value, np.zeros((), value.dtype))
        masked[f"_{key}"] = mask.copy()
    return masked
