"""An agent of your own, in the same compiled loop as ours: in every state it takes the action that it has tried least.

Only the choice of an action is new; learning is the library's Q-learning.
"""

from dataclasses import dataclass

import monmdp
from monmdp.agents.base import QLearner, no_beta, update_q_learner
from monmdp.kernels.compile import inlined
from monmdp.training.evaluation import choose_best


@inlined
def act_least_tried(memory, state, step, key):
    """The action tried least often in this state; draw 2 · step + 1 of the agent's stream decides among ties."""
    n_actions = memory.q.shape[1]
    counts = memory.visits[state * n_actions : (state + 1) * n_actions]
    return choose_best(-counts, key, 2 * step + 1), True


@dataclass(frozen=True, kw_only=True)
class LeastTried(QLearner):
    """Balanced wandering, and nothing else."""

    act = act_least_tried
    update = update_q_learner
    beta = no_beta

    def memory(self, world, steps, seed):
        return self.common(world, steps, seed)


if __name__ == "__main__":
    print(monmdp.train(monmdp.make("Loop", "Ask"), LeastTried(), seeds=4))
