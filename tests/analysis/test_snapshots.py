"""Snapshots are those of the run that `train` makes."""

from __future__ import annotations

import numpy as np
import pytest
from reference.loop import train_plain

import monmdp
from monmdp.study.snapshots import take_snapshots

CURVES = ("returns", "observed", "beta", "explored", "paid", "collected")


@pytest.mark.parametrize(("environment", "monitor"), [("Hazard", "Button"), ("RiverSwim", "Experts")])
@pytest.mark.parametrize("agent", sorted(monmdp.AGENTS))
def test_it_is_the_run_that_train_makes(environment, monitor, agent):
    problem = monmdp.make(environment, monitor)
    seen = take_snapshots(problem, agent, seed=4, steps=900, count=30)
    curves = monmdp.train(problem, agent, seeds=[4], steps=900, points=30)
    for name in CURVES:
        np.testing.assert_array_equal(getattr(seen, name), getattr(curves, name)[0], err_msg=name)
    np.testing.assert_array_equal(seen.steps, curves.steps)
    np.testing.assert_array_equal(seen.q[-1], curves.q[0])
    np.testing.assert_array_equal(seen.visits[-1], curves.visit_counts[0])
    np.testing.assert_array_equal(seen.reward_model[-1], curves.reward_model[0])
    assert seen.optimal_return == curves.optimal_return
    assert (seen.visits.sum((1, 2)) == seen.steps).all()
    assert problem.reachable[seen.states].all()


def test_the_goal_is_the_least_visited_pair():
    problem = monmdp.make("Hazard", "Button")
    seen = take_snapshots(problem, "Directed", steps=900, count=30)
    reachable = problem.reachable_pairs
    for visits, goal in zip(seen.visits, seen.goals, strict=True):
        counts = np.where(reachable, visits.ravel(), np.iinfo(np.int64).max)
        assert goal == counts.argmin()


def test_values_toward_the_goal_are_those_of_the_plain_agent():
    problem = monmdp.make("Loop", "Ask")
    seen = take_snapshots(problem, "Directed", seed=1, steps=400, count=10)
    _, plain = train_plain(problem, "Directed", seed=1, steps=400)
    goal = int(plain.goals[plain.goal()])
    assert seen.goals[-1] == goal
    values = plain.successor_values[..., plain.goal()]
    np.testing.assert_allclose(seen.goal_values[-1].ravel(), values.ravel(), rtol=1e-6)


def test_agents_without_a_goal_say_so():
    seen = take_snapshots(monmdp.make("Loop", "Ask"), "Naive", steps=100, count=5)
    assert (seen.goals == -1).all()
    assert np.isnan(seen.goal_values).all()
