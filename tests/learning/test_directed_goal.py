"""Which pair is the goal, when to explore, and what to do then, checked step by step from counts kept apart."""

from __future__ import annotations

import math

import numpy as np
import pytest
from by_hand import TWINS, Driven
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.agents import plain_agent
from reference.loop import training

import monmdp
from monmdp.agents.directed import find_goal


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.data())
def test_the_goal_is_the_least_visited_pair_first_in_order(data):
    """Any visits; the search that never starts over agrees with argmin after each, over pairs that can be goals."""
    goals = data.draw(st.integers(1, 9))
    pairs = goals + data.draw(st.sampled_from([0, 2]))
    visits, goal, least = np.zeros(pairs, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    assert find_goal(visits, goals, goal, least) == 0
    for pair in data.draw(st.lists(st.integers(0, goals - 1), max_size=120)):
        visits[pair] += 1
        assert find_goal(visits, goals, goal, least) == visits[:goals].argmin()


def test_the_goal_over_a_long_run():
    random = np.random.default_rng(0)
    visits, goal, least = np.zeros(40, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
    for step in range(20_000):
        pair = visits.argmin() if step % 3 else random.integers(40)
        visits[pair] += 1
        assert find_goal(visits, 40, goal, least) == visits.argmin()


@pytest.mark.parametrize("names", [("Loop", "Ask"), ("Hazard", "Button"), ("DangerMaze", "Full")])
def test_beta_is_log_time_over_the_least_count(names):
    """β = log(t + 2) / N(goal) at the end of the run, over the pairs that can be visited."""
    problem = monmdp.make(*names)
    curves = monmdp.train(problem, "Directed", 3, steps=6000)
    counts = curves.visit_counts.reshape(3, -1)[:, problem.reachable_pairs]
    assert curves.beta[:, -1] == pytest.approx(math.log(6002) / counts.min(1), rel=1e-15)
    assert np.isinf(curves.beta[:, 0]).all()
    never = curves.visited < problem.reachable_pairs.sum()
    assert (np.isinf(curves.beta) == never).all()


@pytest.mark.parametrize("agent", [name for name in monmdp.AGENTS if not name.startswith("Directed")])
def test_the_others_have_no_beta(agent):
    assert np.isnan(monmdp.train(monmdp.make("Loop"), agent, 1, steps=50).beta).all()


@pytest.mark.parametrize("options", [{}, {"successor_target": "occupancy"}, {"balanced_wandering": True}])
def test_every_choice_follows_the_algorithm(options):
    """Explore if and only if β > β̄: toward the goal by Ŝ, or the least tried action; else greedy on Q."""
    problem, steps = monmdp.make("Loop", "Full"), 1200
    wandering = (np.arange(steps) % 3 == 0).astype(float) * ("balanced_wandering" in options)
    built = monmdp.AGENTS.build("Directed", alpha=1.0, initial_q=-10.0, beta_bar=1.0, epsilon=wandering, **options)
    agent = plain_agent(built, problem, steps, seed=5)
    counts, modes = np.zeros((problem.n_states, problem.n_actions), int), []
    q, successors = agent.q.copy(), agent.successor_values.copy()
    for stepped in training(problem, agent, steps, seed=5):
        least = int(counts.argmin())
        beta = math.log(stepped.step + 2) / counts.ravel()[least] if counts.ravel()[least] else math.inf
        if beta <= 1.0:
            liked = q[stepped.state]
        elif wandering[stepped.step]:
            liked = -counts[stepped.state]
        else:
            liked = successors[stepped.state, :, least]
        assert stepped.exploring == (beta > 1.0)
        assert liked[stepped.action] == liked.max()
        modes.append(stepped.exploring)
        counts[stepped.state, stepped.action] += 1
        q, successors = agent.q.copy(), agent.successor_values.copy()
    assert set(modes) == {True, False}


def test_beta_bar_ends_exploration():
    """In a small problem β falls below β̄ and the compiled agent exploits most of the time from then on."""
    problem = monmdp.make("Loop", "Full")
    little, much = (
        monmdp.train(problem, monmdp.AGENTS.build("Directed", beta_bar=bar), 5, points=100) for bar in (0.5, 0.01)
    )
    assert (much.explored == 1.0)[:, 1:].all()
    assert (little.explored[:, -1] < 0.5).all()
    assert (little.beta[:, -1] <= 0.5 * 1.1).all()
    assert little.solved.all()


@pytest.mark.parametrize("how", TWINS)
def test_wandering_without_balance_is_uniform(how):
    """ε = 1: all ten joint actions equally often, whatever the counts; five standard errors."""
    agent = Driven(how, monmdp.make("Loop", "Ask"), "Directed", epsilon=1.0, steps=3000)
    agent.memory.visits.reshape(9, 10)[4] = np.arange(10)
    chosen = np.bincount([agent.chooses(4, step)[0] for step in range(3000)], minlength=10)
    assert abs(chosen - 300).max() < 5 * math.sqrt(3000 * 0.1 * 0.9)


@pytest.mark.parametrize("how", TWINS)
def test_a_random_goal_policy_ignores_successors(how):
    agent = Driven(how, monmdp.make("Loop"), "Directed", epsilon=0.0, random_goal_policy=True, steps=2000)
    chosen = np.bincount([agent.chooses(0, step)[0] for step in range(2000)], minlength=5)
    assert abs(chosen - 400).max() < 5 * math.sqrt(2000 * 0.2 * 0.8)
    assert all(agent.chooses(0, step)[1] for step in range(10))


def test_directed_leaves_nothing_out():
    """What the paper is about: every pair is visited, and none is neglected, where optimism stops looking."""
    problem = monmdp.make("Empty", "Ask")
    directed = monmdp.train(problem, "Directed", 3, points=1).visit_counts
    optimism = monmdp.train(problem, "Optimism", 3, points=1).visit_counts
    assert directed.min() >= 20
    assert (optimism == 0).mean() > 0.5
