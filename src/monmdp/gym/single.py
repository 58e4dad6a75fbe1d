"""One MonMDP as a Gymnasium environment, stepped in plain Python."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete

from monmdp.environments import ENVIRONMENTS
from monmdp.errors import MonMDPError
from monmdp.join import make
from monmdp.monitors import MONITORS
from monmdp.problem import MonMDP
from monmdp.registry import construct
from monmdp.render.text import Scene, draw_text
from monmdp.simulation import Simulation


class HiddenReward(np.float64):
    """A NaN that equals other hidden rewards, since Gymnasium's checker compares infos with ==."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiddenReward)

    __hash__ = np.float64.__hash__


HIDDEN = HiddenReward("nan")


def build(environment: Any, **options: Any) -> MonMDP:
    """A problem from the keyword arguments of gymnasium.make: monitor, discount and options of the environment."""
    if isinstance(environment, MonMDP) and not options:
        return environment
    joining = {name: options.pop(name) for name in ("monitor", "discount") if name in options}
    if isinstance(environment, MonMDP) or (options and not isinstance(environment, str)):
        raise MonMDPError(f"Options require the name of an environment, not {environment!r}; pass them to monmdp.make.")
    return make(construct(ENVIRONMENTS.find(environment), options) if options else environment, **joining)


def spaces(problem: MonMDP) -> tuple[Dict, Dict]:
    """Observation space and action space of a problem."""
    environment, monitor = problem.environment, problem.monitor
    return (
        Dict({"env": Discrete(len(environment.states)), "monitor": Discrete(len(monitor.states))}),
        Dict({"env": Discrete(len(environment.actions)), "monitor": Discrete(len(monitor.actions))}),
    )


def observation_of(problem: MonMDP, state: Any) -> dict[str, Any]:
    """A joint state, or an array of them, as an observation."""
    env_state, monitor_state = np.divmod(np.asarray(state, np.int64), len(problem.monitor.states))
    return {"env": env_state, "monitor": monitor_state}


def joint_action(problem: MonMDP, space: gymnasium.Space[Any], action: Any) -> Any:
    """The joint action, or an array of them, after a check that the action is in the space."""
    if not space.contains(action):
        raise MonMDPError(f"The action {action!r} is not in the action space; an example is {space.sample()}.")
    return np.multiply(action["env"], len(problem.monitor.actions), dtype=np.int64) + action["monitor"]


class MonitoredEnv(gymnasium.Env[Any, Any]):
    """A MonMDP as an environment: the reward is the monitor's plus the environment's if it was observed.

    The problem is a MonMDP, or an environment with monitor, discount and options as in gymnasium.make. `info` has
    proxy_reward (NaN when hidden), reward_observed, monitor_reward, step_id, the number of steps since the last reset
    with a seed, and env_reward, the true reward, which is for evaluation only; it is left out if evaluation_info is
    False. env_spaces and env_transition: as in `Monitored`.
    """

    metadata = {  # noqa: RUF012 (a plain attribute in the base class)
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(
        self, environment: Any, render_mode: str | None = None, evaluation_info: bool = True, **options: Any
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            if hasattr(environment, "observation_space"):  # a monitor in second place, as `monitored` takes it
                build(environment, monitor=render_mode)
            hint = " Pass a monitor by its name: monitor=…." if render_mode in MONITORS else ""
            raise MonMDPError(f"The render mode is one of {self.metadata['render_modes']}, not {render_mode!r}.{hint}")
        self.problem = build(environment, **options)
        self.render_mode, self._evaluation_info = render_mode, evaluation_info
        self.observation_space, self.action_space = spaces(self.problem)
        self.env_spaces = self.observation_space["env"], self.action_space["env"]
        self.env_transition: tuple[Any, Any, Any] | None = None
        self._simulation: Simulation | None = None
        self._scene: Scene | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.int64], dict[str, Any]]:
        """Start an episode; a seed also restarts the random streams, so that equal seeds give equal episodes."""
        super().reset(seed=seed)
        if seed is not None or self._simulation is None:
            self._simulation = Simulation(self.problem, int(self.np_random.integers(2**63)) if seed is None else seed)
        else:
            self._simulation.restart()
        self._scene = Scene(self._simulation.state)
        return observation_of(self.problem, self._simulation.state), {}

    def step(self, action: Any) -> tuple[dict[str, np.int64], float, bool, bool, dict[str, Any]]:
        """Take an environment action and a monitor action."""
        simulation = self._simulation
        if simulation is None:
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        joint = int(joint_action(self.problem, self.action_space, action))
        before, step_id = observation_of(self.problem, simulation.state), simulation.clock
        state, env_reward, monitor_reward, observed, terminated, truncated = simulation.step(joint)
        shown = env_reward if observed else None
        self._scene = Scene(state, joint, shown, monitor_reward, simulation.elapsed, terminated or truncated)
        info = {
            "proxy_reward": env_reward if observed else HIDDEN,
            "reward_observed": observed,
            "monitor_reward": monitor_reward,
            "step_id": step_id,
        }
        if self._evaluation_info:
            info["env_reward"] = env_reward
        reward = monitor_reward + (env_reward if observed else 0.0)
        observation = observation_of(self.problem, state)
        self.env_transition = before["env"], action["env"], observation["env"]
        return observation, reward, terminated, truncated, info

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


class FlattenDiscrete(gymnasium.ObservationWrapper[Any, Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Joint states and joint actions as one index each, the same as in the MonMDP."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)
        super().__init__(env)
        given: Any = (env.observation_space, env.action_space)
        if not all(isinstance(space, Dict) for space in given):
            raise MonMDPError("FlattenDiscrete needs observations and actions of two parts, 'env' and 'monitor'.")
        self._monitor_states, self._monitor_actions = (int(space["monitor"].n) for space in given)
        self.observation_space, self.action_space = (Discrete(space["env"].n * space["monitor"].n) for space in given)

    def observation(self, observation: dict[str, np.int64]) -> np.int64:
        """The index of the joint state."""
        return np.int64(observation["env"] * self._monitor_states + observation["monitor"])

    def step(self, action: Any) -> tuple[np.int64, Any, bool, bool, dict[str, Any]]:
        """Take the joint action with this index."""
        env_action, monitor_action = np.divmod(np.int64(action), self._monitor_actions)
        return super().step({"env": env_action, "monitor": monitor_action})
