"""Successor values: both targets by hand, against the dense formula, and the maxima that are kept beside them."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import TWINS, Driven, ring
from hypothesis import given, settings
from hypothesis import strategies as st

import monmdp
from monmdp.agents.directed import learn_successors

twins = pytest.mark.parametrize("how", TWINS)


@twins
def test_first_visit(how):
    """A ring of two, γ = 1/2: the goal itself is worth 1, one step before it 1/2, and that is where it stays."""
    agent = Driven(how, ring(), "Directed")
    agent.happened(0, 0, 1)
    assert agent.successors.tolist() == [[1, 0.5], [1, 1]]
    agent.happened(1, 0, 0)
    assert agent.successors.tolist() == [[1, 0.5], [0.5, 1]]
    for _ in range(10):
        agent.happened(0, 0, 1)
        agent.happened(1, 0, 0)
    assert agent.successors.tolist() == [[1, 0.5], [0.5, 1]]


@twins
def test_occupancy(how):
    """Visits go on being counted: 1 + γ/2 …, in the end 1 / (1 − γ²) = 4/3 at the goal and 2/3 before it."""
    agent = Driven(how, ring(), "Directed", successor_target="occupancy")
    agent.happened(0, 0, 1)
    assert agent.successors.tolist() == [[1.5, 0.5], [1, 1]]
    agent.happened(1, 0, 0)
    assert agent.successors.tolist() == [[1.5, 0.5], [0.75, 1.25]]
    for _ in range(40):
        agent.happened(0, 0, 1)
        agent.happened(1, 0, 0)
    assert agent.successors == pytest.approx(np.array([[4, 2], [2, 4]]) / 3, rel=1e-6)


@twins
@pytest.mark.parametrize("target", ["first visit", "occupancy"])
def test_nothing_comes_after_the_end(how, target):
    agent = Driven(how, ring(), "Directed", successor_target=target)
    agent.happened(1, 0, 0, ended=True)
    assert agent.successors.tolist() == [[1, 1], [0, 1]]


@twins
def test_own_learning_rate_and_discount(how):
    """α = 1/2 and γ = 1/4 for Ŝ, whatever Q has: 1 + (1/4 − 1) / 2."""
    agent = Driven(how, ring(), "Directed", successor_alpha=0.5, successor_discount=0.25, alpha=1.0)
    agent.happened(0, 0, 1, shown=3.0)
    assert agent.successors.tolist() == [[1, 0.625], [1, 1]]
    assert agent.q[0, 0] == 3.0


@twins
def test_learning_rate_and_discount_are_those_of_q_by_default(how):
    agent = Driven(how, ring(discount=0.25), "Directed", alpha=0.5)
    agent.happened(0, 0, 1)
    assert agent.successors.tolist() == [[1, 0.625], [1, 1]]


transition = st.tuples(
    st.integers(0, 5), st.integers(0, 2), st.integers(0, 5), st.booleans(), st.sampled_from([0.0, 0.05, 0.5, 1.0])
)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    moves=st.lists(transition, max_size=60),
    occupancy=st.booleans(),
    discount=st.sampled_from([0.0, 0.5, 0.99]),
    wide=st.sampled_from([3, 12]),
)
def test_any_transitions(moves, occupancy, discount, wide):
    """Random moves, self-loops and ends included: the dense formula in single precision, and exact maxima."""
    n_states, n_actions = 6, wide
    pairs = n_states * n_actions
    values, best = np.ones((pairs, pairs), np.float32), np.ones((n_states, pairs), np.float32)
    dense = np.ones((n_states, n_actions, pairs), np.float32)
    discount, scratch = np.float32(discount), np.zeros(pairs, np.float32)
    for state, action, next_state, ended, rate in moves:
        alpha = np.float32(rate)
        learn_successors(values, best, n_actions, state, action, next_state, ended, alpha, discount, occupancy, scratch)
        pair = state * n_actions + action
        target = np.zeros(pairs, np.float32) if ended else discount * dense[next_state].max(0)
        target[pair] = np.float32(1) + target[pair] if occupancy else 1
        dense[state, action] += alpha * (target - dense[state, action])
        assert np.array_equal(values.reshape(dense.shape), dense)
        assert np.array_equal(best, dense.max(1))


def test_maxima_in_a_real_run():
    """After thousands of steps in a random world the kept maxima are still the maxima."""
    problem = monmdp.make("RiverSwim", "Button")
    agent = Driven("compiled", problem, "Directed", steps=4000, alpha=(0.9, 0.1), epsilon=0.5)
    random = np.random.default_rng(1)
    state = int(problem.start.argmax())
    for _ in range(4000):
        action, _ = agent.chooses(state)
        pair = state * problem.n_actions + action
        outcomes = np.arange(problem.offsets[pair], problem.offsets[pair + 1])
        after = int(problem.next_state[random.choice(outcomes, p=problem.probability[outcomes])])
        agent.happened(state, action, after)
        state = after
    values = agent.successors.reshape(problem.n_states, problem.n_actions, -1)
    assert np.array_equal(agent.memory.successor_best, values.max(1))
    assert values.min() >= 0
    assert values.max() == 1
