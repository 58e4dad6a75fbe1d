"""An agent that explores by taking the action it has tried least."""

from dataclasses import dataclass

from monmdp.agents.choices import choose, explores
from monmdp.agents.q_learning import QLearner
from monmdp.kernels.compile import inlined


@inlined
def act_curiously(memory, state, draws):
    """With probability ε the action tried least in this state, else the best; ties are broken at random."""
    if explores(memory.epsilon, draws):
        n_actions = memory.q.shape[1]
        return choose(-memory.visits[state * n_actions : (state + 1) * n_actions], draws), True
    return choose(memory.q[state], draws), False


@dataclass(frozen=True, kw_only=True)
class Curious(QLearner):
    """Q-learning that takes the action tried least instead of a random one."""

    act = act_curiously
