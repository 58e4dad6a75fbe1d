"""Many copies of one MonMDP as a compiled Gymnasium vector environment."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.gym.single import build, joint_action, observation_of, spaces
from monmdp.kernels.stepping import Copies, reset_many, step_many
from monmdp.machine import check_memory
from monmdp.problem import Booleans
from monmdp.rng import stream
from monmdp.simulation import STREAMS

Arrays = dict[str, np.ndarray]
#: Bytes that a copy needs in states, spaces and results of a step.
COPY_BYTES = 300


class MonitoredVectorEnv(VectorEnv):
    """Copy i, seeded with seed + i, produces the same episodes as a MonitoredEnv seeded with seed + i.

    The problem is given as in MonitoredEnv; max_episode_steps is Gymnasium's name for the step limit. env_transition:
    the environment's part of the last step, (observations, actions, next observations), before resets.
    """

    def __init__(
        self,
        environment: Any,
        num_envs: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        evaluation_info: bool = True,
        **options: Any,
    ) -> None:
        if max_episode_steps is not None:
            options["step_limit"] = max_episode_steps
        self.problem, self._evaluation_info = build(environment, **options), evaluation_info
        self.num_envs = check.whole(num_envs, 1, "The number of environments")
        check_memory(COPY_BYTES * self.num_envs, f"{self.num_envs:,} environments", "choose fewer environments")
        modes = {key: mode for mode in AutoresetMode for key in (mode, mode.name, mode.value)}
        if autoreset_mode not in modes:
            raise MonMDPError(f"The autoreset mode is NEXT_STEP, SAME_STEP or DISABLED, not {autoreset_mode!r}.")
        self.autoreset_mode = modes[autoreset_mode]
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = spaces(self.problem)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.env_spaces = self.single_observation_space["env"], self.single_action_space["env"]
        self.env_transition: tuple[Any, Any, Any] | None = None
        self._copies = Copies(np.zeros((num_envs, len(STREAMS)), np.uint64), *np.zeros((4, num_envs), np.int64))
        self._seeded = np.zeros(num_envs, np.bool_)
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
            raise MonMDPError(f"Give one seed for each of the {self.num_envs} environments, not {len(seeds)}.")
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, np.bool_))
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise MonMDPError(f"The reset mask must be a boolean array of {self.num_envs} entries.")
        if not mask.any():
            raise MonMDPError("The reset mask selects no environment; set at least one entry to True.")
        for i in np.flatnonzero(mask):
            chosen = seeds[i]
            if chosen is not None or not self._seeded[i]:
                chosen = int(self.np_random.integers(2**63)) if chosen is None else int(chosen)
                self._copies.keys[i] = [stream(chosen, role) for role in STREAMS]
                self._copies.clock[i] = self._copies.episode[i] = 0
                self._seeded[i] = True
        self._restart(mask)
        self._done = self._done & ~mask
        return observation_of(self.problem, self._copies.state), {}

    def step(self, actions: Any) -> tuple[Arrays, np.ndarray, Booleans, Booleans, dict[str, Any]]:
        """Step all copies; those that have ended are reset according to the autoreset mode."""
        if not self._seeded.all():
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise gymnasium.error.ResetNeeded("Some environments have ended; reset them with options['reset_mask'].")
        stepping = ~self._done
        joint = joint_action(self.problem, self.action_space, actions)
        limit = self.problem.step_limit or 0
        before, step_id = observation_of(self.problem, self._copies.state)["env"], self._copies.clock.copy()
        env_reward, monitor_reward, observed, terminated, truncated = step_many(
            self.problem.dynamics, self.problem.n_actions, limit, self._copies, stepping, joint
        )
        info: Arrays = {
            "proxy_reward": np.where(observed, env_reward, np.nan),
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
            "step_id": step_id,
        }
        if self._evaluation_info:
            info["env_reward"] = env_reward
        after = observation_of(self.problem, self._copies.state)["env"]
        self.env_transition = before, actions["env"], after
        done = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            infos = _masked(info, ~done)
            if done.any():
                final = np.full(self.num_envs, None, object)
                for i in np.flatnonzero(done):
                    final[i] = observation_of(self.problem, self._copies.state[i])
                infos |= {"final_obs": final, "_final_obs": done.copy()}
                infos |= {"final_info": _masked(info, done), "_final_info": done.copy()}
                self._restart(done)
        else:
            infos = _masked(info, stepping)
            self._restart(self._done)
            self._done = done
        rewards = monitor_reward + np.where(observed, env_reward, 0.0)
        return observation_of(self.problem, self._copies.state), rewards, terminated, truncated, infos

    def _restart(self, mask: Booleans) -> None:
        reset_many(self.problem.start_states, self.problem.start_cumulative, self._copies, mask)


def _masked(info: Arrays, mask: Booleans) -> dict[str, Any]:
    """Gymnasium's vector info: zero for environments without an entry, and a mask for every key."""
    masked: dict[str, Any] = {}
    for key, value in info.items() if mask.any() else ():
        masked[key] = np.where(mask, value, np.zeros((), value.dtype))
        masked[f"_{key}"] = mask.copy()
    return masked
