"""An agent that explores what it has tried least."""

from dataclasses import dataclass

from monmdp.agents.base import QLearner, update_q_learner
from monmdp.kernels.compile import inlined
from monmdp.kernels.random import uniform
from monmdp.training.evaluation import choose_best


@inlined
def act_curiously(memory, state, step, key):
    """With chance ε the action tried least in this state, else the best; ties are broken at random."""
    n_actions = memory.q.shape[1]
    if uniform(key, 2 * step) < memory.epsilon[step]:
        counts = memory.visits[state * n_actions : (state + 1) * n_actions]
        return choose_best(-counts, key, 2 * step + 1), True
    return choose_best(memory.q[state], key, 2 * step + 1), False


@dataclass(frozen=True, kw_only=True)
class Curious(QLearner):
    """Q-learning that takes the action tried least instead of a random one."""

    act = act_curiously
    update = update_q_learner

    def memory(self, world, steps, seed):
        return self.common(world, steps, seed)
