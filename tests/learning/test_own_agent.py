"""A user's agent, written in a script outside the package, runs in the same compiled loop."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = '''
"""An agent that always acts at random, and one that adds noise to Q: the smallest things that can be written."""
import json
from dataclasses import dataclass

import numba
import numpy as np

import monmdp
from monmdp.agents import AGENTS, QLearner
from monmdp.agents.choices import choose_any, further_draw
from monmdp.kernels.compile import inlined, kernel
from monmdp.training.loop import loop_of


@inlined
def act_at_random(memory, state, draws):
    return choose_any(memory.q.shape[1], draws), True


@kernel
def act_with_noise(memory, state, draws):
    best, choice = -np.inf, 0
    for action in range(memory.q.shape[1]):
        value = memory.q[state, action] + 0.1 * further_draw(draws, action)
        if value > best:
            best, choice = value, action
    return choice, False


@AGENTS.add
@dataclass(frozen=True, kw_only=True)
class Drunk(QLearner):
    """Walks at random."""

    act = act_at_random


@dataclass(frozen=True, kw_only=True)
class Noisy(Drunk):
    act = act_with_noise


if __name__ == "__main__":
    problem = monmdp.make("Loop", "Full")
    named = monmdp.train(problem, "drunk", 4, threads=2)
    alone = monmdp.train(problem, Drunk(), [3], threads=1, points=10)
    noisy = monmdp.train(problem, Noisy(initial_q=1.0), 4)
    live = monmdp.train_live(__import__("gymnasium").make("FrozenLake-v1"), "Ask", Drunk(initial_q=0.0), steps=50)
    print(json.dumps({
        "agents": [named.agent, noisy.agent],
        "explored": [float(named.explored[:, -1].mean()), float(noisy.explored[:, -1].mean())],
        "solved": [float(named.solved.mean()), float(noisy.solved.mean())],
        "same": bool((named.visit_counts[3] == alone.visit_counts[0]).all()),
        "compiled": [isinstance(loop_of(kind), numba.core.dispatcher.Dispatcher) and len(loop_of(kind).signatures)
                     for kind in (Drunk, Noisy)],
        "start_counts": named.visit_counts[:, 0].sum(0).tolist(),
        "live": int(live.visit_counts.sum()),
    }))
'''


def test_an_agent_from_outside(tmp_path):
    """By name and as an object, alone and among seeds, and live; its kernels are what runs."""
    (tmp_path / "mine.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["agents"] == ["Drunk", "Noisy(initial_q=1.0)"]
    assert found["same"]
    assert found["live"] == 50
    assert found["compiled"] == [1, 1]
    assert found["explored"] == [1.0, 0.0]
    counts = found["start_counts"]
    assert max(counts) < 1.3 * min(counts)  # at random, so about even, in the state it starts in
    # A random walk sees all of this little world, and noise on optimistic values is no hindrance.
    assert found["solved"] == [1.0, 1.0]


BAD_AGENTS = """
from dataclasses import dataclass
import monmdp
from monmdp.agents import QLearner


@dataclass(frozen=True, kw_only=True)
class Bad(QLearner):
    choice: int = 0

    @staticmethod
    def act(memory, state, draws):
        return memory.choice, False


for choice in (-1, 5, 10**6, -(10**6)):
    try:
        monmdp.train(monmdp.make("Loop"), Bad(choice=choice), seeds=2, steps=100)
    except monmdp.MonMDPError as error:
        print(error)
"""


def test_an_agent_from_outside_whose_actions_do_not_exist():
    done = subprocess.run([sys.executable, "-c", BAD_AGENTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    message = "act of Bad returned an action that is not a whole number from 0 to 4."
    assert done.stdout.splitlines() == [message] * 4
