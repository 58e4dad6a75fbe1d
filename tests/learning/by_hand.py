"""Tiny problems, and one way to drive an agent step by step, compiled or plain, for numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from comparing import Q_LEARNERS
from reference.agents import plain_agent

import monmdp
from monmdp import Rule, Step
from monmdp.agents.base import Transition
from monmdp.agents.choices import Draws
from monmdp.rng import stream
from monmdp.world import compact

TWINS = ("plain", "compiled")


def ring(discount: float = 0.5) -> monmdp.MonMDP:
    """Two states, each leads to the other by its only action, nothing ends."""
    rule = Rule(states=("a", "b"), actions=("go",), rule=lambda state, _: [Step("b" if state == "a" else "a")])
    return monmdp.make(rule, discount=discount)


def one_state(ends: bool, discount: float = 0.5) -> monmdp.MonMDP:
    """One state, one action that pays 1; the episode ends, or is cut off, after every step."""
    rule = Rule(states=("a",), actions=("go",), rule=lambda *_: [Step("a", 1.0, terminated=ends)], step_limit=1)
    return monmdp.make(rule, discount=discount)


class Driven:
    """An agent that is given transitions one by one; options must be complete."""

    def __init__(self, how: str, problem: monmdp.MonMDP, agent: str, steps: int = 100, seed: int = 0, **options: Any):
        first = {"alpha": 1.0, "initial_q": 0.0} if agent in Q_LEARNERS else {"q_max": 1.0, "minimum_reward": 0.0}
        built = monmdp.AGENTS.build(agent, **{**first, **options})
        self.how, self.problem, self.kind, self.step = how, problem, type(built), 0
        self.key = np.uint64(stream(seed, "agent"))
        if how == "plain":
            self.memory: Any = plain_agent(built, problem, steps, seed)
        else:
            self.memory = built.memory(compact(problem), steps, seed)

    def happened(
        self, state: int, action: int, next_state: int, shown: float = np.nan, ended: bool = False, monitor: float = 0.0
    ) -> None:
        """One step: what was done, where it led and what was seen of it."""
        pair = state * self.problem.n_actions + action
        env_pair = int(self.problem.env_pair[pair])
        self.memory.visits.ravel()[pair] += 1
        if self.how == "plain":
            self.memory.update(state, action, env_pair, next_state, ended, shown, monitor, self.step)
        else:
            transition = Transition(self.step, state, action, env_pair, next_state, ended, shown, monitor)
            self.kind.update(self.memory, transition)
        self.step += 1

    def begins(self, state: int = 0) -> None:
        """An episode begins."""
        if self.how == "plain":
            self.memory.begin(state, self.step)
        else:
            self.kind.begin(self.memory, state, self.step)

    def plans(self) -> None:
        """Q is about to be evaluated."""
        if self.how == "plain":
            self.memory.plan(self.step)
        else:
            self.kind.plan(self.memory, self.step)

    def chooses(self, state: int, step: int | None = None) -> tuple[int, bool]:
        """The action it would take now, and whether that is exploration."""
        step = self.step if step is None else step
        if self.how == "plain":
            return self.memory.act(state, step)
        action, exploring = self.kind.act(self.memory, state, Draws(self.key, step))
        return int(action), bool(exploring)

    @property
    def q(self) -> np.ndarray:
        return self.memory.q

    @property
    def beliefs(self) -> np.ndarray:
        return self.memory.reward_model

    @property
    def successors(self) -> np.ndarray:
        """Ŝ as [pair, goal]."""
        values = self.memory.successor_values
        return values.reshape(-1, values.shape[-1])
