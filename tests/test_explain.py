"""`MonMDP.explain` describes the outcomes of an action."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import Grid, MonMDPError


def test_a_deterministic_pair():
    text = monmdp.make("Empty", "Ask").explain((0, 0), ("RIGHT", "ask"))
    first, second = text.splitlines()
    assert "(0, 0)" in first
    assert "RIGHT, ask" in first
    for words in ("100.00%", "goes to (0, 1)", "environment reward 0", "shown", "monitor reward -0.2"):
        assert words in second


def test_termination_and_a_hidden_reward():
    text = monmdp.make("Loop", "Button").explain(((2, 2), "off"), "STAY")
    assert "the episode ends; environment reward 1, hidden; monitor reward 0" in text


def test_the_likeliest_outcome_comes_first():
    lines = monmdp.make("RiverSwim").explain(1, "RIGHT").splitlines()[1:]
    assert [line.split()[0] for line in lines] == ["60.00%", "35.00%", "5.00%"]
    assert "stays" in lines[0]
    assert "goes to 2" in lines[1]


def test_noise_and_partial_observation():
    text = monmdp.make(Grid(["C"], reward_noise=0.5), "FullRandom(rho=0.25)").explain(0, "STAY")
    assert "environment reward 1 ± 0.5" in text
    assert "shown with probability 0.25" in text


def test_unreachable_states_are_marked():
    assert "never be in this state" in monmdp.make(Grid([".#."])).explain((0, 1), "LEFT")
    assert "never be in this state" not in monmdp.make(Grid(["..."])).explain((0, 1), "LEFT")


@pytest.mark.parametrize(
    ("environment", "monitor", "state", "index"),
    [
        ("Hazard", "Button", ((2, 1), "on"), 19),
        ("RiverSwim", "Button", (3, "on"), 7),
        ("RiverSwim", "Experts", (3, 2), 13),  # a pair of labels that are both numbers
    ],
)
def test_a_state_may_be_given_as_labels_or_as_its_index(environment, monitor, state, index):
    problem = monmdp.make(environment, monitor)
    assert problem.explain(state, 0) == problem.explain(index, 0)


@pytest.mark.parametrize(("environment", "monitor"), [("RiverSwim", "Experts"), ("Empty", "Full")])
def test_indices_may_come_from_numpy(environment, monitor):
    """As in `for state in np.flatnonzero(problem.reachable)`."""
    problem = monmdp.make(environment, monitor)
    assert problem.explain(np.int64(3), np.int64(1)) == problem.explain(3, 1)


@pytest.mark.parametrize(("state", "action"), [(99, 0), (-1, 0), (0, 10), ((9, 9), 0), (0, ("JUMP", "ask"))])
def test_unknown_states_and_actions_are_rejected(state, action):
    with pytest.raises(MonMDPError):
        monmdp.make("Empty", "Ask").explain(state, action)
