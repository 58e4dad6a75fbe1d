"""What each tile does, and what the options of every grid do; numbers from the specification."""

from __future__ import annotations

import pytest
from reading import steps

import monmdp
from monmdp import Grid, MonMDPError, Rule, Step

MOVES = {"LEFT": (0, -1), "DOWN": (1, 0), "RIGHT": (0, 1), "UP": (-1, 0), "STAY": (0, 0)}


def around(tile: str) -> Grid:
    """The tile in the middle of empty ground."""
    return Grid(["...", f".{tile}.", "..."])


def target(action: str) -> tuple[int, int]:
    return 1 + MOVES[action][0], 1 + MOVES[action][1]


def test_order_of_actions():
    assert Grid(["."]).table().actions == ("LEFT", "DOWN", "RIGHT", "UP", "STAY")


@pytest.mark.parametrize("action", MOVES)
def test_moves_on_empty_cells(action):
    assert steps(around("."), (1, 1), action) == {(target(action), 0.0, False): 1.0}


@pytest.mark.parametrize("action", MOVES)
def test_moves_off_the_grid_have_no_effect(action):
    assert steps(Grid(["."]), (0, 0), action) == {((0, 0), 0.0, False): 1.0}


@pytest.mark.parametrize(("tile", "value"), [("C", 1.0), ("c", 0.1)])
def test_coins_are_collected_by_stay_only(tile, value):
    assert steps(around(tile), (1, 1), "STAY") == {((1, 1), value, True): 1.0}
    for action in ("LEFT", "DOWN", "RIGHT", "UP"):
        assert steps(around(tile), (1, 1), action) == {(target(action), 0.0, False): 1.0}
    assert steps(around(tile), (1, 0), "RIGHT") == {((1, 1), 0.0, False): 1.0}, "entering a coin pays nothing"


@pytest.mark.parametrize(("tile", "penalty"), [("T", -10.0), ("t", -0.1)])
@pytest.mark.parametrize("action", MOVES)
def test_toxic_cells_charge_every_action(tile, penalty, action):
    assert steps(around(tile), (1, 1), action) == {(target(action), penalty, False): 1.0}
    assert steps(around(tile), (1, 0), "RIGHT") == {((1, 1), 0.0, False): 1.0}, "the reward is not the entered cell's"


@pytest.mark.parametrize("action", ["LEFT", "DOWN", "RIGHT", "UP"])
def test_quicksand_holds_with_probability_0_9(action):
    outcomes = steps(around("~"), (1, 1), action)
    assert outcomes == {((1, 1), 0.0, False): pytest.approx(0.9), (target(action), 0.0, False): pytest.approx(0.1)}


def test_quicksand_stay_is_one_outcome():
    assert steps(around("~"), (1, 1), "STAY") == {((1, 1), 0.0, False): pytest.approx(1.0)}


@pytest.mark.parametrize(("tile", "way"), [("<", "LEFT"), (">", "RIGHT"), ("^", "UP"), ("v", "DOWN")])
@pytest.mark.parametrize("action", MOVES)
def test_one_way_cells_are_left_in_one_direction(tile, way, action):
    after = target(action) if action == way else (1, 1)
    assert steps(around(tile), (1, 1), action) == {(after, 0.0, False): 1.0}


def test_one_way_cells_are_entered_from_anywhere():
    for cell, action in (((1, 0), "RIGHT"), ((1, 2), "LEFT"), ((0, 1), "DOWN"), ((2, 1), "UP")):
        assert steps(around("<"), cell, action) == {((1, 1), 0.0, False): 1.0}


def test_walls_cannot_be_entered():
    for cell, action in (((1, 0), "RIGHT"), ((1, 2), "LEFT"), ((0, 1), "DOWN"), ((2, 1), "UP")):
        assert steps(around("#"), cell, action) == {(cell, 0.0, False): 1.0}


