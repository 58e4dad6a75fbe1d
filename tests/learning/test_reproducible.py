"""Same seed, same result: whatever the threads, the other seeds, the points and the evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from comparing import CURVES, TABLES, differences, run, same

import monmdp

STEPS = 2000
agents = pytest.mark.parametrize("agent", monmdp.AGENTS)


def problem() -> monmdp.MonMDP:
    """Random transitions, several start states."""
    return monmdp.make("Hazard", "Button")


@agents
def test_the_number_of_threads_does_not_matter(agent):
    one = monmdp.train(problem(), agent, range(6), steps=STEPS, points=20, threads=1)
    two = monmdp.train(problem(), agent, range(6), steps=STEPS, points=20, threads=2)
    many = monmdp.train(problem(), agent, range(6), steps=STEPS, points=20, threads=5)
    for seed in range(6):
        assert differences(run(one, seed), run(two, seed)) == []
        assert differences(run(one, seed), run(many, seed)) == []


@agents
def test_the_other_seeds_do_not_matter(agent):
    alone = monmdp.train(problem(), agent, [4], steps=STEPS, points=20)
    among = monmdp.train(problem(), agent, [7, 4, 1000], steps=STEPS, points=20)
    assert differences(run(alone, 4), run(among, 4)) == []
    assert same(among.visit_counts[1], alone.visit_counts[0])


@agents
def test_seeds_differ(agent):
    curves = monmdp.train(problem(), agent, 4, steps=STEPS, points=2)
    assert len({counts.tobytes() for counts in curves.visit_counts}) == 4


@agents
def test_the_points_do_not_matter(agent):
    """More recording points change neither the end of a run nor the values at shared points."""
    few = monmdp.train(problem(), agent, 2, steps=STEPS, points=10)
    many = monmdp.train(problem(), agent, 2, steps=STEPS, points=1000)
    assert few.steps.tolist() == [*range(0, STEPS, 200), STEPS]
    assert many.steps.tolist() == [*range(0, STEPS, 2), STEPS]
    shared = np.isin(many.steps, few.steps)
    for name in CURVES:
        assert same(getattr(few, name), getattr(many, name)[:, shared]), name
    for name in TABLES:
        assert same(getattr(few, name), getattr(many, name)), name


@agents
def test_evaluation_does_not_change_the_run(agent):
    exact, sampled, none = (
        monmdp.train(problem(), agent, 2, steps=STEPS, points=50, evaluation=how)
        for how in ("exact", "sampled", "none")
    )
    for name in (*CURVES[1:], *TABLES):
        assert same(getattr(exact, name), getattr(sampled, name)), name
        assert same(getattr(exact, name), getattr(none, name)), name
    assert np.isfinite(exact.returns).all()
    assert np.isfinite(sampled.returns).all()
    assert np.isnan(none.returns).all()


def test_names_and_objects_give_the_same_run():
    named = monmdp.train(problem(), "directed(beta_bar=0.5)", [1], steps=500)
    given = monmdp.train(problem(), monmdp.AGENTS.build("Directed", beta_bar=0.5), [1], steps=500)
    assert differences(run(named, 1), run(given, 1)) == []
    assert named.agent == given.agent == "Directed(beta_bar=0.5)"


def test_a_number_of_seeds_means_the_first_seeds():
    assert monmdp.train(problem(), "Naive", 3, steps=10).seeds == [0, 1, 2]
    assert monmdp.train(problem(), "Naive", range(5, 8), steps=10).seeds == [5, 6, 7]


def test_random_draws_of_the_world_do_not_depend_on_the_agent():
    """All agents get the same start states: random streams are keyed by role, not shared."""
    river = monmdp.make("RiverSwim(step_limit=1)", "Full")
    starts = [monmdp.train(river, agent, [2], steps=400, points=1).visit_counts.sum(2) for agent in monmdp.AGENTS]
    assert all(same(counts, starts[0]) for counts in starts)
    assert (starts[0] > 0).sum() == 2
