"""The table of environments in the specification, row by row."""

from __future__ import annotations

import pytest
from reading import steps

import monmdp

#: name: (map, start, step limit); Walk's sizes are the library's own choice.
SPEC = {
    "Empty": ("...... ...... ...... ...... ...... c....C", (0, 0), 50),
    "Loop": (".<. .>^ ..C", (0, 0), 50),
    "Hazard": (".cTC .T.. .~c. ....", (0, 0), 50),
    "OneWay": (".<<< cttC .<<<", (0, 0), 50),
    "Corridor": ("...................C", (0, 0), 200),
    "TwoRoom2x11": ("c...>v<...C ...........", (1, 5), 200),
    "TwoRoom3x5": ("..<.C ..~.. .....", (0, 0), 50),
    "Bottleneck": ("..T... ..T.T. ...... ..T... ..T... c.T..C", (0, 0), 50),
    "Penalty": (".TC .T. ...", (0, 0), None),
    "Quicksand": ("..TC ..T. .~.. ....", (0, 0), None),
    "Full": ("..cTC ..T.. >.~c. ^....", (0, 0), None),
    "Barrier": ("..... .<^>. .<C.. .<v>. .....", (0, 0), None),
    "Cliff": (".PPPPPPPPPPC ............ ............ ............", (0, 0), None),
    "DangerMaze": (".PPP.. ..TT.# .P.#.# .T.... ...PPC", (0, 0), None),
}

#: Shortest way to the large coin with every reward seen: (steps before the coin's STAY, penalties (time, reward)).
BY_HAND = {
    "Empty": 10,
    "Loop": 4,  # down, down, right, right
    "Hazard": 9,  # around the clouds along the left and bottom edge
    "Corridor": 19,
    "TwoRoom2x11": 6,  # right five times in the lower row, up
    "TwoRoom3x5": 8,  # below the quicksand
    "Walk": 5,
    "Bottleneck": 10,  # through the gap in row 2
    "Penalty": 6,
    "Quicksand": 9,
    "Full": 10,
    "Barrier": 8,  # enters from the right
    "Cliff": 13,
    "DangerMaze": 11,
}


@pytest.mark.parametrize("name", SPEC)
def test_map_start_and_limit(name):
    rows, start, limit = SPEC[name]
    table = monmdp.ENVIRONMENTS.build(name).table()
    assert table.layout.tiles == tuple(rows.split())
    assert table.states[table.start.argmax()] == start
    assert table.start.max() == 1.0
    if limit is not None:
        assert table.step_limit == limit


@pytest.mark.parametrize("name", BY_HAND)
def test_optimum_under_full_observation_is_a_power_of_the_discount(name):
    assert monmdp.solve(monmdp.make(name)).optimal_return == pytest.approx(0.99 ** BY_HAND[name], abs=1e-12)


def test_one_way_optimum_crosses_two_mild_clouds():
    """Down, right into the first cloud, right, right (-0.1 at times 2 and 3), STAY at time 4."""
    expected = 0.99**4 - 0.1 * (0.99**2 + 0.99**3)
    assert monmdp.solve(monmdp.make("OneWay")).optimal_return == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 4), (9, 6)])
def test_optimum_of_empty_in_other_sizes(rows, columns):
    problem = monmdp.make(f"Empty(rows={rows}, columns={columns})")
    assert monmdp.solve(problem).optimal_return == pytest.approx(0.99 ** (rows + columns - 2), abs=1e-12)


def test_walk_starts_beside_the_small_coin():
    table = monmdp.ENVIRONMENTS.build("Walk").table()
    (row,) = table.layout.tiles
    assert row[0] == "c"
    assert row[-1] == "C"
    assert set(row[1:-1]) == {"."}
    assert table.states[table.start.argmax()] == (0, 1)


def test_bottleneck_names_its_toxic_column():
    problem = monmdp.make("Bottleneck", "Full(never_observable=column)")
    hidden = {state for state, _ in monmdp.solve(problem).hidden_rewards}
    assert hidden == {"(0, 2)", "(1, 2)", "(3, 2)", "(4, 2)", "(5, 2)"}


RIVER = {
    (0, "LEFT"): {(0, 0.01, False): 1.0},
    (1, "LEFT"): {(0, 0.0, False): 1.0},
    (2, "LEFT"): {(1, 0.0, False): 1.0},
    (3, "LEFT"): {(2, 0.0, False): 1.0},
    (4, "LEFT"): {(3, 0.0, False): 1.0},
    (5, "LEFT"): {(4, 0.0, False): 1.0},
    (0, "RIGHT"): {(1, 0.0, False): 0.6, (0, 0.0, False): 0.4},
    (1, "RIGHT"): {(2, 0.0, False): 0.35, (1, 0.0, False): 0.6, (0, 0.0, False): 0.05},
    (2, "RIGHT"): {(3, 0.0, False): 0.35, (2, 0.0, False): 0.6, (1, 0.0, False): 0.05},
    (3, "RIGHT"): {(4, 0.0, False): 0.35, (3, 0.0, False): 0.6, (2, 0.0, False): 0.05},
    (4, "RIGHT"): {(5, 0.0, False): 0.35, (4, 0.0, False): 0.6, (3, 0.0, False): 0.05},
    (5, "RIGHT"): {(5, 1.0, False): 0.6, (4, 0.0, False): 0.4},
}


@pytest.mark.parametrize(("state", "action"), RIVER)
def test_river_swim_row(state, action):
    assert steps(monmdp.ENVIRONMENTS.build("RiverSwim"), state, action) == RIVER[state, action]


def test_river_swim_starts_in_one_or_two_and_restarts_after_200():
    table = monmdp.ENVIRONMENTS.build("RiverSwim").table()
    assert table.actions == ("LEFT", "RIGHT")
    assert table.start.tolist() == [0, 0.5, 0.5, 0, 0, 0]
    assert table.step_limit == 200
