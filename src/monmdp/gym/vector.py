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
from monmdp.problem import Booleans, Floats, Integers, MonMDP
from monmdp.rng import stream
from monmdp.simulation import STREAMS

Arrays = dict[str, np.ndarray]
#: Bytes that a copy needs in states, spaces and results of a step.
COPY_BYTES = 300


class Simulations:
    """Copies of a problem that step together; each draws as a `Simulation` with its seed does."""

    def __init__(self, problem: MonMDP, n: int) -> None:
        self.problem = problem
        self._copies = Copies(np.zeros((n, len(STREAMS)), np.uint64), *np.zeros((4, n), np.int64))

    @property
    def state(self) -> Integers:
        """The joint states [N]."""
        return self._copies.state.copy()  # type: ignore[no-any-return]

    @property
    def clock(self) -> Integers:
        """The number of steps [N] since the last seed."""
        return self._copies.clock.copy()  # type: ignore[no-any-return]

    def seed(self, i: int, seed: int) -> None:
        """Restart the random streams of copy i."""
        self._copies.keys[i] = [stream(seed, role) for role in STREAMS]
        self._copies.clock[i] = self._copies.episode[i] = 0

    def restart(self, mask: Booleans) -> None:
        """Begin new episodes."""
        reset_many(self.problem.start_states, self.problem.start_cumulative, self._copies, mask)

    def step(self, stepping: Booleans, actions: Integers) -> tuple[Floats, Floats, Booleans, Booleans, Booleans]:
        """Environment reward, monitor reward, observed, terminated and truncated, zero for copies that do not step."""
        limit = self.problem.step_limit or 0
        return step_many(  # type: ignore[no-any-return]
            self.problem.dynamics, self.problem.n_actions, limit, self._copies, stepping, actions
        )


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
        self._simulations = Simulations(self.problem, num_envs)
        self._seeded = np.zeros(num_envs, np.bool_)
        self._done = np.ones(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Arrays, dict[str, Any]]:
        """Start episodes in all copies, or in those of options["reset_mask"]."""
        if isinstance(seed, (int, np.integer)) or seed is None:
            super().reset(seed=None if seed is None else int(seed))
        seeds, mask = seeds_and_mask(seed, options, self.num_envs)
        for i in np.flatnonzero(mask).tolist():
            chosen = seeds[i]
            if chosen is not None or not self._seeded[i]:
                self._simulations.seed(i, int(self.np_random.integers(2**63)) if chosen is None else int(chosen))
                self._seeded[i] = True
        self._simulations.restart(mask)
        self._done = self._done & ~mask
        return observation_of(self.problem, self._simulations.state), {}

    def step(self, actions: Any) -> tuple[Arrays, np.ndarray, Booleans, Booleans, dict[str, Any]]:
        """Step all copies; those that have ended are reset according to the autoreset mode."""
        if not self._seeded.all():
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise gymnasium.error.ResetNeeded("Some environments have ended; reset them with options['reset_mask'].")
        stepping = ~self._done
        joint = joint_action(self.problem, self.action_space, actions)
        before, step_id = observation_of(self.problem, self._simulations.state)["env"], self._simulations.clock
        env_reward, monitor_reward, observed, terminated, truncated = self._simulations.step(stepping, joint)
        info: Arrays = {
            "proxy_reward": np.where(observed, env_reward, np.nan),
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
            "step_id": step_id,
        }
        if self._evaluation_info:
            info["env_reward"] = env_reward
        after = observation_of(self.problem, self._simulations.state)["env"]
        self.env_transition = before, actions["env"], after
        done = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            infos = masked(info, ~done)
            if done.any():
                final, state = np.full(self.num_envs, None, object), self._simulations.state
                for i in np.flatnonzero(done):
                    final[i] = observation_of(self.problem, state[i])
                infos |= {"final_obs": final, "_final_obs": done.copy()}
                infos |= {"final_info": masked(info, done), "_final_info": done.copy()}
                self._simulations.restart(done)
        else:
            infos = masked(info, stepping)
            self._simulations.restart(self._done)
            self._done = done
        rewards = monitor_reward + np.where(observed, env_reward, 0.0)
        return observation_of(self.problem, self._simulations.state), rewards, terminated, truncated, infos


def seeds_and_mask(seed: Any, options: Any, n: int) -> tuple[list[int | None], Booleans]:
    """The seed of each of n copies in a reset, and the copies to reset, those of options["reset_mask"] or all."""
    one = seed is None or isinstance(seed, (int, np.integer))
    seeds = [None if seed is None else int(seed) + i for i in range(n)] if one else list(seed)
    if len(seeds) != n:
        raise MonMDPError(f"Give one seed for each of the {n} environments, not {len(seeds)}.")
    mask = (options or {}).get("reset_mask", np.ones(n, np.bool_))
    if not isinstance(mask, np.ndarray) or mask.shape != (n,) or mask.dtype != np.bool_:
        raise MonMDPError(f"The reset mask must be a boolean array of {n} entries.")
    if not mask.any():
        raise MonMDPError("The reset mask selects no environment; set at least one entry to True.")
    return seeds, mask


def masked(info: Arrays, mask: Booleans) -> dict[str, Any]:
    """Gymnasium's vector info: zero for environments without an entry, and a mask for every key."""
    masked: dict[str, Any] = {}
    for key, value in info.items() if mask.any() else ():
        masked[key] = np.where(mask, value, np.zeros((), value.dtype))
        masked[f"_{key}"] = mask.copy()
    return masked
