"""What training returns: shapes, a summary worked out by hand, and a line that says it all."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import monmdp


def fake(returns: list[float], optimum: float = 3.0) -> monmdp.Curves:
    """Curves with these final returns."""
    n = len(returns)
    return monmdp.Curves(
        problem=monmdp.make("Loop", "Ask"),
        agent="Naive",
        seeds=list(range(n)),
        steps=np.array([0, 500, 1000]),
        recorded={
            "returns": np.array([[-9.0, -1.0, value] for value in returns]),
            "observed": np.array([[0, 10, 100 * i] for i in range(n)]),
        },
        visit_counts=np.zeros((n, 9, 10), int),
        q=np.zeros((n, 9, 10)),
        reward_model=np.zeros((n, 45)),
        optimal_return=optimum,
        target_return=optimum,
        evaluation="exact",
        seconds=1.25,
    )


def test_the_summary_by_hand():
    """Returns 1, 2, 3, 4: mean 2.5, deviation √(5/3), half width 3.182446 · √(5/3) / 2 = 2.054260; two reach 3."""
    found = fake([1.0, 2.0, 3.0, 4.0]).summary()
    assert found == {
        "environment": "Loop",
        "monitor": "Ask",
        "agent": "Naive",
        "seeds": 4,
        "steps": 1000,
        "optimal_return": 3.0,
        "final_return": 2.5,
        "final_return_ci": pytest.approx(2.0542603, rel=1e-6),
        "solved": 0.5,
        "observed": 150.0,
        "paid": None,
        "collected": None,
        "seconds": 1.25,
    }
    json.dumps(found, allow_nan=False)


def test_one_seed_has_no_interval():
    curves = fake([3.0])
    assert math.isnan(curves.final_return_ci)
    assert curves.summary()["final_return_ci"] is None
    assert "±" not in repr(curves)


def test_solved_means_within_a_millionth():
    solved = fake([3.0, 3.0 - 0.9e-6, 3.0 - 1.1e-6, 3.1]).solved
    assert solved.tolist() == [True, True, False, True]


def test_it_prints_itself_usefully():
    shown = repr(fake([1.0, 2.0, 3.0, 4.0]))
    for word in ("Naive", "Loop + Ask", "4 seeds", "1,000 steps", "2.5000 ± 2.0543", "3.0000", "50%", "150 rewards"):
        assert word in shown
    assert "\n" not in shown


def test_without_evaluation_nothing_is_claimed():
    """No return was computed, so the summary must say so, as plain values that JSON can carry."""
    found = monmdp.train(monmdp.make("Loop"), "Naive", 2, steps=20, evaluation="none").summary()
    assert found["final_return"] is None
    assert found["solved"] is None
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("agent", monmdp.AGENTS)
def test_shapes_and_meaning(agent):
    """Unreachable states have no values and no visits; everything recorded grows, and adds up."""
    problem = monmdp.make("DangerMaze", "Button")
    curves = monmdp.train(problem, agent, [4, 9], steps=600, points=20)
    assert curves.returns.shape == curves.observed.shape == curves.beta.shape == (2, 21)
    assert curves.visit_counts.shape == curves.q.shape == (2, problem.n_states, problem.n_actions)
    assert curves.reward_model.shape == (2, 30 * 5)
    assert not problem.reachable.all()
    assert np.isnan(curves.q[:, ~problem.reachable]).all()
    assert np.isfinite(curves.q[:, problem.reachable]).all()
    assert (curves.visit_counts[:, ~problem.reachable] == 0).all()
    assert (curves.visit_counts.sum((1, 2)) == 600).all()
    assert (curves.visited[:, -1] == np.count_nonzero(curves.visit_counts, axis=(1, 2))).all()
    for growing in (curves.observed, curves.visited):
        assert (growing[:, 0] == 0).all()
        assert (np.diff(growing) >= 0).all()
    assert ((curves.explored >= 0) & (curves.explored <= 1)).all()


def test_what_is_seen_is_counted():
    """With Button, rewards are shown in exactly the steps taken while it is on."""
    problem = monmdp.make("Hazard", "Button")
    curves = monmdp.train(problem, "Directed", 3, steps=2000, points=4)
    assert (curves.visit_counts[:, 1::2].sum((1, 2)) == curves.observed[:, -1]).all()
