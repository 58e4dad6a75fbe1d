"""Environments without a table for sweeps: any Gymnasium environment, with what sweeps must know about it.

    @WORLDS.add
    @dataclass(frozen=True)
    class Lander(LiveWorld): ...

Sweeps take names, which are those of classes, and objects.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from monmdp.errors import MonMDPError
from monmdp.registry import Declared, Registry


@dataclass(frozen=True, kw_only=True)
class LiveWorld(Declared):
    """An environment that is trained in by `env.step`; a subclass says how to make it.

    rewards: the smallest and the largest reward. values: the smallest and the largest discounted return, if they are
    known, monitor rewards included. steps: training steps, unless the sweep says otherwise.
    """

    rewards: ClassVar[tuple[float, float]]
    values: ClassVar[tuple[float, float] | None] = None
    steps: ClassVar[int]

    def make(self) -> gymnasium.Env[Any, Any]:
        """A new copy of the environment."""
        raise MonMDPError(f"{type(self).__name__} does not say how to make its environment; give it a method make.")

    def button(self, seen: Any, action: Any) -> bool:
        """Whether an action after an observation presses the button of the monitor Button."""
        raise MonMDPError(f"{type(self).__name__} has no place for a button; give it a method button(seen, action).")


#: Environments without a table by name.
WORLDS: Registry[LiveWorld] = Registry("world", LiveWorld)


class Repeated(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Repeats every action, so that it changes what is seen."""

    def __init__(self, env: gymnasium.Env[Any, Any], times: int) -> None:
        super().__init__(env)
        self._times = times

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action several times, and add up rewards."""
        earned = 0.0
        for _ in range(self._times):
            observation, reward, terminated, truncated, info = self.env.step(action)
            earned += float(reward)
            if terminated or truncated:
                break
        return observation, earned, terminated, truncated, info


@WORLDS.add
@dataclass(frozen=True, kw_only=True)
class MountainCar(LiveWorld):
    """MountainCar-v0 with every action ten times; the button is at the far left."""

    rewards = (-10.0, 0.0)
    steps = 10_000

    def make(self) -> gymnasium.Env[Any, Any]:
        return Repeated(gymnasium.make("MountainCar-v0"), 10)

    def button(self, seen: Any, action: Any) -> bool:
        return bool(seen[0] < -1.0 and action == 0)


@WORLDS.add
@dataclass(frozen=True, kw_only=True)
class Acrobot(LiveWorld):
    """Acrobot-v1 with every action four times; the button is pressed by a push while the first joint turns fast."""

    rewards = (-4.0, 0.0)
    steps = 10_000

    def make(self) -> gymnasium.Env[Any, Any]:
        return Repeated(gymnasium.make("Acrobot-v1"), 4)

    def button(self, seen: Any, action: Any) -> bool:
        return bool(seen[4] > 4.0 and action == 2)


#: Positions and speeds at which CartPole-v1 ends, or that are rarely exceeded.
CART_POLE = np.array([2.4, 3.0, 0.21, 3.0], np.float32)


def as_shares(observation: Any) -> Any:
    """What CartPole shows as shares of those numbers."""
    return observation / CART_POLE


@WORLDS.add
@dataclass(frozen=True, kw_only=True)
class CartPole(LiveWorld):
    """CartPole-v1, where most numbers are from -1 to 1; the button is left of the middle."""

    rewards = (0.0, 1.0)
    steps = 20_000

    def make(self) -> gymnasium.Env[Any, Any]:
        env = gymnasium.make("CartPole-v1")
        return gymnasium.wrappers.TransformObservation(env, as_shares, Box(-1.0, 1.0, (4,), np.float32))

    def button(self, seen: Any, action: Any) -> bool:
        return bool(seen[0] < -0.4 and action == 0)


def hundredth(reward: Any) -> float:
    """A reward of LunarLander, where crashing costs 100, on the scale of the others."""
    return float(reward) / 100.0


@WORLDS.add
@dataclass(frozen=True, kw_only=True)
class LunarLander(LiveWorld):
    """LunarLander-v3 with every action four times and rewards divided by 100; the button is pressed far on the left."""

    rewards = (-1.5, 1.5)
    values = (-3.0, 3.0)
    steps = 20_000

    def make(self) -> gymnasium.Env[Any, Any]:
        try:
            env = gymnasium.make("LunarLander-v3")
        except gymnasium.error.DependencyNotInstalled:
            raise MonMDPError("LunarLander needs Box2D; install it with: pip install box2d.") from None
        return gymnasium.wrappers.TransformReward(Repeated(env, 4), hundredth)

    def button(self, seen: Any, action: Any) -> bool:
        return bool(seen[0] < -0.3 and action == 1)


def less_one(reward: Any) -> float:
    """A reward with the cost of a step."""
    return float(reward) - 1.0


@WORLDS.add
@dataclass(frozen=True, kw_only=True)
class PointMaze(LiveWorld):
    """A point in a square with two walls, where every step but the last costs 1; the button is above the start."""

    rewards = (-1.0, 0.0)
    steps = 20_000

    def make(self) -> gymnasium.Env[Any, Any]:
        return gymnasium.wrappers.TransformReward(gymnasium.make("monmdp/PointMaze-v0"), less_one)

    def button(self, seen: Any, action: Any) -> bool:
        return bool(seen[0] < 0.2 and seen[1] > 0.8 and action == 2)


@WORLDS.add
@dataclass(frozen=True, kw_only=True)
class MiniGrid(LiveWorld):
    """An environment of MiniGrid, by default an empty room with a goal, less 1 for every step.

    The agent sees an image of codes; toggling is the button.
    """

    id: str = "MiniGrid-Empty-5x5-v0"

    rewards = (-1.0, 0.0)
    steps = 10_000

    def make(self) -> gymnasium.Env[Any, Any]:
        try:
            from minigrid.wrappers import ImgObsWrapper
        except ImportError:
            raise MonMDPError("MiniGrid is not installed; install it with: pip install minigrid.") from None
        image: Any = ImgObsWrapper
        return gymnasium.wrappers.TransformReward(image(gymnasium.make(self.id)), less_one)

    def button(self, seen: Any, action: Any) -> bool:
        return bool(action == 5)
