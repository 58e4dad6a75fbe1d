"""The monitors from follow-up work, against the specification's sentences about them."""

from __future__ import annotations

import numpy as np
import pytest
from reading import Row, rows

import monmdp
from monmdp import Grid

START, COIN = (0, 0), (0, 2)


def on_row(monitor: str) -> monmdp.MonMDP:
    return monmdp.make(Grid(["..C"]), monitor)


@pytest.mark.parametrize("charge", [1, 2, 10])
def test_battery_drains_on_ask(charge):
    problem = on_row("Battery")
    assert rows(problem, (START, charge), ("RIGHT", "ask")) == [Row(1.0, (0, 1), charge - 1, 0.0, 0.0, 1.0, False)]
    assert rows(problem, (START, charge), ("RIGHT", "no-op")) == [Row(1.0, (0, 1), charge, 0.0, 0.0, 0.0, False)]


@pytest.mark.parametrize("action", ["ask", "no-op"])
def test_an_empty_battery_shows_nothing_and_ends_the_episode(action):
    (row,) = rows(on_row("Battery"), (START, 0), ("RIGHT", action))
    assert (row.observed, row.terminated, row.monitor_reward) == (0.0, True, 0.0)


def test_the_last_unit_still_shows():
    """A battery of one: asking once shows and goes on; the step after that ends the episode."""
    problem = on_row("Battery(n=1)")
    (row,) = rows(problem, (COIN, 1), ("LEFT", "ask"))
    assert (row.observed, row.monitor_state, row.terminated) == (1.0, 0, False)
    assert problem.monitor.start.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("name", "p"), [("LimitedTime", 0.2), ("LimitedTime(p=0.75)", 0.75)])
def test_limited_time_turns_off_permanently(name, p):
    problem = on_row(name)
    shining = set(rows(problem, (START, "on"), ("RIGHT", "no-op")))
    assert {row._replace(probability=0) for row in shining} == {
        Row(0, (0, 1), state, 0.0, 0.0, 1.0, False) for state in ("on", "off")
    }
    assert {row.monitor_state: row.probability for row in shining} == pytest.approx({"on": 1 - p, "off": p})
    assert rows(problem, (START, "off"), ("RIGHT", "no-op")) == [Row(1.0, (0, 1), "off", 0.0, 0.0, 0.0, False)]


SWITCH = {
    # (state, action): (next state, monitor reward, shown)
    ("off", "no-op"): ("off", 0.0, 0.0),
    ("off", "turn on"): ("on", 0.0, 0.0),
    ("on", "no-op"): ("on", -0.2, 1.0),
    ("on", "turn on"): ("on", -0.2, 1.0),
}


@pytest.mark.parametrize(("state", "action"), SWITCH)
def test_switch_stays_on(state, action):
    (row,) = rows(on_row("Switch"), (START, state), ("LEFT", action))
    assert (row.monitor_state, row.monitor_reward, row.observed) == SWITCH[state, action]


def chances(seed: int, environment: str = "Hazard") -> np.ndarray:
    """The chance that each environment pair of Hazard is shown (each has one joint outcome or equal ones)."""
    problem = monmdp.make(environment, f"RandomPair(seed={seed})")
    table = problem.environment
    shown = {}
    for state in table.states:
        for action in table.actions:
            seen = {row.observed for row in rows(problem, (state, "idle"), (action, "no-op"))}
            assert len(seen) == 1, "a pair has one chance, however its step comes out"
            shown[state, action] = seen.pop()
    return np.array(list(shown.values()))


def test_random_pair_is_fixed_by_its_seed():
    assert np.array_equal(chances(3), chances(3))
    assert not np.array_equal(chances(3), chances(4))


def test_random_pair_draws_each_pair_separately():
    """80 chances, uniform between 0 and 1: mean 0.5 within five standard errors (0.29 / √80 = 0.032), all different."""
    drawn = chances(0)
    assert len(set(drawn.tolist())) == len(drawn) == 80
    assert abs(drawn.mean() - 0.5) < 5 * 0.033
    assert drawn.min() >= 0.0
    assert drawn.max() <= 1.0


@pytest.mark.parametrize(("name", "shown"), [("FullRandom", 0.5), ("FullRandom(rho=0.05)", 0.05)])
def test_full_random_hides_zero_rewards_too(name, shown):
    problem = on_row(name)
    for cell, action in ((START, "RIGHT"), (COIN, "STAY")):
        (row,) = rows(problem, (cell, "idle"), (action, "no-op"))
        assert (row.observed, row.monitor_reward) == (shown, 0.0)


def test_paid_experts():
    problem = on_row("PaidExperts")
    experts = (1, 2, 3, 4)
    assert (problem.monitor.states, problem.monitor.actions) == (experts, (*experts, "no-op"))
    for state in experts:
        for action in (*experts, "no-op"):
            reward, shown = (-0.2, 1.0) if state == action else (-0.001, 0.0)
            reward = 0.0 if action == "no-op" else reward
            expected = {Row(0.25, COIN, after, 1.0, reward, shown, True) for after in experts}
            assert set(rows(problem, (COIN, state), ("STAY", action))) == expected
