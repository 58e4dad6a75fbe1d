"""An agent of your own with one option, in the same compiled loop as the built-in agents.

In every state it tries each action `patience` times, and is greedy on Q afterwards. Learning is the library's.
"""

from dataclasses import dataclass

import monmdp
from monmdp.agents import QLearner
from monmdp.agents.choices import choose, smallest


@dataclass(frozen=True, kw_only=True)
class Patient(QLearner):
    """Tries every action of a state equally often before it is greedy.

    patience: how often each action is tried.
    """

    patience: int = 10

    @staticmethod
    def act(memory, state, draws):
        """The action tried least until all were tried often enough, then the best one; ties are broken at random."""
        n_actions = memory.q.shape[1]
        counts = memory.visits[state * n_actions : (state + 1) * n_actions]
        if smallest(counts) < memory.patience:
            return choose(-counts, draws), True
        return choose(memory.q[state], draws), False


if __name__ == "__main__":
    for patience in (1, 10, 100):
        print(monmdp.train(monmdp.make("Loop", "Ask"), Patient(patience=patience), seeds=10))
