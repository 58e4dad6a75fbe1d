"""Promises that are easy to break without noticing."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import monmdp
from monmdp import Monitor, MonMDPError, Outcome, Rule


@dataclass(frozen=True)
class Forgetful(Monitor):
    """Returns what it should yield."""

    value: object = None

    def outcomes(self, moment):
        return self.value


@pytest.mark.parametrize("value", [None, Outcome(observed=1.0), 3])
def test_outcomes_that_are_not_yielded_get_a_sentence(value):
    with pytest.raises(MonMDPError, match="must yield"):
        monmdp.make("Loop", Forgetful(value=value))


def test_steps_that_are_not_yielded_get_a_sentence():
    with pytest.raises(MonMDPError, match="must yield"):
        monmdp.make(Rule(states=("here",), actions=("go",), rule=lambda state, action: None))


def test_the_button_of_two_room_stays_where_the_paper_put_it():
    """SPEC: the button is in the start cell, and in (1, 5) in TwoRoom2x11, wherever that one starts."""
    moved = monmdp.make("TwoRoom2x11(start=(0, 0))", "Button")
    assert moved.monitor.landmarks == {moved.environment.states.index((1, 5)): "button"}
    moved = monmdp.make("Empty(start=(2, 2))", "Button")
    assert moved.monitor.landmarks == {moved.environment.states.index((2, 2)): "button"}


def test_a_huge_step_limit_is_no_burden():
    """What is left after some thousand steps weighs nothing, so it equals having no limit."""
    limited, free = (monmdp.make(f"RiverSwim(step_limit={limit})", "Full") for limit in (100_000_000, None))
    assert monmdp.solve(limited).optimal_return == pytest.approx(monmdp.solve(free).optimal_return, abs=1e-12)
