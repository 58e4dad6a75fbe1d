"""The options observability and never_observable work for every monitor and change only what is shown."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import MonMDPError

ARRAYS = ("offsets", "env_outcome", "probability", "next_state", "reward", "terminated", "start")


def chances(problem: monmdp.MonMDP) -> np.ndarray:
    return problem.monitor.observe_probability


def assert_equal_but_for_what_is_shown(one: monmdp.MonMDP, other: monmdp.MonMDP) -> None:
    for name in ARRAYS:
        assert np.array_equal(getattr(one.monitor, name), getattr(other.monitor, name)), name


@pytest.mark.parametrize("name", monmdp.MONITORS)
@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_observability_multiplies(name, rho):
    plain, dimmed = monmdp.make("Hazard", name), monmdp.make("Hazard", f"{name}(observability={rho})")
    assert np.allclose(chances(dimmed), rho * chances(plain), rtol=0, atol=1e-15)
    assert chances(plain).max() > 0, "a monitor that shows nothing would make this test empty"
    assert_equal_but_for_what_is_shown(plain, dimmed)


@pytest.mark.parametrize("name", monmdp.MONITORS)
def test_never_observable_hides_exactly_the_named_pairs(name):
    """One pair, and every action of one cell."""
    environment = monmdp.ENVIRONMENTS.build("Hazard")
    monitor = monmdp.MONITORS.build(name, never_observable=[((0, 1), "STAY"), (2, 2)])
    plain, blind = monmdp.make("Hazard", name), monmdp.make(environment, monitor)
    table, m = plain.environment, len(plain.monitor.states) * plain.n_actions
    hidden = np.zeros(plain.n_outcomes, bool)
    for pair in range(plain.n_pairs):
        cell = table.states[pair // m]
        action = table.actions[pair % plain.n_actions // len(plain.monitor.actions)]
        named = cell == (2, 2) or (cell, action) == ((0, 1), "STAY")
        hidden[plain.offsets[pair] : plain.offsets[pair + 1]] = named
    assert np.array_equal(chances(blind), np.where(hidden, 0.0, chances(plain)))
    assert chances(plain)[hidden].max() > 0
    assert_equal_but_for_what_is_shown(plain, blind)


@pytest.mark.parametrize(
    ("given", "cells"),
    [
        ((2, 2), {(2, 2)}),
        ([(2, 2), (0, 3)], {(2, 2), (0, 3)}),
        ([[2, 2]], {(2, 2)}),
        ("toxic", {(0, 2), (1, 1)}),
        (["toxic", (3, 3)], {(0, 2), (1, 1), (3, 3)}),
    ],
)
def test_never_observable_takes_cells_and_regions(given, cells):
    problem = monmdp.make("Hazard", monmdp.MONITORS.build("Full", never_observable=given))
    hidden = np.flatnonzero(chances(problem) == 0)
    assert {problem.environment.states[problem.pair_of_outcome[o] // 5] for o in hidden} == cells


@pytest.mark.parametrize("given", [[(0, "LEFT")], ((0, "left"),), [[0, "LEFT"]]])
def test_never_observable_takes_pairs_of_environments_with_numbered_states(given):
    problem = monmdp.make("RiverSwim", monmdp.MONITORS.build("Full", never_observable=given))
    assert monmdp.solve(problem).hidden_rewards == [("0", "LEFT")]


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ("nowhere", "nowhere"),
        ([(9, 9)], "(9, 9)"),
        ([((0, 0), "JUMP")], "JUMP"),
        (None, "None"),
    ],
)
def test_unknown_references_are_rejected(given, part):
    with pytest.raises(MonMDPError) as error:
        monmdp.make("Hazard", monmdp.MONITORS.build("Full", never_observable=given))
    assert part in str(error.value)


def test_a_cell_outside_the_grid_is_not_taken_for_a_pair_of_indices():
    """(1, 2) is no cell of a single row; it must not silently hide action 2 in state 1."""
    with pytest.raises(MonMDPError):
        monmdp.make(monmdp.Grid(["..C"]), monmdp.MONITORS.build("Full", never_observable=[(1, 2)]))


def test_modifiers_combine():
    monitor = monmdp.MONITORS.build("Button", observability=0.25, never_observable=["large coin"])
    problem = monmdp.make("Hazard", monitor)
    plain = monmdp.make("Hazard", "Button")
    coin = problem.environment.states.index((0, 3))
    in_coin = problem.pair_of_outcome // problem.n_actions // 2 == coin
    assert np.array_equal(chances(problem), np.where(in_coin, 0.0, 0.25 * chances(plain)))
