"""A Stable-Baselines3 agent where rewards are seen only when asked for, next to the optimum and to DirectedModel.

Needs monmdp[sb3]. To such an agent a hidden reward looks like no reward, so in the end it still pays for asking at the
coin; an agent that knows what was hidden from it asks while it learns, and then never again.
"""

import gymnasium
import numpy as np
import torch
from stable_baselines3 import DQN

import monmdp

STEPS = 10_000
torch.set_num_threads(1)  # so small a network is quickest on one

env = monmdp.FlattenDiscrete(gymnasium.make("monmdp/Walk-v0", monitor="Ask"))  # states and actions as one number each
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
