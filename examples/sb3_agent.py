"""Train a Stable-Baselines3 agent on a problem with hidden rewards, and compare it with DirectedModel and the optimum.

Needs monmdp[sb3]. DQN treats a hidden reward as zero, so its final policy still pays to see the reward of the coin.
DirectedModel knows which rewards were hidden: it asks while it learns, and not afterwards.
"""

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN

import monmdp

STEPS = 10_000
torch.set_num_threads(1)  # fastest for such a small network

# states and actions as integers, and no true reward in info
env = monmdp.FlattenDiscrete(gymnasium.make("monmdp/Walk-v0", monitor="Ask", evaluation_info=False))
problem = env.unwrapped.problem

dqn = DQN("MlpPolicy", env, learning_rate=1e-3, learning_starts=500, exploration_fraction=0.5,
          target_update_interval=250, seed=0, device="cpu").learn(STEPS)  # fmt: skip
chosen, _ = dqn.predict(np.arange(problem.n_states), deterministic=True)
greedy = np.eye(problem.n_actions)[chosen]  # [S, A]

directed = monmdp.train(problem, "DirectedModel", seeds=1, steps=STEPS, points=100)
print(f"optimum        {monmdp.solve(problem).optimal_return:.4f}")
print(f"DirectedModel  {directed.final_returns[0]:.4f} after {STEPS:,} steps")
print(f"DQN            {monmdp.policy_return(problem, greedy):.4f} after {STEPS:,} steps")

coin = problem.state_index((0, 6))
print(f"DQN at the coin: {problem.explain(coin, int(chosen[coin]))}")
