"""Q-learning with a reward model, worked out by hand: the numbers are in the comments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from by_hand import TWINS, Driven, one_state
from comparing import Q_LEARNERS

import monmdp
from monmdp import Grid

twins = pytest.mark.parametrize("how", TWINS)
agents = pytest.mark.parametrize("agent", monmdp.AGENTS)
learners = pytest.mark.parametrize("agent", Q_LEARNERS)
RIGHT, STAY = 2, 4


@twins
def test_five_steps_in_two_cells(how):
    """Cell 0, then the coin in cell 1; α = 1/2, γ = 0.99, Q from 0."""
    agent = Driven(how, monmdp.make(Grid([".C"])), "Naive", alpha=0.5)
    agent.happened(0, RIGHT, 1, shown=0.0)
    assert agent.beliefs[RIGHT] == 0.0
    assert agent.q[0, RIGHT] == 0.0
    agent.happened(1, STAY, 1, shown=1.0, ended=True)  # the first reward seen replaces the guess
    assert agent.beliefs[5 + STAY] == 1.0
    assert agent.q[1, STAY] == 0.5
    agent.happened(0, RIGHT, 1, monitor=-0.2)  # not shown: R̂ = 0 stands in; 0 − 0.2 + 0.99 · 0.5 = 0.295
    assert agent.q[0, RIGHT] == pytest.approx(0.1475)
    agent.happened(1, STAY, 1, shown=2.0, ended=True)  # mean of 1 and 2 is 1.5
    assert agent.beliefs[5 + STAY] == 1.5
    assert agent.q[1, STAY] == 1.0
    agent.happened(1, STAY, 1, shown=0.0, ended=True)  # mean of 1, 2 and 0 is 1
    assert agent.beliefs[5 + STAY] == 1.0
    assert agent.q[1, STAY] == 1.0
    agent.happened(1, STAY, 1, ended=True, monitor=-2.0)  # not shown: R̂ = 1 stands in; 1 − 2 = −1
    assert agent.q[1, STAY] == 0.0
    assert np.count_nonzero(agent.q) == 1


@twins
def test_a_reward_never_seen_is_a_guess(how):
    agent = Driven(how, monmdp.make(Grid([".C"]), "Ask"), "Naive", alpha=1.0)
    guess = agent.beliefs[1 * 5 + STAY]
    agent.happened(1, 2 * STAY, 1, ended=True)
    assert agent.q[1, 2 * STAY] == guess
    agent.happened(1, 2 * STAY + 1, 1, shown=1.0, ended=True, monitor=-0.2)
    assert agent.q[1, 2 * STAY + 1] == 0.8
    agent.happened(1, 2 * STAY, 1, ended=True)  # what asking taught holds for not asking too
    assert agent.q[1, 2 * STAY] == 1.0


def test_guesses_are_uniform():
    """R̂ starts uniform in [−0.1, 0.1], anew for every seed; 36,000 guesses, five standard errors."""
    curves = monmdp.train(monmdp.make("Empty", "Full(observability=0)"), "Naive", 200, steps=1)
    guesses = curves.reward_model
    assert guesses.shape == (200, 180)
    assert len(np.unique(guesses)) == guesses.size
    assert -0.1 <= guesses.min() < -0.099
    assert 0.099 < guesses.max() < 0.1
    error = 0.1 / math.sqrt(3 * guesses.size)
    assert abs(guesses.mean()) < 5 * error
    assert guesses.var() == pytest.approx(0.01 / 3, rel=0.03)


def options(agent: str) -> dict[str, float]:
    return {"alpha": 1.0, "initial_q": 0.0, **({"bonus": 0.0} if agent == "Intrinsic" else {})}


@learners
def test_an_end_stops_the_future(agent):
    """Paid 1 and over: Q stays at 1."""
    learner = monmdp.AGENTS.build(agent, **options(agent))
    curves = monmdp.train(one_state(ends=True), learner, 1, steps=20)
    assert curves.q.item() == 1.0


@learners
def test_a_step_limit_does_not(agent):
    """Paid 1 and cut off: Q = 1 + Q / 2 after every step, so 2 − 2^(1−n) after n of them."""
    learner = monmdp.AGENTS.build(agent, **options(agent))
    for steps in (1, 2, 5):
        curves = monmdp.train(one_state(ends=False), learner, 1, steps=steps)
        assert curves.q.item() == 2 - 2.0 ** (1 - steps)


def test_bootstrapping_through_the_limit_uses_the_state_that_was_reached():
    """Three cells, limit 1: the second cell is never acted in, so its values stay where they started."""
    problem = monmdp.make(Grid(["...C"], step_limit=1))
    learner = monmdp.AGENTS.build("Naive", alpha=1.0, initial_q=-4.0, epsilon=1.0)
    q = monmdp.train(problem, learner, 1, steps=200).q[0]
    assert q[0, RIGHT] == pytest.approx(0.99 * -4.0)
    assert q[0, STAY] > -4.0 * 0.99**2  # staying is bootstrapped from itself, again and again


@agents
def test_visits_are_counted(agent):
    """The alternation a → b → a leaves even counts, and everything is seen."""
    curves = monmdp.train(one_state(ends=True), agent, 1, steps=31, points=31)
    assert curves.visit_counts.item() == 31
    assert curves.observed[0].tolist() == list(range(32))
    assert curves.visited[0].tolist() == [0] + [1] * 31
