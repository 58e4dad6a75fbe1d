"""Schedules: a constant, a line from the first step to the last, or one number a step; anything else is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from by_hand import one_state
from comparing import Q_LEARNERS

import monmdp
from monmdp import MonMDPError
from monmdp.agents.schedules import schedule
from monmdp.protocol import paper_job


def test_a_line_reaches_both_ends():
    assert schedule((1.0, 0.0), 5, "ε") == pytest.approx([1, 0.75, 0.5, 0.25, 0], abs=1e-15)
    assert schedule([0.5, 0.05], 10, "α") == pytest.approx(0.5 - 0.05 * np.arange(10), abs=1e-15)
    assert schedule((1.0, 0.0), 2, "ε").tolist() == [1, 0]
    assert schedule((1.0, 0.0), 1, "ε").tolist() == [1]


@pytest.mark.parametrize("value", [0, 1, 0.2, np.float64(0.2), np.float32(0.5), np.array(0.5)])
def test_a_constant(value):
    assert schedule(value, 4, "ε").tolist() == [float(value)] * 4


@pytest.mark.parametrize("given", [[0.5], [0.5, 0.25], [0.5, 0.25, 0.0], [1, 0, 1, 0]])
def test_one_number_a_step(given):
    assert schedule(np.array(given), len(given), "ε").tolist() == given


@pytest.mark.parametrize(
    "given",
    [
        math.nan,
        math.inf,
        -0.1,
        1.5,
        "fast",
        None,
        (1.0,),
        (1.0, 0.5, 0.0),
        (1.0, math.nan),
        (1.0, -0.1),
        (2.0, 0.0),
        (),
        np.linspace(0, 1, 9),
        np.linspace(0, 1, 11),
        np.full(10, np.nan),
        np.full(10, 1.01),
        np.full((10, 1), 0.5),
        np.array(["much", "more"]),
    ],
    ids=lambda given: repr(given)[:30],
)
def test_what_is_no_schedule_gets_a_sentence(given):
    with pytest.raises(MonMDPError, match=r"^The thing .*\.$"):
        schedule(given, 10, "The thing")


def train(agent: str, option: str, value: object) -> None:
    """Ten steps with one option set; where it is refused does not matter, as long as it is."""
    monmdp.train(monmdp.make("Loop"), monmdp.AGENTS.build(agent, **{option: value}), 1, steps=10)


@pytest.mark.parametrize("option", ["alpha", "epsilon"])
@pytest.mark.parametrize("agent", Q_LEARNERS)
def test_every_agent_refuses_a_nan_schedule(agent, option):
    with pytest.raises(MonMDPError, match=r"must be (finite|between 0 and 1)"):
        train(agent, option, (1.0, math.nan))


@pytest.mark.parametrize(("agent", "option"), [("Directed", "successor_alpha"), ("QCounts", "count_alpha")])
def test_so_do_the_schedules_of_their_own(agent, option):
    for bad in (math.nan, 2.0, np.full(9, 0.5)):
        with pytest.raises(MonMDPError, match=r"must "):
            train(agent, option, bad)


def test_the_learning_rate_is_taken_step_by_step():
    """Target 1 from Q = 0: what is left is the product of all 1 − α."""
    rates = np.array([0.5, 0.0, 0.25, 1.0, 0.0])
    for steps in range(3, 6):
        learner = monmdp.AGENTS.build("Naive", alpha=rates[:steps], initial_q=0.0)
        q = monmdp.train(one_state(ends=True), learner, 1, steps=steps).q.item()
        assert q == pytest.approx(1 - np.prod(1 - rates[:steps]), abs=1e-15)


def test_epsilon_is_taken_step_by_step():
    """ε of 0 and 1 leaves nothing to chance."""
    epsilon = (np.arange(1000) % 4 == 0).astype(float)
    learner = monmdp.AGENTS.build("Naive", epsilon=epsilon)
    curves = monmdp.train(monmdp.make("Loop"), learner, 2, steps=1000)
    assert curves.explored[0] == pytest.approx(np.cumsum(np.r_[0, epsilon]) / np.maximum(curves.steps, 1))


def test_epsilon_falls_from_one_to_zero_by_default():
    """Half of the steps explore, the first always and the last never; five standard errors."""
    steps = 4000
    curves = monmdp.train(monmdp.make("Loop"), "Naive", 4, steps=steps, points=steps)
    taken = np.diff(curves.explored * curves.steps).round()
    assert (taken[:, 0] == 1).all()
    assert (taken[:, -1] == 0).all()
    early, late = taken[:, : steps // 2].mean(), taken[:, steps // 2 :].mean()
    error = math.sqrt(0.25 / taken[:, : steps // 2].size)
    assert abs(early - 0.75) < 5 * error
    assert abs(late - 0.25) < 5 * error


def test_optimism_never_wanders():
    assert (monmdp.train(monmdp.make("Loop"), "Optimism", 2, steps=500).explored == 0).all()


def test_defaults_fill_only_what_is_open():
    problem = monmdp.make("RiverSwim", "Experts")
    agent = paper_job(problem, "Naive(alpha=0.3)").agent
    assert (agent.alpha, agent.initial_q) == (0.3, 50)
    assert paper_job(problem, "Naive").agent.alpha == (0.5, 0.05)
