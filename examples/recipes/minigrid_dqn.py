"""MiniGrid: DQN of Stable-Baselines3 in a room with a goal, when a reward is shown only for a price.

The reward is 0 except in the goal. If an answer costs more than the goal pays, a learner that takes hidden rewards as 0
has no reason to go there. With `fill_rewards`, it learns what the goal is from what it asked, and then stops asking.

Needs monmdp[sb3] and minigrid.
"""

import gymnasium
import minigrid  # noqa: F401 (registers the environments)
import numpy as np
import torch
import tyro
from comparing import Options, compare
from gymnasium.spaces import Box, Discrete
from gymnasium.wrappers import TransformAction, TransformObservation
from sb3_cartpole import learn
from stable_baselines3 import DQN

import monmdp

torch.set_num_threads(1)
ROOM = "MiniGrid-Empty-5x5-v0"
DEFAULT = Options(steps=20_000, budgets=(100, 300, 1_000, 0))


def make(monitor, **options):
    """What the agent sees as a vector in [0, 1], the actions left, right and forward, and a monitor."""
    room, seen = gymnasium.make(ROOM), Box(0, 1, (7 * 7 * 3,), np.float32)
    room = TransformObservation(room, lambda parts: (parts["image"].ravel() / 10).astype(np.float32), seen)
    room = TransformAction(room, lambda action: action, Discrete(3))
    return monmdp.monitored(room, monitor, actions="joint", observations="concat", **options)


def train(env, steps, seed):
    dqn = DQN("MlpPolicy", env, learning_rate=5e-4, batch_size=64, learning_starts=1_000, gamma=0.97,
              target_update_interval=500, exploration_fraction=0.5, seed=seed, device="cpu")  # fmt: skip
    return learn(dqn, steps)


if __name__ == "__main__":
    compare(f"DQN in {ROOM}", tyro.cli(Options, default=DEFAULT, description=__doc__), make, train)
