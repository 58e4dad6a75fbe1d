"""An agent of your own in plain Python and NumPy, with one option: Q-learning with a table of observed rewards.

It needs no compiler. It is slow, and everything else works as for compiled agents: curves, sweeps, stores, figures.
"""

from dataclasses import dataclass

import numpy as np

import monmdp


@dataclass
class Simple:
    """ε-greedy Q-learning; a hidden reward is replaced by the last one observed for the same environment pair.

    epsilon: probability of a random action.
    """

    epsilon: float = 0.5

    def start(self, problem, seed):
        self.random = np.random.default_rng(seed)
        self.q = np.zeros((problem.n_states, problem.n_actions))
        self.rewards = np.zeros(int(problem.env_pair.max()) + 1)
        self.discount = problem.discount

    def act(self, state):
        if self.random.random() < self.epsilon:
            return int(self.random.integers(self.q.shape[1])), True
        return int(self.q[state].argmax()), False

    def update(self, transition):
        if not np.isnan(transition.proxy_reward):
            self.rewards[transition.env_pair] = transition.proxy_reward
        target = self.rewards[transition.env_pair] + transition.monitor_reward
        if not transition.terminated:
            target += self.discount * self.q[transition.next_state].max()
        self.q[transition.state, transition.action] = target


if __name__ == "__main__":
    for epsilon in (0.1, 0.5):
        print(monmdp.train(monmdp.make("Loop", "Ask"), Simple(epsilon=epsilon), seeds=5, steps=3_000, points=20))
