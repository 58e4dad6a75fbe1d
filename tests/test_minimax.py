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


def test_the_minimax_policy_avoids_the_hidden_cell():
    """`..C` over `...`: straight on through the dark cell is γ², around it γ⁴; feared at -1 the dark cell costs γ."""
    problem = monmdp.make(Grid(["..C", "..."]), hiding([(0, 1)]))
    solution = monmdp.solve(problem, minimum_reward=-1.0)
    assert solution.optimal_return == pytest.approx(G**2)
    assert solution.minimax_return == pytest.approx(G**4)
    assert (solution.policy[0, RIGHT], solution.minimax_policy[0, DOWN]) == (1.0, 1.0)
    assert not solution.solvable
    assert solution.hidden_rewards == [("(0, 1)", action) for action in ACTIONS]


def test_a_mild_minimum_reward_is_accepted():
    """At -0.005 the dark cell costs less than two steps of delay: γ² - 0.005 γ > γ⁴."""
    problem = monmdp.make(Grid(["..C", "..."]), hiding([(0, 1)]))
    solution = monmdp.solve(problem, minimum_reward=-0.005)
    assert solution.minimax_return == pytest.approx(G**2 - 0.005 * G)
    assert solution.minimax_policy[0, RIGHT] == 1.0


def test_an_unavoidable_hidden_cell_is_crossed():
    problem = monmdp.make(Grid(["..C"]), hiding([(0, 1)]))
    assert monmdp.solve(problem, minimum_reward=-0.1).minimax_return == pytest.approx(G**2 - 0.1 * G)
    assert monmdp.solve(problem, minimum_reward=-5.0).minimax_return == 0.0, "better to stay at home"


def test_a_hidden_coin_is_assumed_to_be_worth_the_minimum():
    solution = monmdp.solve(monmdp.make("Walk", hiding("large coin")))
    assert solution.optimal_return == pytest.approx(G**5)
    assert solution.minimax_return == pytest.approx(0.1 * G)
    assert ("(0, 6)", "STAY") in solution.hidden_rewards


def test_the_default_minimum_is_the_smallest_reward():
    assert monmdp.solve(monmdp.make("Bottleneck", hiding("column"))).minimum_reward == -10.0
    assert monmdp.solve(monmdp.make("OneWay")).minimum_reward == pytest.approx(-0.1)
    assert monmdp.solve(monmdp.make("Empty")).minimum_reward == 0.0


@pytest.mark.parametrize("monitor", ["Full", "Ask", "Button(cell=31, action=DOWN, end_cost=0)", "Level"])
def test_bottleneck_can_be_crossed_through_its_gap(monitor):
    """The hidden column has the minimum reward, so the minimax policy is optimal."""
    built = monmdp.MONITORS.build(monitor, never_observable="column")
    solution = monmdp.solve(monmdp.make("Bottleneck", built))
    assert not solution.solvable
    assert len(solution.hidden_rewards) == 5 * 5
    assert solution.minimax_return == pytest.approx(solution.optimal_return, abs=1e-12)


def test_a_single_hidden_pair_is_listed():
    solution = monmdp.solve(monmdp.make("Loop", hiding([((2, 2), "STAY")], "Ask")))
    assert solution.hidden_rewards == [("(2, 2)", "STAY")]
    assert solution.minimax_return == 0.0


def test_hidden_outcomes_of_a_pair_are_treated_separately():
    """A random monitor with p = 1 hides River Swim's rewards other than zero, and nothing else."""
    solution = monmdp.solve(monmdp.make("RiverSwim", "Random(p=1)"))
    assert solution.hidden_rewards == [("0", "LEFT"), ("5", "RIGHT")]
    assert solution.minimax_return == 0.0
    assert solution.optimal_return > 20


def test_a_monitor_that_turns_off_too_soon():
    """Time that runs out after one step shows the start cell only."""
    solution = monmdp.solve(monmdp.make(Grid(["..C"]), "LimitedTime(p=1)"))
    assert solution.hidden_rewards == [(f"(0, {column})", action) for column in (1, 2) for action in ACTIONS]


def test_no_reward_is_observable():
    solution = monmdp.solve(monmdp.make("Loop", "Ask(observability=0)"))
    assert len(solution.hidden_rewards) == 9 * 5
    assert solution.minimax_return == 0.0


def test_unreachable_rewards_need_not_be_observable():
    assert monmdp.solve(monmdp.make(Grid([".#C"]), hiding([(0, 2), (0, 1)]))).solvable
    assert not monmdp.solve(monmdp.make(Grid(["..C"]), hiding([(0, 2)]))).solvable
    assert monmdp.solve(monmdp.make("Corridor(step_limit=5)", hiding("large coin"))).solvable


@pytest.mark.parametrize("monitor", monmdp.MONITORS)
def test_minimax_does_not_depend_on_hidden_rewards(monitor):
    """Two grids that differ in a dark cell alone: the cautious answers are the same, the true ones are not."""
    worlds = [Grid(["..C", f".{tile}."], start=(1, 0)) for tile in ".T"]
    mild, harsh = (monmdp.solve(monmdp.make(world, hiding([(1, 1)], monitor)), minimum_reward=-3.0) for world in worlds)
    assert np.array_equal(mild.minimax_q, harsh.minimax_q)
    assert mild.minimax_return == harsh.minimax_return
    assert not np.array_equal(mild.q, harsh.q)


def test_the_minimum_has_no_effect_if_all_rewards_are_observable():
    one, other = (monmdp.solve(monmdp.make("Hazard", "Ask"), minimum_reward=fear) for fear in (-100.0, None))
    assert one.minimax_return == other.minimax_return == one.optimal_return
    assert np.array_equal(one.minimax_q, one.q)


@pytest.mark.parametrize("fear", [float("nan"), float("-inf"), "much"])
def test_a_minimum_that_is_not_a_number_is_rejected(fear):
    with pytest.raises(MonMDPError, match="minimum reward"):
        monmdp.solve(monmdp.make("Loop"), minimum_reward=fear)
