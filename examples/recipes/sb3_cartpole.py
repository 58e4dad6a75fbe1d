"""Stable-Baselines3: PPO on CartPole, when a reward is shown only if the agent asks, at a price per answer.

PPO takes every reward as it comes, so a hidden reward is 0. A step of CartPole pays 1. If an answer costs more than
that, no reward is left to learn from. With `fill_rewards`, PPO learns, and stops asking.

Needs monmdp[sb3].
"""

import gymnasium
import torch
import tyro
from comparing import Options, compare
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback

import monmdp

torch.set_num_threads(1)  # fastest for such a small network


def make(monitor, **options):
    """CartPole with a monitor, as one vector and one discrete action."""
    cart = gymnasium.make("CartPole-v1")
    return monmdp.monitored(cart, monitor, actions="joint", observations="concat", **options)


class Answers(BaseCallback):
    """Counts the rewards that were shown."""

    n = 0

    def _on_step(self):
        self.n += sum(info["reward_observed"] for info in self.locals["infos"])
        return True


def learn(learner, steps):
    """Train a learner of Stable-Baselines3; returns its greedy policy and the number of answers."""
    answers = Answers()
    learner.learn(steps, callback=answers)
    return lambda observation: int(learner.predict(observation, deterministic=True)[0]), answers.n


def train(env, steps, seed):
    return learn(PPO("MlpPolicy", env, n_steps=1024, learning_rate=1e-3, seed=seed, device="cpu"), steps)


if __name__ == "__main__":
    compare("PPO on CartPole", tyro.cli(Options, default=Options(steps=30_000), description=__doc__), make, train)
