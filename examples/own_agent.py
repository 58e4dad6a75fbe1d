"""An agent of your own, in the same compiled loop as the built-in ones, with one option and a memory of its own.

It takes the action whose visit count, plus a bonus for actions that recently changed Q, is smallest.
"""

from dataclasses import dataclass

import numpy as np

import monmdp
from monmdp.agents.choices import choose
from monmdp.agents.q_learning import QLearner, extended_memory, update_q_learner
from monmdp.kernels.compile import inlined

#: The memory of a Q-learner with the last change of Q per pair [S, A], an option, and scratch space [A].
SurpriseMemory = extended_memory(__name__, "SurpriseMemory", surprise=np.ndarray, weight=float, scores=np.ndarray)


@inlined
def act_least_tried(memory, state, draws):
    """The action with the smallest N(s,a) − weight · surprise(s,a); ties are broken at random."""
    n_actions = memory.q.shape[1]
    for action in range(n_actions):
        count = memory.visits[state * n_actions + action]
        memory.scores[action] = memory.weight * memory.surprise[state, action] - count
    return choose(memory.scores, draws), True


@inlined
def update_surprise(memory, transition):
    """Q-learning, and the size of the change."""
    state, action = transition.state, transition.action
    before = memory.q[state, action]
    update_q_learner(memory, transition)
    memory.surprise[state, action] = abs(memory.q[state, action] - before)


@dataclass(frozen=True, kw_only=True)
class LeastTried(QLearner):
    """Tries all actions of a state equally often, and surprising ones more often.

    weight: visits that a change of Q by 1 is worth.
    """

    weight: float = 10.0

    act = act_least_tried
    update = update_surprise

    def memory(self, world, steps, seed):
        common = self.common(world, steps, seed)
        return SurpriseMemory(*common, np.zeros(common.q.shape), float(self.weight), np.zeros(world.n_actions))


if __name__ == "__main__":
    for weight in (0.0, 10.0):
        print(monmdp.train(monmdp.make("Loop", "Ask"), LeastTried(weight=weight), seeds=4))
