"""Stable-Baselines3: PPO on CartPole, when a reward is shown only if the agent asks, at a price per answer.

PPO takes every reward as it comes, so a hidden reward is 0. If an answer costs less than it shows, PPO asks in every
step for ever; if it costs more, no reward is left to learn from. With `fill_rewards`, it learns and stops asking.

Needs monmdp[sb3].
"""

from pathlib import Path

import gymnasium
import torch
import tyro
from comparing import compare
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import monmdp

torch.set_num_threads(1)  # fastest for such a small network


def make(monitor, **options):
    """CartPole with a monitor, as one vector and one discrete action."""
    cart = gymnasium.make("CartPole-v1")
    return monmdp.monitored(cart, monitor, actions="joint", observations="concat", **options)


class Reports(BaseCallback):
    """Counts the rewards that were shown, and reports ten times."""

    def __init__(self, steps, report):
        super().__init__()
        self.answers, self.every, self.report = 0, steps // 10, report

    def _on_step(self):
        self.answers += sum(info["reward_observed"] for info in self.locals["infos"])
        if self.num_timesteps % self.every == 0:
            self.report(self.num_timesteps, self.answers, self.policy)
        return True

    def policy(self, observation):
        return int(self.model.predict(observation, deterministic=True)[0])


def train(env, steps, seed, report):
    learner = PPO("MlpPolicy", env, n_steps=1024, learning_rate=1e-3, seed=seed, device="cpu")
    learner.learn(steps, callback=Reports(steps, report))


def main(steps: int = 30_000, seeds: int = 3, costs: tuple[float, ...] = (0.2, 2.0), plot: Path | None = None) -> None:
    """Compare learners with and without filled-in rewards.

    steps: training steps of a run. costs: prices of an answer; a step of CartPole pays 1. plot: file of the picture.
    """
    title = "PPO on CartPole: what answers buy"
    compare(make, train, costs=costs, steps=steps, seeds=seeds, title=title, plot=plot)


if __name__ == "__main__":
    tyro.cli(main)
