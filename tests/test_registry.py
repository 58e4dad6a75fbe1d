"""Names, specs and suggestions in errors."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import monmdp
from monmdp import MonMDPError
from monmdp.registry import Registry, parse_spec, short_labels


@pytest.mark.parametrize("registry", [monmdp.ENVIRONMENTS, monmdp.MONITORS], ids=["environments", "monitors"])
def test_names_are_not_case_sensitive(registry):
    for name in registry:
        assert registry.find(name.upper()) is registry.find(name.lower()) is registry.find(name)
        assert registry.find(name).__name__ == name


@pytest.mark.parametrize("registry", [monmdp.ENVIRONMENTS, monmdp.MONITORS], ids=["environments", "monitors"])
def test_every_entry_has_a_docstring(registry):
    for name in registry:
        assert registry.find(name).__doc__.strip().endswith(".")


def test_catalogue_has_the_names_of_the_specification():
    paper = {"Empty", "Loop", "Hazard", "OneWay", "Corridor", "TwoRoom2x11", "TwoRoom3x5", "RiverSwim"}
    more = {"Walk", "Bottleneck", "Penalty", "Quicksand", "Full", "Barrier", "Cliff", "DangerMaze"}
    assert paper | more <= set(monmdp.ENVIRONMENTS)
    paper = {"Full", "Random", "Ask", "Button", "Experts", "Level"}
    more = {"Battery", "LimitedTime", "Switch", "RandomPair", "FullRandom", "PaidExperts"}
    assert paper | more <= set(monmdp.MONITORS)


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("Ask", "Ask", {}),
        (" Ask ( cost = 0.5 ) ", "Ask", {"cost": 0.5}),
        ("Empty(rows=3, start=(1, 2))", "Empty", {"rows": 3, "start": (1, 2)}),
        ("Ask(never_observable=column)", "Ask", {"never_observable": "column"}),
        (
            "FrozenLake-v1(map_name='8x8', is_slippery=False)",
            "FrozenLake-v1",
            {"map_name": "8x8", "is_slippery": False},
        ),
    ],
)
def test_parse_spec(text, name, options):
    assert parse_spec(text) == (name, options)


@pytest.mark.parametrize("text", ["", "Ask(", "Ask(cost)", "Ask(0.5)", "Ask(cost=print(1))", "Ask(cost=1+x)", "A b"])
def test_invalid_specs_are_rejected_and_never_executed(text):
    with pytest.raises(MonMDPError) as error:
        parse_spec(text)
    assert repr(text) in str(error.value)


def test_a_duplicate_option_is_rejected():
    """Otherwise the first value would be ignored silently."""
    with pytest.raises(MonMDPError, match="rows"):
        monmdp.make("Empty(rows=3, rows=4)")


def test_the_name_builds_an_equal_object():
    for text in ("Empty(rows=3, columns=4)", "Corridor(step_limit=None)", "Hazard(start=(1, 0), random_action=0.25)"):
        environment = monmdp.ENVIRONMENTS.build(text)
        assert monmdp.ENVIRONMENTS.build(environment.name) == environment
    for text in ("Ask(cost=0.5)", "Button(cell=(0, 1), action='UP')", "Level(n=4, observability=0.5)"):
        monitor = monmdp.MONITORS.build(text)
        assert monmdp.MONITORS.build(monitor.name) == monitor


def test_keyword_options_override_the_spec():
    assert monmdp.MONITORS.build("Ask(cost=0.5)", cost=0.75).cost == 0.75


def test_a_duplicate_name_is_rejected():
    registry: Registry[object] = Registry("thing", object)

    @dataclass(frozen=True)
    class Lamp:
        pass

    first = registry.add(Lamp)
    assert registry.add(first) is first
    with pytest.raises(MonMDPError, match="'Lamp' is already taken"):
        registry.add(type("Lamp", (), {}))


@pytest.mark.parametrize(
    ("build", "given", "hint"),
    [
        (monmdp.ENVIRONMENTS.build, "Emty", "'Empty'"),
        (monmdp.ENVIRONMENTS.build, "riverswin", "'RiverSwim'"),
        (monmdp.MONITORS.build, "Asks", "'Ask'"),
        (monmdp.MONITORS.build, "Ask(cots=1)", "'cost'"),
        (monmdp.ENVIRONMENTS.build, "Empty(colums=1)", "'columns'"),
        (monmdp.MONITORS.build, "qqqqqq", "Ask, Button"),
    ],
)
def test_errors_name_the_nearest_valid_name(build, given, hint):
    with pytest.raises(MonMDPError) as error:
        build(given)
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("specs", "labels"),
    [
        (["Directed", "Naive"], ["Directed", "Naive"]),
        (["Directed", "Directed(beta_bar=0.1)"], ["Directed", "Directed(beta_bar=0.1)"]),
        (["UCB(alpha=0.5, c=1)", "UCB(c=2, alpha=0.5)", "Naive"], ["UCB(c=1)", "UCB(c=2)", "Naive"]),
        (["UCB(alpha=0.5, c=1)", "UCB(alpha=0.5)"], ["UCB(c=1)", "UCB"]),
        (["UCB", "UCB(alpha=0.5, c=1)", "UCB(alpha=0.5)"], ["UCB", "UCB(alpha=0.5, c=1)", "UCB(alpha=0.5)"]),
        (["UCB(alpha=0.5)", "Naive(alpha=0.5)"], ["UCB(alpha=0.5)", "Naive(alpha=0.5)"]),  # each class appears once
        (["A(x=1, y=2) [n 5]", "A(y=2, x=1) [n 9]"], ["A(x=1, y=2) [n 5]", "A(y=2, x=1) [n 9]"]),
        (["A(x=1, y=[1, [2]])", "A(x=1, y=[1, [3]]) [o (1)]"], ["A(y=[1, [2]])", "A(y=[1, [3]]) [o (1)]"]),
        (["A(x=<object>)", "A(x=1)"], ["A(x=<object>)", "A(x=1)"]),
        ([monmdp.MONITORS.build("Ask", cost=0.5), monmdp.MONITORS.find("Ask")], ["Ask(cost=0.5)", "Ask"]),
        ([], []),
    ],
)
def test_short_labels_show_the_options_that_differ(specs, labels):
    assert short_labels(specs) == labels
