"""One MonMDP as a Gymnasium environment, stepped in plain Python."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete

from monmdp.errors import MonMDPError
from monmdp.problem import MonMDP
from monmdp.render.text import Scene, draw_text
from monmdp.simulation import Simulation

Observation = dict[str, np.int64]


class HiddenReward(np.float64):
    """A NaN that equals other hidden rewards, since Gymnasium's checker compares infos with ==."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiddenReward)

    __hash__ = np.float64.__hash__


HIDDEN = HiddenReward("nan")


def spaces(problem: MonMDP) -> tuple[Dict, Dict]:
    """Observation space and action space of a problem."""
    environment, monitor = problem.environment, problem.monitor
    return (
        Dict({"env": Discrete(len(environment.states)), "monitor": Discrete(len(monitor.states))}),
        Dict({"env": Discrete(len(environment.actions)), "monitor": Discrete(len(monitor.actions))}),
    )


def observation_of(problem: MonMDP, state: int) -> Observation:
    """A joint state as an observation."""
    env_state, monitor_state = problem.split_state(state)
    return {"env": np.int64(env_state), "monitor": np.int64(monitor_state)}


class MonitoredEnv(gymnasium.Env[Any, Any]):
    """A MonMDP as an environment: the reward is the monitor's plus the environment's if it was observed.

    `info` has proxy_reward (NaN when hidden), reward_observed, monitor_reward, and env_reward, the true reward,
    which is for evaluation only.
    """

    metadata = {  # noqa: RUF012 (a plain attribute in the base class)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(self, problem: MonMDP, render_mode: str | None = None) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise MonMDPError(f"The render mode is one of {self.metadata['render_modes']}, not {render_mode!r}.")
        self.problem = problem
        self.render_mode = render_mode
        self.observation_space, self.action_space = spaces(problem)
        self._simulation: Simulation | None = None
        self._scene: Scene | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; a seed also restarts the random streams, so that equal seeds give equal episodes."""
        super().reset(seed=seed)
        if seed is not None or self._simulation is None:
            self._simulation = Simulation(self.problem, int(self.np_random.integers(2**63)) if seed is None else seed)
        else:
            self._simulation.restart()
        self._scene = Scene(self._simulation.state)
        return observation_of(self.problem, self._simulation.state), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an environment action and a monitor action."""
        simulation = self._simulation
        if simulation is None:
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        if not self.action_space.contains(action):
            raise MonMDPError(f"An action is a dict such as {self.action_space.sample()}, not {action!r}.")
        joint = int(action["env"]) * len(self.problem.monitor.actions) + int(action["monitor"])
        state, env_reward, monitor_reward, observed, terminated, truncated = simulation.step(joint)
        shown = env_reward if observed else None
        self._scene = Scene(state, joint, shown, monitor_reward, simulation.elapsed, terminated or truncated)
        info = {
            "proxy_reward": env_reward if observed else HIDDEN,
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
            "env_reward": env_reward,
        }
        reward = monitor_reward + (env_reward if observed else 0.0)
        return observation_of(self.problem, state), reward, terminated, truncated, info

    def render(self) -> Any:
        """The current scene as text or as an RGB array, depending on the render mode."""
        if self._scene is None:
            raise gymnasium.error.ResetNeeded("Call reset before render.")
        if self.render_mode == "ansi":
            return draw_text(self.problem, self._scene)
        if self.render_mode == "rgb_array":
            from monmdp.render.image import draw_image

            return draw_image(self.problem, self._scene)
        gymnasium.logger.warn("Choose a render mode with gymnasium.make(..., render_mode='rgb_array') to render.")
        return None
