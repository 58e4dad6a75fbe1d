"""MiniGrid: DQN of Stable-Baselines3 in a room with a goal, when rewards are shown only for a price.

The reward is 0 except in the goal. If an answer costs more than the goal pays, a learner that takes hidden rewards as 0
has no reason to go there. With `fill_rewards`, it learns where the goal is from what it asked, and then stops asking.

Needs monmdp[sb3] and minigrid.
"""

from pathlib import Path

import gymnasium
import minigrid  # noqa: F401 (registers the environments)
import numpy as np
import torch
import tyro
from comparing import compare
from gymnasium.wrappers import TransformAction, TransformObservation
from minigrid.wrappers import ImgObsWrapper
from sb3_cartpole import Reports
from stable_baselines3 import DQN

import monmdp

torch.set_num_threads(1)
ROOM = "MiniGrid-Empty-5x5-v0"


def make(monitor, **options):
    """What the agent sees as a vector in [0, 1], the actions left, right and forward, and a monitor."""
    room = ImgObsWrapper(gymnasium.make(ROOM))
    seen = gymnasium.spaces.Box(0, 1, (room.observation_space.shape[0] ** 2 * 3,), np.float32)
    room = TransformObservation(room, lambda image: (image.ravel() / 10).astype(np.float32), seen)
    room = TransformAction(room, lambda action: action, gymnasium.spaces.Discrete(3))
    return monmdp.monitored(room, monitor, actions="joint", observations="concat", **options)


def train(env, steps, seed, report):
    learner = DQN("MlpPolicy", env, learning_rate=5e-4, batch_size=64, learning_starts=1_000, gamma=0.97,
                  target_update_interval=500, exploration_fraction=0.5, seed=seed, device="cpu")  # fmt: skip
    learner.learn(steps, callback=Reports(steps, report))


def main(steps: int = 20_000, seeds: int = 3, costs: tuple[float, ...] = (0.2, 2.0), plot: Path | None = None) -> None:
    """Compare learners with and without filled-in rewards.

    steps: training steps of a run. costs: prices of an answer; the goal pays up to 1. plot: file of the picture.
    """
    title = f"DQN in {ROOM}: what answers buy"
    compare(make, train, costs=costs, steps=steps, seeds=seeds, title=title, plot=plot)


if __name__ == "__main__":
    tyro.cli(main)
