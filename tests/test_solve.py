"""Optimal values computed by hand, and properties of solutions. γ = 0.99 throughout."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import Grid, Rule, Step

G = 0.99


def optimum(environment: object, monitor: str) -> float:
    return monmdp.solve(monmdp.make(environment, monitor)).optimal_return


def geometric(terms: int) -> float:
    """1 + γ + γ² + …, with the given number of terms."""
    return sum(G**k for k in range(terms))


@pytest.mark.parametrize(
    "monitor", ["Full", "Random", "Ask", "Level", "Battery", "LimitedTime", "RandomPair", "FullRandom", "PaidExperts"]
)
def test_optimum_if_the_monitor_can_be_ignored(monitor):
    assert optimum("Empty", monitor) == pytest.approx(G**10, abs=1e-12)


def test_loop_with_button():
    """Off: four moves and the coin. On: first press the button at 0.2, since ending while on costs 2 more."""
    off, on = G**4, -0.2 + G * G**4
    assert optimum("Loop", "Button") == pytest.approx((off + on) / 2, abs=1e-12)


def test_loop_with_a_button_without_end_cost():
    """On: 0.2 for five steps is dearer than 0.2 once and one step later."""
    on = max(G**4 - 0.2 * geometric(5), -0.2 + G**5)
    assert on == -0.2 + G**5
    assert optimum("Loop", "Button(end_cost=0)") == pytest.approx((G**4 + on) / 2, abs=1e-12)


def test_loop_with_a_cheap_button_is_left_on():
    """At 0.001 a step and 0 at the end, pressing costs a step of delay, 1 % of the coin: leave it."""
    on = G**4 - 0.001 * geometric(5)
    assert on > -0.001 + G**5
    assert optimum("Loop", "Button(cost=0.001, end_cost=0)") == pytest.approx((G**4 + on) / 2, abs=1e-12)


def test_empty_with_experts():
    """A wrong name pays 0.001 a step, for ten moves and the coin."""
    assert optimum("Empty", "Experts") == pytest.approx(G**10 + 0.001 * geometric(11), abs=1e-12)


def test_empty_with_experts_and_a_large_bonus():
    """0.05 a step for ever is worth 5, the coin 1: within 50 steps the bonus is collected 50 times."""
    assert optimum("Empty", "Experts(bonus=0.05)") == pytest.approx(0.05 * geometric(50), abs=1e-12)


def test_empty_with_switch():
    """Off: leave it off. On permanently at 0.2 per step: the small coin after five moves ends it soonest."""
    large, small = G**10 - 0.2 * geometric(11), 0.1 * G**5 - 0.2 * geometric(6)
    assert small > large
    assert optimum("Empty", "Switch") == pytest.approx((G**10 + small) / 2, abs=1e-12)


def test_river_swim_with_battery():
    """River Swim's drift pays 0.01 a step for ever, so the battery stays full."""
    assert optimum("RiverSwim", "Battery") == pytest.approx(optimum("RiverSwim", "Full"), abs=1e-12)


def test_quicksand():
    """`~C`: leaving succeeds one time in ten, so v = γ (0.1 · 1 + 0.9 v)."""
    solution = monmdp.solve(monmdp.make(Grid(["~C"], step_limit=None)))
    assert solution.v[0] == pytest.approx(0.1 * G / (1 - 0.9 * G), abs=1e-12)
    assert solution.optimal_return == pytest.approx(solution.v[0], abs=1e-12)


def test_the_return_respects_the_step_limit():
    """`~C` in three steps: out at the first move, or at the second with no step left for the coin."""
    assert optimum(Grid(["~C"], step_limit=2), "Full") == pytest.approx(0.1 * G)
    assert optimum(Grid(["~C"], step_limit=3), "Full") == pytest.approx(0.1 * G + 0.09 * G**2)


def test_river_swim_by_its_transition_matrix():
    """Swimming right everywhere is optimal; its values solve six equations."""
    right = np.array(
        [
            [0.40, 0.60, 0.00, 0.00, 0.00, 0.00],
            [0.05, 0.60, 0.35, 0.00, 0.00, 0.00],
            [0.00, 0.05, 0.60, 0.35, 0.00, 0.00],
            [0.00, 0.00, 0.05, 0.60, 0.35, 0.00],
            [0.00, 0.00, 0.00, 0.05, 0.60, 0.35],
            [0.00, 0.00, 0.00, 0.00, 0.40, 0.60],
        ]
    )
    reward = np.array([0, 0, 0, 0, 0, 0.6])
    solution = monmdp.solve(monmdp.make("RiverSwim"))
    assert solution.v == pytest.approx(np.linalg.solve(np.eye(6) - G * right, reward), abs=1e-10)
    assert solution.policy.tolist() == [[0, 1]] * 6
    where, expected = np.array([0, 0.5, 0.5, 0, 0, 0]), 0.0
    for step in range(200):
        expected += G**step * (where @ reward)
        where = where @ right
    assert solution.optimal_return == pytest.approx(expected, abs=1e-12)


def test_random_rewards_count_as_their_mean():
    def play(state, action):
        yield Step("over", 10.0, 0.25, terminated=True)
        yield Step("over", -2.0, 0.75, terminated=True)

    assert optimum(Rule(states=("table", "over"), actions=("play",), rule=play), "Full") == pytest.approx(1.0)


def test_ties_are_shared_evenly():
    """In the middle of nine cells with the coin in the corner, right and down are equally good."""
    solution = monmdp.solve(monmdp.make(Grid(["...", "...", "..C"])))
    left, down, right, up, stay = range(5)
    assert solution.policy[4, [down, right]].tolist() == [0.5, 0.5]
    assert solution.policy[4, [left, up, stay]].tolist() == [0, 0, 0]
    assert solution.policy[8].tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(("gap", "shared"), [(1e-10, True), (1e-8, False)])
def test_values_closer_than_a_billionth_are_ties(gap, shared):
    policy = monmdp.greedy_policy(np.array([[1.0, 1.0 + gap, 0.0]]))
    assert policy.tolist() == ([[0.5, 0.5, 0.0]] if shared else [[0.0, 1.0, 0.0]])


def test_quantities_agree_with_each_other():
    solution = monmdp.solve(monmdp.make("Hazard", "Level"))
    assert np.array_equal(solution.v, solution.q.max(1))
    assert np.array_equal(solution.policy, monmdp.greedy_policy(solution.q))
    assert solution.optimal_return == monmdp.policy_return(solution.problem, solution.policy)
    assert "optimal return" in repr(solution)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.999])
def test_discount(discount):
    problem = monmdp.make("Loop", discount=discount)
    assert monmdp.solve(problem).optimal_return == pytest.approx(discount**4, abs=1e-12)


def test_a_huge_step_limit_equals_no_limit():
    """The remaining discounted probability is negligible after some thousand steps, so that summation stops."""
    limited, free = (monmdp.make(f"RiverSwim(step_limit={limit})", "Full") for limit in (100_000_000, None))
    assert monmdp.solve(limited).optimal_return == pytest.approx(monmdp.solve(free).optimal_return, abs=1e-12)
