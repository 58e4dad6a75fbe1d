"""Rewards that can never be seen: which they are, and the best policy that fears them."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import Grid, MonMDPError

G = 0.99
ACTIONS = ("LEFT", "DOWN", "RIGHT", "UP", "STAY")
LEFT, DOWN, RIGHT, UP, STAY = range(5)


def hiding(never_observable: object, monitor: str = "Full") -> monmdp.Monitor:
    return monmdp.MONITORS.build(monitor, never_observable=never_observable)


def test_the_cautious_policy_goes_around_the_dark_cell():
    """`..C` over `...`: straight on through the dark cell is γ², around it γ⁴; feared at -1 the dark cell costs γ."""
    problem = monmdp.make(Grid(["..C", "..."]), hiding([(0, 1)]))
    solution = monmdp.solve(problem, minimum_reward=-1.0)
    assert solution.optimal_return == pytest.approx(G**2)
    assert solution.minimax_return == pytest.approx(G**4)
    assert (solution.policy[0, RIGHT], solution.minimax_policy[0, DOWN]) == (1.0, 1.0)
    assert not solution.solvable
    assert solution.hidden_rewards == [("(0, 1)", action) for action in ACTIONS]


def test_a_mild_fear_is_walked_through():
    """At -0.005 the dark cell costs less than two steps of delay: γ² - 0.005 γ > γ⁴."""
    problem = monmdp.make(Grid(["..C", "..."]), hiding([(0, 1)]))
    solution = monmdp.solve(problem, minimum_reward=-0.005)
    assert solution.minimax_return == pytest.approx(G**2 - 0.005 * G)
    assert solution.minimax_policy[0, RIGHT] == 1.0


def test_what_must_be_crossed_is_crossed():
    problem = monmdp.make(Grid(["..C"]), hiding([(0, 1)]))
    assert monmdp.solve(problem, minimum_reward=-0.1).minimax_return == pytest.approx(G**2 - 0.1 * G)
    assert monmdp.solve(problem, minimum_reward=-5.0).minimax_return == 0.0, "better to stay at home"


def test_a_coin_that_cannot_be_seen_is_not_hoped_for():
    solution = monmdp.solve(monmdp.make("Walk", hiding("large coin")))
    assert solution.optimal_return == pytest.approx(G**5)
    assert solution.minimax_return == pytest.approx(0.1 * G)
    assert ("(0, 6)", "STAY") in solution.hidden_rewards


def test_the_default_fear_is_the_smallest_reward():
    assert monmdp.solve(monmdp.make("Bottleneck", hiding("column"))).minimum_reward == -10.0
    assert monmdp.solve(monmdp.make("OneWay")).minimum_reward == pytest.approx(-0.1)
    assert monmdp.solve(monmdp.make("Empty")).minimum_reward == 0.0


@pytest.mark.parametrize("monitor", ["Full", "Ask", "Button(cell=31, action=DOWN, end_cost=0)", "Level"])
def test_bottleneck_can_be_crossed_through_its_gap(monitor):
    """The dark column holds what is feared, so the cautious policy is optimal though nobody can know it."""
    built = monmdp.MONITORS.build(monitor, never_observable="column")
    solution = monmdp.solve(monmdp.make("Bottleneck", built))
    assert not solution.solvable
    assert len(solution.hidden_rewards) == 5 * 5
    assert solution.minimax_return == pytest.approx(solution.optimal_return, abs=1e-12)


def test_a_single_dark_pair_is_listed_alone():
    solution = monmdp.solve(monmdp.make("Loop", hiding([((2, 2), "STAY")], "Ask")))
    assert solution.hidden_rewards == [("(2, 2)", "STAY")]
    assert solution.minimax_return == 0.0


def test_dark_outcomes_of_a_pair_are_feared_one_by_one():
    """A random monitor with p = 1 hides River Swim's rewards other than zero, and nothing else."""
    solution = monmdp.solve(monmdp.make("RiverSwim", "Random(p=1)"))
    assert solution.hidden_rewards == [("0", "LEFT"), ("5", "RIGHT")]
    assert solution.minimax_return == 0.0
    assert solution.optimal_return > 20


def test_a_monitor_may_go_dark_too_soon():
    """Time that runs out after one step shows the start cell only."""
    solution = monmdp.solve(monmdp.make(Grid(["..C"]), "LimitedTime(p=1)"))
    assert solution.hidden_rewards == [(f"(0, {column})", action) for column in (1, 2) for action in ACTIONS]


def test_total_darkness():
    solution = monmdp.solve(monmdp.make("Loop", "Ask(observability=0)"))
    assert len(solution.hidden_rewards) == 9 * 5
    assert solution.minimax_return == 0.0


def test_what_cannot_be_reached_need_not_be_seen():
    assert monmdp.solve(monmdp.make(Grid([".#C"]), hiding([(0, 2), (0, 1)]))).solvable
    assert not monmdp.solve(monmdp.make(Grid(["..C"]), hiding([(0, 2)]))).solvable
    assert monmdp.solve(monmdp.make("Corridor(step_limit=5)", hiding("large coin"))).solvable


@pytest.mark.parametrize("monitor", monmdp.MONITORS)
def test_the_feared_reward_does_not_depend_on_the_truth(monitor):
    """Two grids that differ in a dark cell alone: the cautious answers are the same, the true ones are not."""
    worlds = [Grid(["..C", f".{tile}."], start=(1, 0)) for tile in ".T"]
    mild, harsh = (monmdp.solve(monmdp.make(world, hiding([(1, 1)], monitor)), minimum_reward=-3.0) for world in worlds)
    assert np.array_equal(mild.minimax_q, harsh.minimax_q)
    assert mild.minimax_return == harsh.minimax_return
    assert not np.array_equal(mild.q, harsh.q)


def test_fear_changes_nothing_where_all_can_be_seen():
    one, other = (monmdp.solve(monmdp.make("Hazard", "Ask"), minimum_reward=fear) for fear in (-100.0, None))
    assert one.minimax_return == other.minimax_return == one.optimal_return
    assert np.array_equal(one.minimax_q, one.q)


@pytest.mark.parametrize("fear", [float("nan"), float("-inf"), "much"])
def test_a_fear_that_is_no_number_is_refused(fear):
    with pytest.raises(MonMDPError, match="minimum reward"):
        monmdp.solve(monmdp.make("Loop"), minimum_reward=fear)