def test_pits_cost_100_and_end_the_episode():
    for cell, action in (((1, 0), "RIGHT"), ((1, 2), "LEFT"), ((0, 1), "DOWN"), ((2, 1), "UP")):
        assert steps(around("P"), cell, action) == {((1, 1), -100.0, True): 1.0}


def test_a_toxic_cell_beside_a_pit_charges_both():
    assert steps(Grid(["TP"]), (0, 0), "RIGHT") == {((0, 1), -110.0, True): 1.0}


def test_a_random_action_replaces_the_chosen_one():
    """With chance 0.5 one of five actions at random: 0.5 + 0.1 for the chosen, 0.1 for each other."""
    outcomes = steps(Grid(["...", "...", "..."], random_action=0.5), (1, 1), "UP")
    expected = {(target(action), 0.0, False): 0.6 if action == "UP" else 0.1 for action in MOVES}
    assert outcomes == {key: pytest.approx(chance) for key, chance in expected.items()}


def test_a_random_action_has_its_own_reward_and_termination():
    """In the lower left corner of `c`, LEFT and DOWN and STAY all stay; only an executed STAY collects."""
    outcomes = steps(Grid(["..", "c."], random_action=0.2), (1, 0), "LEFT")
    assert outcomes == {
        ((1, 0), 0.0, False): pytest.approx(0.8 + 0.08),
        ((1, 1), 0.0, False): pytest.approx(0.04),
        ((0, 0), 0.0, False): pytest.approx(0.04),
        ((1, 0), 0.1, True): pytest.approx(0.04),
    }


@pytest.mark.parametrize(
    ("options", "on_zero", "on_coin"),
    [
        ({}, 0.0, 0.0),
        ({"reward_noise": 0.3}, 0.3, 0.3),
        ({"nonzero_reward_noise": 0.4}, 0.0, 0.4),
        ({"reward_noise": 0.3, "nonzero_reward_noise": 0.4}, 0.3, 0.5),  # independent noises add as variances
    ],
)
def test_reward_noise(options, on_zero, on_coin):
    table = Grid([".C"], **options).table()
    expected = [on_coin if reward == 1.0 else on_zero for reward in table.reward]
    assert table.reward_noise.tolist() == pytest.approx(expected)
    assert sorted(set(table.reward.tolist())) == [0.0, 1.0], "noise leaves the mean alone"


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ((0, 1), {(0, 1): 1.0}),
        ([(0, 0), (0, 1)], {(0, 0): 0.5, (0, 1): 0.5}),
        ([[0, 0], [0, 2]], {(0, 0): 0.5, (0, 2): 0.5}),
        ({(0, 0): 0.25, (0, 2): 0.75}, {(0, 0): 0.25, (0, 2): 0.75}),
    ],
)
def test_start_cells(start, expected):
    table = Grid(["..."], start=start).table()
    assert {cell: weight for cell, weight in zip(table.states, table.start, strict=True) if weight} == expected


@pytest.mark.parametrize("limit", [1, 7, None])
def test_step_limit(limit):
    assert Grid([".."], step_limit=limit).table().step_limit == limit


def test_a_rule_is_an_environment():
    def toss(state, action):
        yield Step("heads", 1.0, 0.5)
        yield Step("tails", 0.0, 0.5, terminated=action == "STOP")

    rule = Rule(states=("heads", "tails"), actions=("GO", "STOP"), rule=toss, start="tails", step_limit=3)
    assert steps(rule, "tails", "STOP") == {("heads", 1.0, False): 0.5, ("tails", 0.0, True): 0.5}
    table = rule.table()
    assert (table.start.tolist(), table.step_limit) == ([0.0, 1.0], 3)


def test_walls_and_pits_cannot_be_start_cells():
    for tile, name in (("#", "wall"), ("P", "pit")):
        with pytest.raises(MonMDPError, match=name):
            Grid([f".{tile}"], start=(0, 1)).table()


def test_empty_has_any_size():
    table = monmdp.ENVIRONMENTS.build("Empty(rows=3, columns=5)").table()
    assert table.layout.tiles == (".....", ".....", "c...C")
