"""A point in a square maze: continuous positions, discrete moves, for agents that cannot list states.

x ← x + 0.1 e_a + 0.01 ξ, ξ standard normal, unless the way crosses a wall or leaves the square; then x stays.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

#: Directions of the moves: right, up, left, down.
MOVES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
#: Vertical walls: their x, and from which to which y they reach.
WALLS = ((1 / 3, 0.0, 0.75), (2 / 3, 0.25, 1.0))
STEP, NOISE, START, GOAL, RADIUS = 0.1, 0.01, (0.1, 0.1), (0.9, 0.9), 0.1


class PointMaze(gymnasium.Env[Any, Any]):
    """The point begins in one corner; entering the circle in the opposite corner pays 1 and ends the episode.

    Two walls are on the way, one with a gap at the top, the next with a gap at the bottom.
    """

    def __init__(self) -> None:
        self.observation_space, self.action_space = Box(0.0, 1.0, (2,), np.float32), Discrete(4)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin near the first corner."""
        super().reset(seed=seed)
        self._place = np.array(START) + NOISE * self.np_random.standard_normal(2).clip(-3.0, 3.0)
        return self._place.astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move, unless a wall is in the way."""
        after = self._place + STEP * MOVES[action] + NOISE * self.np_random.standard_normal(2)
        if np.all((after >= 0.0) & (after <= 1.0)) and not any(_crosses(wall, self._place, after) for wall in WALLS):
            self._place = after
        reached = bool(np.hypot(*(self._place - GOAL)) < RADIUS)
        return self._place.astype(np.float32), float(reached), reached, False, {}


def _crosses(wall: tuple[float, float, float], before: Any, after: Any) -> bool:
    """Whether the way from one point to another crosses a vertical wall."""
    x, low, high = wall
    if (before[0] < x) == (after[0] < x):
        return False
    y = before[1] + (x - before[0]) / (after[0] - before[0]) * (after[1] - before[1])
    return bool(low <= y <= high)
