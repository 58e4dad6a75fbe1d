"""One file, one learner: PPO in PyTorch on a Gymnasium vector environment with a monitor, after the manner of CleanRL.

The monitor is around all copies at once, and its action is a second output of the policy (`actions="multidiscrete"`).
Hidden rewards are 0 for one learner and filled in for the other.

Needs PyTorch.
"""

import gymnasium
import numpy as np
import torch
import tyro
from comparing import Options, compare
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Categorical

import monmdp

torch.set_num_threads(1)
COPIES, LENGTH, EPOCHS, MINIBATCH = 8, 128, 4, 256
GAMMA, LAMBDA, CLIP, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 2.5e-3
SHAPES = {"actions": "multidiscrete", "observations": "concat"}


def make(monitor, budget=None, **options):
    """Eight copies of CartPole with a monitor; ended episodes are reset in the same step."""
    vector = {"autoreset_mode": AutoresetMode.SAME_STEP}
    carts = gymnasium.make_vec("CartPole-v1", COPIES, vectorization_mode="sync", vector_kwargs=vector)
    budget = budget and -(-budget // COPIES)  # of each copy
    return monmdp.monitored(carts, monitor, budget=budget, **SHAPES, **options)


def make_test(monitor):
    return monmdp.monitored(gymnasium.make("CartPole-v1"), monitor, **SHAPES)


class Agent(nn.Module):
    """Two networks: logits of both actions, and a value."""

    def __init__(self, inputs, choices):
        super().__init__()
        self.choices = choices
        self.actor = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                                   nn.Linear(64, sum(choices)))  # fmt: skip
        self.critic = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        nn.init.zeros_(self.actor[-1].weight)

    def policy(self, observations):
        """One distribution for each part of the action."""
        return [Categorical(logits=part) for part in self.actor(observations).split(self.choices, -1)]

    def log_probability(self, observations, actions):
        parts = self.policy(observations)
        log = sum(part.log_prob(action) for part, action in zip(parts, actions.unbind(-1), strict=True))
        return log, sum(part.entropy() for part in parts)

    @torch.no_grad()
    def greedy(self, observation):
        return np.array([int(part.logits.argmax()) for part in self.policy(torch.as_tensor(observation))])


def advantages(rewards, values, ended, following):
    """Generalised advantage estimates [LENGTH, COPIES]; an ended episode has no future."""
    result, future = torch.zeros_like(rewards), torch.zeros(COPIES)
    for t in reversed(range(LENGTH)):
        after = following if t == LENGTH - 1 else values[t + 1]
        error = rewards[t] + GAMMA * after * (1 - ended[t]) - values[t]
        result[t] = future = error + GAMMA * LAMBDA * (1 - ended[t]) * future
    return result


def train(envs, steps, seed):
    torch.manual_seed(seed)
    size, choices = envs.single_observation_space.shape[0], envs.single_action_space.nvec.tolist()
    agent = Agent(size, choices)
    optimizer = torch.optim.Adam(agent.parameters(), RATE, eps=1e-5)
    observations = torch.zeros(LENGTH, COPIES, size)
    actions = torch.zeros(LENGTH, COPIES, len(choices), dtype=torch.int64)
    logs, rewards, ended, values = torch.zeros(4, LENGTH, COPIES)
    seen, answers, rounds = envs.reset(seed=seed)[0], 0, steps // (LENGTH * COPIES)
    for done in range(rounds):
        optimizer.param_groups[0]["lr"] = RATE * (1 - done / rounds)
        for t in range(LENGTH):
            observations[t] = torch.as_tensor(seen)
            with torch.no_grad():
                actions[t] = torch.stack([part.sample() for part in agent.policy(observations[t])], -1)
                logs[t] = agent.log_probability(observations[t], actions[t])[0]
                values[t] = agent.critic(observations[t])[:, 0]
            seen, reward, terminated, truncated, infos = envs.step(actions[t].numpy())
            rewards[t], ended[t] = torch.as_tensor(reward), torch.as_tensor(terminated | truncated)
            for part in (infos, infos.get("final_info", {})):  # the infos of ended episodes are apart
                answers += int(part.get("reward_observed", np.zeros(1)).sum())
        with torch.no_grad():
            gain = advantages(rewards, values, ended, agent.critic(torch.as_tensor(seen))[:, 0])
        batch = [part.flatten(0, 1) for part in (observations, actions, logs, gain, gain + values)]
        for _ in range(EPOCHS):
            for rows in torch.randperm(LENGTH * COPIES).split(MINIBATCH):
                observation, action, log, advantage, goal = (part[rows] for part in batch)
                now, entropy = agent.log_probability(observation, action)
                ratio, advantage = (now - log).exp(), (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
                surrogate = torch.minimum(ratio * advantage, clipped * advantage).mean()
                error = (agent.critic(observation)[:, 0] - goal).square().mean()
                optimizer.zero_grad()
                (0.5 * error - surrogate - ENTROPY * entropy.mean()).backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
    return agent.greedy, answers


if __name__ == "__main__":
    title, default = "PPO on eight copies of CartPole", Options(steps=50_000)
    compare(title, tyro.cli(Options, default=default, description=__doc__), make, train, make_test)
