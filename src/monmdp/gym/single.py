"""One MonMDP as a Gymnasium environment, stepped in plain Python: the specification of the vector one."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete

from monmdp.errors import MonMDPError
from monmdp.problem import MonMDP
from monmdp.render.scene import Scene
from monmdp.rng import normal, stream, uniform

Observation = dict[str, np.int64]


class HiddenReward(np.float64):
    """A NaN that equals other hidden rewards, since Gymnasium's checker compares infos with ==."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiddenReward)

    __hash__ = np.float64.__hash__


HIDDEN = HiddenReward("nan")
STREAMS = ("world", "observe", "noise")


def spaces(problem: MonMDP) -> tuple[Dict, Dict]:
    """Observation and action space of a problem."""
    environment, monitor = problem.environment, problem.monitor
    return (
        Dict({"env": Discrete(len(environment.states)), "monitor": Discrete(len(monitor.states))}),
        Dict({"env": Discrete(len(environment.actions)), "monitor": Discrete(len(monitor.actions))}),
    )


class MonitoredEnv(gymnasium.Env[Any, Any]):
    """Play a MonMDP: the reward is the monitor's plus the environment's if it was shown.

    `info` has proxy_reward (NaN when hidden), reward_observed, monitor_reward, and env_reward, the truth,
    which is for evaluation only.
    """

    metadata = {  # noqa: RUF012 (the base class wants a plain attribute)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(self, problem: MonMDP, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise MonMDPError(f"The render mode is one of {self.metadata['render_modes']}, not {render_mode!r}.")
        self.problem = problem
        self.render_mode = render_mode
        self.observation_space, self.action_space = spaces(problem)
        self._starts = np.flatnonzero(problem.start)
        self._start_cumulative = np.cumsum(problem.start[self._starts])
        self._keys: dict[str, int] | None = None
        self._state = self._elapsed = self._clock = self._episode = 0
        self._scene: Scene | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; with a seed, start the streams anew, so that the same seed plays the same game."""
        super().reset(seed=seed)
        if seed is not None or self._keys is None:
            chosen = int(self.np_random.integers(2**63)) if seed is None else seed
            self._keys = {role: stream(chosen, role) for role in ("start", *STREAMS)}
            self._clock = self._episode = 0
        luck = uniform(self._keys["start"], self._episode)
        choice = min(int(np.searchsorted(self._start_cumulative, luck, side="right")), len(self._starts) - 1)
        self._state = int(self._starts[choice])
        self._elapsed = 0
        self._episode += 1
        self._scene = Scene(self._state)
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an environment action and a monitor action together."""
        if self._keys is None:
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        if not self.action_space.contains(action):
            raise MonMDPError(f"An action is a dict such as {self.action_space.sample()}, not {action!r}.")
        arrays, clock = self.problem.dynamics, self._clock
        joint = int(action["env"]) * len(self.problem.monitor.actions) + int(action["monitor"])
        pair = self._state * self.problem.n_actions + joint
        outcome = int(arrays.offsets[pair])
        luck = uniform(self._keys["world"], clock)
        while luck >= arrays.cumulative[outcome]:
            outcome += 1
        env_reward = float(arrays.env_reward[outcome])
        if arrays.reward_noise[outcome] > 0:
            env_reward += float(arrays.reward_noise[outcome]) * normal(self._keys["noise"], clock)
        observed = uniform(self._keys["observe"], clock) < arrays.observe_probability[outcome]
        monitor_reward = float(arrays.monitor_reward[outcome])
        terminated = bool(arrays.terminated[outcome])
        self._state = int(arrays.next_state[outcome])
        self._clock += 1
        self._elapsed += 1
        truncated = self._elapsed == self.problem.step_limit and not terminated
        shown = env_reward if observed else None
        self._scene = Scene(self._state, joint, shown, monitor_reward, self._elapsed, terminated or truncated)
        info = {
            "proxy_reward": env_reward if observed else HIDDEN,
            "reward_observed": bool(observed),
            "monitor_reward": monitor_reward,
            "env_reward": env_reward,
        }
        reward = monitor_reward + (env_reward if observed else 0.0)
        return self._observation(), reward, terminated, truncated, info

    def render(self) -> Any:
        """The current moment as text or as an RGB array, by the chosen render mode."""
        if self._scene is None:
            raise gymnasium.error.ResetNeeded("Call reset before render.")
        if self.render_mode == "ansi":
            from monmdp.render.text import draw_text

            return draw_text(self.problem, self._scene)
        if self.render_mode == "rgb_array":
            from monmdp.render.image import draw_image

            return draw_image(self.problem, self._scene)
        gymnasium.logger.warn("Choose a render mode with gymnasium.make(..., render_mode='rgb_array') to render.")
        return None

    def _observation(self) -> Observation:
        env_state, monitor_state = self.problem.split_state(self._state)
        return {"env": np.int64(env_state), "monitor": np.int64(monitor_state)}
