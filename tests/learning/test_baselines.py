"""What each baseline adds to Q-learning: bonuses, bounds and counts, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from by_hand import TWINS, Driven, one_state
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.paper import confidence_bonus

import monmdp
from monmdp import Rule, Step
from monmdp.agents.baselines import confidence_bounds

twins = pytest.mark.parametrize("how", TWINS)


def bounds_of(counts, scale) -> np.ndarray:
    """Upper confidence bounds of actions whose values are zero."""
    bounds, total = np.zeros(len(counts)), scale * sum(counts)
    log_total = math.log(total) if total > 0 else -math.inf
    confidence_bounds(np.zeros(len(counts)), np.array(counts), scale, log_total, bounds)
    return bounds


def two_actions() -> monmdp.MonMDP:
    return monmdp.make(Rule(states=("a",), actions=("x", "y"), rule=lambda *_: [Step("a", terminated=True)]))


def line() -> monmdp.MonMDP:
    """a → b → the end."""
    return monmdp.make(
        Rule(states=("a", "b"), actions=("go",), rule=lambda state, _: [Step("b", 0.0, 1.0, state == "b")])
    )


@pytest.mark.parametrize("steps", [1, 2, 9])
def test_the_intrinsic_bonus_counts_the_visit_that_earns_it(steps):
    """N is incremented first, so the n-th step of a pair that pays 1 and ends is worth 1 + 0.01/√n."""
    learner = monmdp.AGENTS.build("Intrinsic", alpha=1.0, initial_q=0.0)
    curves = monmdp.train(one_state(ends=True), learner, 1, steps=steps)
    assert curves.q.item() == pytest.approx(1 + 0.01 / math.sqrt(steps), abs=1e-15)
    assert curves.reward_model.item() == 1.0  # the bonus is no reward


@pytest.mark.parametrize("initial_q", [-10.0, 0.0, 1.0])
@pytest.mark.parametrize("steps", [5, 40, 300, 2000])
def test_ucb_tries_everything_once_before_anything_twice(steps, initial_q):
    """An untried action has an infinite bonus, whatever its value."""
    learner = monmdp.AGENTS.build("UCB", epsilon=0.0, initial_q=initial_q)
    counts = monmdp.train(monmdp.make("Loop", "Ask"), learner, 5, steps=steps, points=1).visit_counts
    unfinished = (counts == 0).any(2)
    assert (counts.max(2)[unfinished] <= 1).all()


#: Counts 1 and 3: √(2 ln 4 / 1) = 1.66511, √(2 ln 4 / 3) = 0.96135, so action 1 wins from Q = 0.70376 on.
@twins
@pytest.mark.parametrize(("value", "choice"), [(0.70, 0), (0.71, 1)])
def test_ucb_weighs_values_against_counts(how, value, choice):
    agent = Driven(how, two_actions(), "UCB", epsilon=0.0)
    agent.memory.visits.ravel()[:] = (1, 3)
    agent.q[0] = (0.0, value)
    assert agent.chooses(0) == (choice, False)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1.0, 3.0), (1.665109222315395, 0.9613512473684137)),
        ((1.0, 0.0), (0.0, math.inf)),  # ln 1 = 0
        ((0.0, 0.0), (math.inf, math.inf)),
        ((0.5, 0.4), (math.inf, math.inf)),  # the log of a sum below one
        ((0.5, 0.5), (0.0, 0.0)),
        ((0.25, 2.0), (2.547057, 0.900521)),
    ],
)
def test_confidence_bonuses(counts, expected):
    assert bounds_of(counts, 1.0) == pytest.approx(expected, rel=1e-5)
    assert confidence_bonus(list(counts)) == pytest.approx(expected, rel=1e-5)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    counts=st.lists(st.floats(0, 1e6), min_size=1, max_size=12),
    scale=st.sampled_from([1.0, 0.01, 0.5]),
)
def test_confidence_bounds_are_the_formula(counts, scale):
    """Against NumPy with its own infinities, to rounding."""
    n = scale * np.array(counts)
    with np.errstate(all="ignore"):
        expected = np.sqrt(2 * np.log(n.sum()) / n)
    expected = np.where((n == 0) | np.isnan(expected), np.inf, expected)
    if abs(n.sum() - 1) > 1e-9:
        assert bounds_of(counts, scale) == pytest.approx(expected, rel=1e-9)


@twins
def test_count_values(how):
    """a → b → end, γ of counts 1/2: an end is worth N / (1 − γ) = 2 N, and a step N + γ·min C(next)."""
    agent = Driven(how, line(), "QCounts", count_discount=0.5)
    count_values = agent.memory.count_values
    agent.happened(0, 0, 1)
    assert count_values.ravel().tolist() == [1.0, 0.0]
    agent.happened(1, 0, 1, ended=True)
    assert count_values.ravel().tolist() == [1.0, 2.0]
    agent.happened(0, 0, 1)  # 2 + 2 / 2
    agent.happened(1, 0, 1, ended=True)  # 2 · 2
    assert count_values.ravel().tolist() == [3.0, 4.0]


@twins
def test_count_values_look_at_the_least_ahead_and_learn_at_their_own_rate(how):
    agent = Driven(how, two_actions(), "QCounts", count_alpha=0.5, count_discount=0.5)
    agent.memory.count_values[0] = (8.0, 2.0)
    agent.happened(0, 0, 0)  # target 1 + 2 / 2 = 2
    assert agent.memory.count_values[0].tolist() == [5.0, 2.0]


@twins
def test_qcounts_takes_the_discount_of_q_by_default(how):
    agent = Driven(how, line(), "QCounts")
    agent.happened(1, 0, 1, ended=True)
    assert agent.memory.count_values[1, 0] == pytest.approx(100.0)


@twins
@pytest.mark.parametrize(("value", "choice"), [(0.70, 0), (0.71, 1)])
def test_qcounts_bounds_use_the_scaled_count_values(how, value, choice):
    """C = 2 and 6 with γ = 1/2 act like counts 1 and 3."""
    agent = Driven(how, two_actions(), "QCounts", epsilon=0.0, count_discount=0.5)
    agent.memory.count_values[0] = (2.0, 6.0)
    agent.q[0] = (0.0, value)
    assert agent.chooses(0) == (choice, False)
