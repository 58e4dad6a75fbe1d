"""Reachable states and communicating problems."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import Grid, MonMDPError, Rule, Step


def reachable(problem: monmdp.MonMDP) -> set:
    """Environment states in which the agent can act, in any monitor state."""
    states = np.flatnonzero(problem.reachable) // len(problem.monitor.states)
    return {problem.environment.states[s] for s in states}


def chart(arrows: dict, start, step_limit=None, ends=()) -> Rule:
    """A deterministic environment from {state: {action: next state}}."""
    actions = tuple(next(iter(arrows.values())))
    return Rule(
        states=tuple(arrows),
        actions=actions,
        rule=lambda state, action: [Step(arrows[state][action], terminated=(state, action) in ends)],
        start=start,
        step_limit=step_limit,
    )


def test_walls_are_unreachable():
    assert reachable(monmdp.make(Grid([".#.", "..."]), "Ask")) == {(0, 0), (0, 2), (1, 0), (1, 1), (1, 2)}


def test_cells_behind_walls_are_unreachable():
    problem = monmdp.make(Grid([".#C", "c#."]), "Button")
    assert reachable(problem) == {(0, 0), (1, 0)}
    assert monmdp.solve(problem).optimal_return == pytest.approx((0.1 * 0.99 + 0.1 * 0.99**2 - 0.2) / 2)


@pytest.mark.parametrize("name", ["Cliff", "DangerMaze"])
@pytest.mark.parametrize("monitor", monmdp.MONITORS)
def test_pits_are_unreachable(name, monitor):
    problem = monmdp.make(name, monitor)
    tiles = problem.environment.layout.tiles
    dead = {cell for cell in problem.environment.states if tiles[cell[0]][cell[1]] in "P#"}
    assert dead
    assert reachable(problem) == set(problem.environment.states) - dead


def test_a_step_limit_makes_the_coin_unreachable():
    """Five steps are taken in cells 0 to 4; the cell entered by the fifth is left by the restart."""
    problem = monmdp.make("Corridor(step_limit=5)", "Ask")
    assert reachable(problem) == {(0, column) for column in range(5)}
    assert monmdp.solve(problem).optimal_return == 0.0


def test_the_last_step_of_the_limit_is_enough_to_collect():
    assert monmdp.solve(monmdp.make("Corridor(step_limit=20)")).optimal_return == pytest.approx(0.99**19)
    assert monmdp.solve(monmdp.make("Corridor(step_limit=19)")).optimal_return == 0.0


def test_monitor_states_count_as_states():
    """Two steps can drain one unit before the last of them is taken."""
    problem = monmdp.make(Grid(["..."], step_limit=2), "Battery(n=3)")
    charges = {problem.monitor.states[s % 4] for s in np.flatnonzero(problem.reachable)}
    assert charges == {3, 2}


def test_reachable_pairs_are_all_actions_of_reachable_states():
    problem = monmdp.make(Grid([".#"]), "Ask")
    assert problem.reachable_pairs.tolist() == [True] * 10 + [False] * 10


TRAP = {"a": {"go": "b", "stay": "a"}, "b": {"go": "b", "stay": "b"}}
RING = {"a": {"go": "b", "stay": "a"}, "b": {"go": "a", "stay": "b"}}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (chart(RING, "a"), True),
        (chart(TRAP, "a"), False),  # nothing leads out of b
        (chart(TRAP, "a", step_limit=10), True),  # but the restart
        (chart(TRAP, "a", ends={("b", "go")}), True),  # or an end
        (chart(TRAP, "b"), True),  # a is never seen
        (chart(RING, ["a", "b"]), True),
        (chart({"a": {"go": "a"}, "b": {"go": "b"}}, ["a", "b"]), False),  # two starts that never meet
        (chart(TRAP, ["a", "b"]), False),
        (chart(TRAP, ["b", "a"]), False),
        (chart(TRAP, {"a": 0.5, "b": 0.5}, ends={("a", "stay")}), False),
    ],
)
def test_communicating(environment, expected):
    assert monmdp.solve(monmdp.make(environment)).communicating is expected
    assert (monmdp.diameter(monmdp.make(environment)) < np.inf) is expected


@pytest.mark.parametrize(
    ("monitor", "expected"),
    [("Full", True), ("Button", True), ("Experts", True), ("Switch", False), ("LimitedTime", False), ("Battery", True)],
)
def test_monitors_can_be_traps(monitor, expected):
    """River Swim never ends: without a step limit a switch stays on, unlike a battery, whose end restarts."""
    assert monmdp.solve(monmdp.make("RiverSwim(step_limit=None)", monitor)).communicating is expected


def test_an_unreachable_goal_is_rejected():
    problem = monmdp.make(Grid([".#"]))
    policy = np.full((2, 5), 0.2)
    with pytest.raises(MonMDPError, match="never be visited"):
        monmdp.goal_relative_diameter(problem, policy, goals=[5])
    assert len(monmdp.goal_relative_diameter(problem, policy)) == 5
