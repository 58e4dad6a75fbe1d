"""Diameters against linear systems over (step, state) and against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from dense import visits, worst_hitting_time, worst_shortest_time

import monmdp
from monmdp import Grid

PROBLEMS = [
    ("Loop(step_limit=7)", "Full"),
    (Grid(["~.C", "..."], step_limit=6), "Button"),
    (Grid([".c", "T."], step_limit=5, random_action=0.3), "Ask"),
    (Grid(["..."], step_limit=8, start=[(0, 0), (0, 2)]), "Switch"),
    ("RiverSwim(step_limit=10)", "Experts(n=2)"),
    (Grid([".~."], step_limit=6), "Battery(n=2)"),
    (Grid([".C"], step_limit=None), "Level"),
    ("RiverSwim(step_limit=None)", "Button"),
    ("Hazard(step_limit=None, random_action=0.2)", "Full"),
]

problems = pytest.mark.parametrize(("environment", "monitor"), PROBLEMS)


def random_policy(problem: monmdp.MonMDP) -> np.ndarray:
    policy = np.random.default_rng(8).dirichlet(np.ones(problem.n_actions), problem.n_states)
    return policy / policy.sum(1, keepdims=True)


@problems
def test_goal_relative_diameter_agrees_with_a_linear_system(environment, monitor):
    problem = monmdp.make(environment, monitor)
    policy = random_policy(problem)
    pairs = np.flatnonzero(problem.reachable_pairs)
    goals = pairs[:: max(1, len(pairs) // 12)]
    expected = [worst_hitting_time(problem, policy, divmod(int(goal), problem.n_actions)) for goal in goals]
    assert monmdp.goal_relative_diameter(problem, policy, goals) == pytest.approx(np.array(expected), rel=1e-9)


@problems
def test_diameter_agrees_with_a_linear_program(environment, monitor):
    problem = monmdp.make(environment, monitor)
    states = np.flatnonzero(problem.reachable)
    expected = max(worst_shortest_time(problem, int(goal)) for goal in states)
    assert monmdp.diameter(problem) == pytest.approx(expected, rel=1e-7)


def draw(chances: np.ndarray, luck: float) -> int:
    return min(int(np.searchsorted(chances.cumsum(), luck, side="right")), len(chances) - 1)


def steps_until(problem: monmdp.MonMDP, policy: np.ndarray, goal: int, place: tuple[int, int], rng) -> int:
    """One game from (step, state) until the goal pair is taken, restarts included."""
    (time, state), count = place, 0
    while True:
        pair = state * problem.n_actions + draw(policy[state], rng.random())
        count += 1
        if pair == goal:
            return count
        first, last = problem.offsets[pair : pair + 2]
        outcome = first + draw(problem.probability[first:last], rng.random())
        time, state = time + 1, int(problem.next_state[outcome])
        if problem.terminated[outcome] or time == problem.step_limit:
            time, state = 0, draw(problem.start, rng.random())


def test_goal_relative_diameter_agrees_with_simulation():
    """The longest mean over every step and state of an episode lies within five standard errors."""
    problem = monmdp.make(Grid([".c."], step_limit=4, random_action=0.2), "Full")
    policy = np.tile([0.1, 0.1, 0.5, 0.0, 0.3], (3, 1))  # mostly RIGHT or STAY
    goal = 2 * 5 + 4  # STAY in the last cell
    rng = np.random.default_rng(0)
    places = [(time, state) for time, layer in enumerate(visits(problem)) for state in layer]
    games = {place: [steps_until(problem, policy, goal, place, rng) for _ in range(150)] for place in places}
    worst = max(games, key=lambda place: np.mean(games[place]))
    again = np.array([steps_until(problem, policy, goal, worst, rng) for _ in range(1500)])
    (expected,) = monmdp.goal_relative_diameter(problem, policy, [goal])
    assert abs(again.mean() - expected) < 5 * again.std() / np.sqrt(len(again))


def test_the_diameter_is_the_best_a_goal_policy_can_do():
    """A goal pair is one step beyond its state, so no policy brings all goals closer than the diameter plus one."""
    problem = monmdp.make("Loop(step_limit=9)", "Full")
    uniform = np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)
    assert monmdp.goal_relative_diameter(problem, uniform).max() >= monmdp.diameter(problem) + 1
