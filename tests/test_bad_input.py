"""Bad input raises an error with one line that names the bad value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import gymnasium
import pytest

import monmdp
from monmdp import Grid, Monitor, MonMDPError, Outcome, Rule, Step


def error_message(build) -> str:
    with pytest.raises(MonMDPError) as error:
        build()
    text = str(error.value)
    assert "\n" not in text
    assert text.strip()
    return text


def rule(*steps: Step, states: tuple = ("here", "there"), **options: object) -> Rule:
    return Rule(states=states, actions=("GO",), rule=lambda state, action: steps, title="Mine", **options)


class Odd(Monitor):
    """A monitor with the given outcomes."""

    states = ("low", "high")

    def __init__(self, *outcomes: Outcome) -> None:
        super().__init__()
        object.__setattr__(self, "given", outcomes)

    def outcomes(self, moment):
        return self.given


ENVIRONMENTS = {
    "ragged map": (lambda: Grid(["...", "..", "..."]), ["ragged", "row 1"]),
    "unknown tile": (lambda: Grid(["..", ".Z"]), ["'Z'", "row 1"]),
    "empty map": (lambda: Grid([]), ["map"]),
    "a map that is one text": (lambda: Grid("..C"), ["map"]),
    "probabilities short of one": (lambda: rule(Step("here", probability=0.5)), ["'GO'", "'here'", "Mine", "0.5"]),
    "probabilities above one": (lambda: rule(Step("here"), Step("there", probability=0.1)), ["1.1", "'GO'"]),
    "no outcome": (lambda: rule(), ["sum to 0", "'GO'", "'here'"]),
    "negative probability": (lambda: rule(Step("here", probability=1.5), Step("there", probability=-0.5)), ["1.5"]),
    "infinite reward": (lambda: rule(Step("here", math.inf)), ["inf", "'GO'", "'here'", "Mine"]),
    "undefined reward": (lambda: rule(Step("here", math.nan)), ["nan", "'GO'", "'here'"]),
    "a reward that is no number": (lambda: rule(Step("here", "much")), ["'much'"]),
    "unknown next state": (lambda: rule(Step("nowhere")), ["'nowhere'", "'GO'", "'here'"]),
    "unknown start": (lambda: rule(Step("here"), start="nowhere"), ["'nowhere'"]),
    "start that does not sum to one": (lambda: rule(Step("here"), start={"here": 0.3}), ["start", "0.3"]),
    "no states": (lambda: rule(Step("here"), states=()), ["Mine", "state"]),
    "a state twice": (lambda: rule(Step("here"), states=("here", "here")), ["Mine", "state"]),
    "negative step limit": (lambda: Grid([".."], step_limit=-5), ["step limit", "-5"]),
    "step limit of zero": (lambda: Grid([".."], step_limit=0), ["step limit", "0"]),
    "broken step limit": (lambda: Grid([".."], step_limit=2.5), ["step limit", "2.5"]),
    "step limit in words": (lambda: Grid([".."], step_limit="many"), ["step limit", "many"]),
    "random action above one": (lambda: Grid([".."], random_action=1.5), ["random_action", "1.5"]),
    "negative noise": (lambda: Grid([".."], reward_noise=-0.1), ["noise", "-0.1"]),
    "infinite noise": (lambda: Grid([".."], nonzero_reward_noise=math.inf), ["noise", "inf"]),
    "no such start cell": (lambda: Grid([".."], start=(5, 7)), ["(5, 7)"]),
    "one of the start cells": (lambda: Grid([".."], start=[(0, 0), (5, 7)]), ["(5, 7)"]),
    "a start that is a number": (lambda: Grid([".."], start=5), ["5"]),
    "a start between cells": (lambda: Grid([".."], start=(0.5, 0)), ["0.5"]),
    "a start in a wall": (lambda: Grid([".#"], start=(0, 1)), ["(0, 1)", "wall"]),
    "an impossible size": (lambda: monmdp.ENVIRONMENTS.build("Empty(rows=0)"), ["rows", "0"]),
    "unknown name": (lambda: monmdp.ENVIRONMENTS.build("Emtpy"), ["'Emtpy'", "'Empty'"]),
    "nothing": (lambda: None, ["None"]),
    "unknown Gymnasium name": (lambda: "NoSuchGame-v3", ["NoSuchGame"]),
    "unknown Gymnasium version": (lambda: "FrozenLake-v9", ["FrozenLake"]),
    "unknown Gymnasium option": (lambda: "FrozenLake-v1(colour=1)", ["colour"]),
    "bad Gymnasium option": (lambda: "FrozenLake-v1(map_name='9x9')", ["9x9"]),
    "another bad Gymnasium option": (lambda: "FrozenLake-v1(desc=5)", ["FrozenLake-v1"]),
}

MONITORS = {
    "unknown name": ("Asks", ["'Asks'", "'Ask'"]),
    "unknown state": (Odd(Outcome(next_state="middle")), ["'middle'", "low, high", "Odd"]),
    "probabilities short of one": (Odd(Outcome(probability=0.25)), ["0.25", "Odd"]),
    "no outcome": (Odd(), ["sum to 0", "Odd"]),
    "infinite reward": (Odd(Outcome(reward=-math.inf)), ["inf", "Odd"]),
    "shown more than surely": (Odd(Outcome(observed=1.5)), ["1.5", "Odd"]),
    "nothing": (None, ["None"]),
    "observability above one": ("Ask(observability=2)", ["observability", "2"]),
    "a cost in words": ("Ask(cost=much)", ["much"]),
    "a cost that is not a number": ("Ask(cost=nan)", ["nan"]),
    "an infinite cost": ("Ask(cost=1e999)", ["inf"]),
    "no cost": ("Switch(cost=None)", ["None"]),
    "an end cost in words": ("Button(end_cost=much)", ["much"]),
    "a chance above one": ("Random(p=1.5)", ["1.5"]),
    "a chance in words": ("Random(p=often)", ["often"]),
    "a time in words": ("LimitedTime(p=often)", ["often"]),
    "no experts": ("Experts(n=0)", ["option 'n' of Experts", "0"]),
    "half an expert": ("Experts(n=2.5)", ["option 'n' of Experts", "2.5"]),
    "a bonus in words": ("Experts(bonus=much)", ["much"]),
    "no levels": ("Level(n=-1)", ["option 'n' of Level", "-1"]),
    "a seed in words": ("RandomPair(seed=lucky)", ["lucky"]),
    "a broken seed": ("RandomPair(seed=1.5)", ["1.5"]),
    "no such button": ("Button(cell=(9, 9))", ["(9, 9)"]),
    "no such button action": ("Button(action=JUMP)", ["'JUMP'"]),
    "unknown option": ("Ask(price=1)", ["'price'", "Ask"]),
    "an option without a name": ("Ask(0.5)", ["'Ask(0.5)'"]),
}


@pytest.mark.parametrize("case", ENVIRONMENTS)
def test_environments(case):
    build, expected = ENVIRONMENTS[case]
    text = error_message(lambda: monmdp.make(build(), "Full"))
    for part in expected:
        assert part in text, text


@pytest.mark.parametrize("case", MONITORS)
def test_monitors(case):
    monitor, expected = MONITORS[case]
    text = error_message(lambda: monmdp.make("Hazard", monitor))
    for part in expected:
        assert part in text, text


@pytest.mark.parametrize("start", [{"low": 0.5}, {"middle": 1.0}, {"low": 2.0}])
def test_bad_start_distribution_of_a_monitor(start):
    class Late(Monitor):
        states = ("low", "high")

        @property
        def start(self):
            return start

        def outcomes(self, moment):
            yield Outcome()

    assert "Late" in error_message(lambda: monmdp.make("Loop", Late()))


@pytest.mark.parametrize(("what", "labels"), [("state", ()), ("action", ()), ("state", ("a", "a"))])
def test_bad_labels_of_a_monitor(what, labels):
    named = type("Mute", (Monitor,), {f"{what}s": labels, "outcomes": lambda self, moment: [Outcome()]})
    text = error_message(lambda: monmdp.make("Loop", named()))
    assert "Mute" in text
    assert what in text


def test_missing_declarations():
    assert "outcomes" in error_message(lambda: monmdp.make("Loop", Monitor()))
    assert "states" in error_message(lambda: monmdp.make(monmdp.Environment()))


@pytest.mark.parametrize("mode", ["svg", "RGB"])
def test_unknown_render_modes(mode):
    text = error_message(lambda: monmdp.MonitoredEnv(monmdp.make("Loop"), render_mode=mode))
    assert mode in text


def test_errors_are_value_errors():
    """Callers can catch them without importing this package."""
    with pytest.raises(ValueError, match="no environment called"):
        gymnasium.make("monmdp/MonMDP-v0", environment="Emty")


@dataclass(frozen=True)
class Fixed(Monitor):
    """Returns a fixed value instead of yielding outcomes."""

    value: object = None

    def outcomes(self, moment):
        return self.value


@pytest.mark.parametrize("value", [None, Outcome(observed=1.0), 3])
def test_outcomes_that_are_not_iterable(value):
    with pytest.raises(MonMDPError, match="must yield"):
        monmdp.make("Loop", Fixed(value=value))


def test_steps_that_are_not_iterable():
    with pytest.raises(MonMDPError, match="must yield"):
        monmdp.make(Rule(states=("here",), actions=("go",), rule=lambda state, action: None))
