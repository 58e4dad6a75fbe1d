"""The six monitors of the paper: what each shows, charges and does next, as the specification's table says.

The environment is one row of three cells, `..C`: moving pays 0, STAY on the coin pays 1 and ends.
"""

from __future__ import annotations

import pytest
from reading import Row, rows

import monmdp
from monmdp import Grid

START, COIN = (0, 0), (0, 2)


def on_row(monitor: str) -> monmdp.MonMDP:
    return monmdp.make(Grid(["..C"]), monitor)


def starts(problem: monmdp.MonMDP) -> dict:
    return dict(zip(problem.monitor.states, problem.monitor.start.tolist(), strict=True))


#: Monitors that do not start uniformly over their states.
STARTS = {"Battery": {10: 1.0}, "LimitedTime": {"on": 1.0}}


@pytest.mark.parametrize("name", monmdp.MONITORS)
def test_start_distribution(name):
    problem = on_row(name)
    states = problem.monitor.states
    expected = STARTS.get(name, {state: 1 / len(states) for state in states})
    assert {state: weight for state, weight in starts(problem).items() if weight} == pytest.approx(expected)


def test_full_shows_everything_for_free():
    problem = on_row("Full")
    assert rows(problem, (COIN, "idle"), ("STAY", "no-op")) == [Row(1.0, COIN, "idle", 1.0, 0.0, 1.0, True)]
    assert rows(problem, (START, "idle"), ("STAY", "no-op")) == [Row(1.0, START, "idle", 0.0, 0.0, 1.0, False)]


@pytest.mark.parametrize(("name", "shown"), [("Random", 0.5), ("Random(p=0.9)", 0.1), ("Random(p=0)", 1.0)])
def test_random_hides_rewards_other_than_zero(name, shown):
    problem = on_row(name)
    (coin,) = rows(problem, (COIN, "idle"), ("STAY", "no-op"))
    (nothing,) = rows(problem, (COIN, "idle"), ("LEFT", "no-op"))
    assert (coin.observed, coin.monitor_reward) == (pytest.approx(shown), 0.0)
    assert (nothing.observed, nothing.monitor_reward) == (1.0, 0.0)


def test_random_treats_each_outcome_separately():
    """RIGHT in the last state of River Swim pays 1 or 0; only the 1 is hidden half of the time."""
    outcomes = rows(monmdp.make("RiverSwim", "Random"), (5, "idle"), ("RIGHT", "no-op"))
    assert {row.env_reward: row.observed for row in outcomes} == {1.0: 0.5, 0.0: 1.0}


@pytest.mark.parametrize(("name", "cost"), [("Ask", 0.2), ("Ask(cost=0.7)", 0.7)])
def test_ask_shows_and_charges_on_ask(name, cost):
    problem = on_row(name)
    assert problem.monitor.actions == ("no-op", "ask")
    assert rows(problem, (COIN, "idle"), ("STAY", "ask")) == [Row(1.0, COIN, "idle", 1.0, -cost, 1.0, True)]
    assert rows(problem, (COIN, "idle"), ("STAY", "no-op")) == [Row(1.0, COIN, "idle", 1.0, 0.0, 0.0, True)]


BUTTON = {
    # (cell, state, action): (next state, monitor reward, shown)
    (START, "off", "LEFT"): ("on", 0.0, 0.0),
    (START, "on", "LEFT"): ("off", -0.2, 1.0),
    (START, "off", "STAY"): ("off", 0.0, 0.0),
    (START, "on", "RIGHT"): ("on", -0.2, 1.0),
    (COIN, "off", "LEFT"): ("off", 0.0, 0.0),
    (COIN, "on", "LEFT"): ("on", -0.2, 1.0),
    (COIN, "off", "STAY"): ("off", 0.0, 0.0),
    (COIN, "on", "STAY"): ("on", -2.2, 1.0),  # the end costs 2 more
}


@pytest.mark.parametrize(("cell", "state", "action"), BUTTON)
def test_button(cell, state, action):
    (row,) = rows(on_row("Button"), (cell, state), (action, "no-op"))
    after, reward, shown = BUTTON[cell, state, action]
    assert (row.monitor_state, row.observed) == (after, shown)
    assert row.monitor_reward == pytest.approx(reward)


