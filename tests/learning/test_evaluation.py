"""The return recorded while training is the exact return of the greedy policy, ties shared; sampling agrees."""

from __future__ import annotations

import numpy as np
import pytest
from comparing import greedy_return
from reference.loop import plain_sampled_return

import monmdp
from monmdp.kernels.returns import exact_return, new_evaluator
from monmdp.rng import stream
from monmdp.training.job import TEST_EPISODES
from monmdp.world import compact, is_deterministic

PROBLEMS = [
    ("Empty", "Ask"),
    ("Hazard(reward_noise=1)", "Button"),
    ("RiverSwim", "Experts"),
    ("RiverSwim(step_limit=None)", "Level"),
    ("DangerMaze", "Level"),
    ("Loop(start=[(0, 0), (2, 0), (0, 2)], random_action=0.1)", "Battery(n=2)"),
    ("Walk(step_limit=2)", "Random"),
    ("Cliff(step_limit=None)", "LimitedTime"),
]
problems = pytest.mark.parametrize("names", PROBLEMS, ids=lambda names: " + ".join(names))


def values(random: np.random.Generator, shape: tuple[int, ...], ties: bool) -> np.ndarray:
    return random.integers(0, 3, shape).astype(float) if ties else random.normal(size=shape)


@problems
@pytest.mark.parametrize("ties", [True, False])
def test_any_values_in_any_order(names, ties):
    """One evaluator sees Q change a little or a lot, and back; it must never trust what no longer holds."""
    problem = monmdp.make(*names)
    world = compact(problem)
    memo, random = new_evaluator(world), np.random.default_rng(7)
    n_acting = int(problem.reachable.sum())
    q = values(random, (world.n_states, world.n_actions), ties)
    kept = [q.copy()]
    for turn in range(60):
        if turn % 10 == 9:
            q = kept[random.integers(len(kept))].copy()
        else:
            changed = random.random(q.shape) < (0.5, 0.02, 0.0)[turn % 3]
            q = np.where(changed, values(random, q.shape, ties), q)
        kept.append(q.copy())
        full = np.zeros((problem.n_states, problem.n_actions))
        full[problem.reachable] = q[:n_acting]
        assert exact_return(world, q, memo) == pytest.approx(greedy_return(problem, full), rel=1e-12, abs=1e-12)


@problems
def test_the_same_numbers_again_cost_nothing_and_change_nothing(names):
    world = compact(monmdp.make(*names))
    q = values(np.random.default_rng(3), (world.n_states, world.n_actions), True)
    memo = new_evaluator(world)
    first = exact_return(world, q, memo)
    assert exact_return(world, 2 * q + 1, memo) == first  # the same order of actions, so the same policy
    assert exact_return(world, q, new_evaluator(world)) == first


@problems
@pytest.mark.parametrize("agent", ["Naive", "Directed"])
def test_the_last_point_of_a_run_is_the_return_of_its_q(names, agent):
    problem = monmdp.make(*names)
    curves = monmdp.train(problem, agent, 3, steps=700, points=100)
    for q, found in zip(curves.q, curves.final_returns, strict=True):
        assert found == pytest.approx(greedy_return(problem, q), rel=1e-12, abs=1e-12)


def test_points_on_the_way_too():
    """With a constant ε a shorter run is the beginning of a longer one."""
    problem, learner = monmdp.make("Hazard", "Ask"), monmdp.AGENTS.build("Naive", epsilon=0.3)
    long = monmdp.train(problem, learner, [1], steps=1000, points=10)
    for point, steps in enumerate(long.steps[1:], start=1):
        short = monmdp.train(problem, learner, [1], steps=int(steps), points=1)
        assert long.returns[0, point] == pytest.approx(greedy_return(problem, short.q[0]), rel=1e-12, abs=1e-12)
        assert long.observed[0, point] == short.observed[0, -1]
        assert long.visited[0, point] == np.count_nonzero(short.visit_counts)


@pytest.mark.parametrize("names", [("Hazard", "Button"), ("RiverSwim", "Random"), ("Empty(random_action=0.3)", "Ask")])
def test_sampled_agrees_with_exact(names):
    """The difference over many points has mean zero: five standard errors."""
    problem = monmdp.make(*names)
    exact, sampled = (
        monmdp.train(problem, "Naive", 8, steps=1000, points=100, evaluation=how) for how in ("exact", "sampled")
    )
    difference = (sampled.returns - exact.returns).ravel()
    assert difference.std() > 0
    assert abs(difference.mean()) < 5 * difference.std() / np.sqrt(len(difference))


@pytest.mark.parametrize("names", [("RiverSwim", "Random"), ("Hazard", "Button"), ("Loop(step_limit=None)", "Ask")])
def test_test_episodes_have_a_stream_of_their_own(names):
    """Both points of a run in plain Python: draws go on from point to point, and none is the agent's."""
    problem, seed, steps = monmdp.make(*names, discount=0.9), 5, 40
    run = monmdp.train(problem, "Naive(initial_q=1)", [seed], steps=steps, points=1, evaluation="sampled")
    again = {}
    for role in ("evaluation", "agent"):
        clock, key, first = [0], stream(seed, role), np.ones((problem.n_states, problem.n_actions))
        episodes = 1 if is_deterministic(compact(problem)) else TEST_EPISODES
        again[role] = [plain_sampled_return(problem, q, episodes, key, clock) for q in (first, run.q[0])]
    assert run.returns[0].tolist() == again["evaluation"]
    assert again["evaluation"] != again["agent"]


def test_final_tables_do_not_depend_on_evaluation():
    """An agent that plans does so at the end, even if no point of the run is evaluated."""
    problem = monmdp.make("Loop", "Ask")
    runs = [monmdp.train(problem, "DirectedModel", 1, steps=90, points=2, evaluation=how) for how in ("none", "exact")]
    assert np.isnan(runs[0].returns).all()
    assert np.array_equal(runs[0].q, runs[1].q, equal_nan=True)
    assert len(np.unique(runs[0].q)) > 2


def test_sampling_is_exact_where_nothing_is_random():
    problem = monmdp.make("Loop")
    sampled = monmdp.train(problem, "Directed", 5, evaluation="sampled")
    assert sampled.final_returns == pytest.approx(np.full(5, 0.99**4), abs=1e-12)
    assert sampled.solved.all()


def test_the_optimum_is_never_beaten():
    for names in (("Empty", "Ask"), ("OneWay", "Level"), ("Corridor", "Experts")):
        problem = monmdp.make(*names)
        curves = monmdp.train(problem, "Directed", 2, steps=5000, points=200)
        assert (curves.returns <= curves.optimal_return + 1e-9).all()
        assert curves.optimal_return == monmdp.solve(problem).optimal_return
