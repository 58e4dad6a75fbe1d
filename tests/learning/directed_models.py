"""DirectedModel in tests: driven step by step, trained, and its model as dense arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from by_hand import Driven
from reference.agents import plain_agent

import monmdp
from monmdp.agents.factored_model import write_model
from monmdp.kernels.compile import kernel
from monmdp.kernels.returns import new_evaluator
from monmdp.protocol import paper_job
from monmdp.rng import stream
from monmdp.training.loop import new_cursor, stream_keys
from monmdp.training.metrics import Tally, new_record
from monmdp.world import compact


class DrivenModel(Driven):
    """A DirectedModel that is given transitions one by one."""

    def __init__(self, how: str, problem: monmdp.MonMDP, steps: int = 100, **options: Any) -> None:
        built = monmdp.AGENTS.build("DirectedModel", **{"minimum_reward": 0.0, **options})
        self.how, self.problem, self.kind, self.step = how, problem, type(built), 0
        self.key = np.uint64(stream(0, "agent"))
        if how == "plain":
            self.memory: Any = plain_agent(built, problem, steps, 0)
        else:
            self.memory = built.memory(compact(problem), steps, 0)


def trained(problem: monmdp.MonMDP, agent: str, steps: int, seed: int = 0) -> Any:
    """The memory of an agent after a number of steps."""
    job = paper_job(problem, agent, steps, 1, "none")
    memory, keys = job.agent.memory(job.world, steps, seed), stream_keys(seed)
    job.loop(
        job.world, memory, keys, new_cursor(job.world, keys), Tally(), job.point_steps, job.episodes,
        new_evaluator(job.world), new_record(2), np.zeros(2, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip
    assert memory.visits.sum() == steps
    return memory


@kernel
def write_all_rows(model, rows):
    """Write the rows of all states."""
    states = np.arange(len(model.env_state))
    write_model(model, states, rows, 0, len(states))


def learned_model(memory: Any) -> tuple[np.ndarray, np.ndarray]:
    """Estimated probabilities of next states [pair, S] and of ends [pair]; NaN where nothing is known."""
    n_states, n_actions = memory.q.shape
    write_all_rows(memory.model, memory.value_rows)
    offsets, weight, next_state = memory.value_rows
    probability = np.zeros((n_states * n_actions, n_states + 1))
    for pair in range(n_states * n_actions):
        row = slice(offsets[pair], offsets[pair + 1])
        np.add.at(probability[pair], next_state[row], weight[row])
        if offsets[pair] == offsets[pair + 1]:
            probability[pair] = np.nan
    return probability[:, :-1], probability[:, -1]


def true_model(problem: monmdp.MonMDP) -> tuple[np.ndarray, np.ndarray]:
    """The same of the problem itself."""
    assert problem.reachable.all()
    moves, ends = np.zeros((problem.n_pairs, problem.n_states)), np.zeros(problem.n_pairs)
    continues = ~problem.terminated
    np.add.at(
        moves, (problem.pair_of_outcome[continues], problem.next_state[continues]), problem.probability[continues]
    )
    np.add.at(ends, problem.pair_of_outcome[~continues], problem.probability[~continues])
    return moves, ends