def test_button_options():
    problem = on_row("Button(cost=0.5, end_cost=0, cell=(0, 1), action='UP')")
    (pressed,) = rows(problem, ((0, 1), "on"), ("UP", "no-op"))
    (missed,) = rows(problem, (START, "on"), ("LEFT", "no-op"))
    (ended,) = rows(problem, (COIN, "on"), ("STAY", "no-op"))
    assert (pressed.monitor_state, missed.monitor_state) == ("off", "on")
    assert (pressed.monitor_reward, ended.monitor_reward) == (-0.5, -0.5)


#: Their buttons are in several states, or elsewhere: test_parts.py.
OTHER_BUTTONS = {"KeyDoor", "Layouts", "DeepSea"}


@pytest.mark.parametrize("name", [name for name in monmdp.ENVIRONMENTS if name not in OTHER_BUTTONS])
def test_button_is_in_the_start_cell(name):
    """The start cell, state 0 in River Swim; LEFT, or the first action, flips there; others leave the state alone."""
    problem = monmdp.make(name, "Button")
    environment = problem.environment
    button = 0 if name == "RiverSwim" else environment.states[environment.start.argmax()]
    flips = {
        (state, action)
        for state in environment.states
        for action in environment.actions
        for row in rows(problem, (state, "off"), (action, "no-op"))
        if row.monitor_state == "on"
    }
    assert flips == {(button, "LEFT" if "LEFT" in environment.actions else environment.actions[0])}


def test_button_of_two_room():
    (row,) = rows(monmdp.make("TwoRoom2x11", "Button"), ((1, 5), "off"), ("LEFT", "no-op"))
    assert row.monitor_state == "on"


@pytest.mark.parametrize("n", [2, 4])
def test_experts(n):
    problem = on_row(f"Experts(n={n})")
    experts = tuple(range(1, n + 1))
    assert problem.monitor.states == problem.monitor.actions == experts
    for state in experts:
        for action in experts:
            reward, shown = (-0.2, 1.0) if state == action else (0.001, 0.0)
            expected = {Row(1 / n, COIN, after, 1.0, reward, shown, True) for after in experts}
            assert set(rows(problem, (COIN, state), ("STAY", action))) == expected


LEVEL = {
    # (level, action): (next level, monitor reward, shown), three levels
    (1, 1): (2, -0.2, 0.0),
    (1, 2): (1, -0.2, 0.0),
    (1, 3): (1, -0.2, 0.0),
    (1, "no-op"): (1, 0.0, 0.0),
    (2, 1): (1, -0.2, 0.0),
    (2, 2): (3, -0.2, 0.0),
    (2, 3): (1, -0.2, 0.0),
    (2, "no-op"): (2, 0.0, 0.0),
    (3, 1): (1, -0.2, 1.0),
    (3, 2): (1, -0.2, 1.0),
    (3, 3): (3, -0.2, 1.0),
    (3, "no-op"): (3, 0.0, 1.0),
}


@pytest.mark.parametrize(("level", "action"), LEVEL)
def test_level(level, action):
    problem = on_row("Level")
    assert (problem.monitor.states, problem.monitor.actions) == ((1, 2, 3), (1, 2, 3, "no-op"))
    (row,) = rows(problem, (START, level), ("RIGHT", action))
    assert (row.monitor_state, row.monitor_reward, row.observed) == LEVEL[level, action]


def test_level_options():
    problem = on_row("Level(n=5, cost=0.3)")
    (climb,) = rows(problem, (START, 4), ("RIGHT", 4))
    (top,) = rows(problem, (START, 5), ("RIGHT", 5))
    assert (climb.monitor_state, climb.monitor_reward, climb.observed) == (5, -0.3, 0.0)
    assert (top.monitor_state, top.monitor_reward, top.observed) == (5, -0.3, 1.0)


def test_button_cell_if_the_start_cell_is_changed():
    """The button is in the start cell, except for TwoRoom2x11, where it is always in (1, 5)."""
    moved = monmdp.make("TwoRoom2x11(start=(0, 0))", "Button")
    assert moved.monitor.landmarks == {moved.environment.states.index((1, 5)): "button"}
    moved = monmdp.make("Empty(start=(2, 2))", "Button")
    assert moved.monitor.landmarks == {moved.environment.states.index((2, 2)): "button"}
