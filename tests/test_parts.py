"""Deep Sea, keys and doors, and new layouts: rules and shortest ways written here again, and what pictures show."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest
from reading import rows, steps

import monmdp
from monmdp import Grid, MonitoredEnv
from monmdp.deep.observations import pixels
from monmdp.paper.presets import HARD, PRESETS
from monmdp.study.sweep import requested

MOVES = {"LEFT": (0, -1), "DOWN": (1, 0), "RIGHT": (0, 1), "UP": (-1, 0), "STAY": (0, 0)}


def optimum(spec: str) -> float:
    return monmdp.solve(monmdp.make(spec)).optimal_return


def distances(start, neighbours):
    """Steps from `start` to everything that can be reached, by breadth-first search."""
    known, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for other in neighbours(here):
            if other not in known:
                known[other] = known[here] + 1
                queue.append(other)
    return known


@pytest.mark.parametrize("size", [2, 5, 12, 30])
def test_the_way_right_is_the_best_in_deep_sea(size):
    """A reward of 1 at the last of `size` steps, each of which costs 0.01 / size; any other way has no reward of 1."""
    discounts = 0.99 ** np.arange(size)
    expected = discounts[-1] - 0.01 / size * discounts.sum()
    assert expected > 0.7
    assert optimum(f"DeepSea(size={size})") == pytest.approx(expected, abs=1e-12)


def test_one_sequence_of_actions_in_deep_sea_is_rewarded():
    sea = monmdp.ENVIRONMENTS.build("DeepSea(size=6, seed=3)")
    table = sea.table()
    returns = []
    for sequence in itertools.product(table.actions, repeat=6):
        (row, column), total = (0, 0), 0.0
        for step, action in enumerate(sequence):
            assert row == step
            ((cell, reward, ended),) = steps(table, (row, column), action)
            right = sea.right[row, column] == action
            assert ended == (row == 5)
            assert reward == pytest.approx((right and column == 5) - 0.01 / 6 * right)
            if not ended:
                assert cell == (row + 1, column + 1 if right else max(column - 1, 0))
            (row, column), total = cell, total + reward
        returns.append(total)
    assert sorted(returns)[-1] == pytest.approx(0.99)
    assert sorted(returns)[-2] <= 0.0


def test_the_seed_draws_the_actions_of_deep_sea():
    maps = [monmdp.ENVIRONMENTS.build("DeepSea", seed=seed).right for seed in range(20)]
    assert len({tuple(right.values()) for right in maps}) == 20
    share = np.mean([action == "A" for right in maps for action in right.values()])
    assert share == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("length", "limit"), [(2, 200), (20, 200), (60, 240)])
def test_corridors(length, limit):
    assert optimum(f"Corridor(length={length})") == pytest.approx(0.99 ** (length - 1), abs=1e-12)
    assert monmdp.make(f"Corridor(length={length})").step_limit == limit


ROOMS = ("..D..", "..#..", ".c#..", "..#..", "k.#.C")


def key_door_step(state, action):
    """The rule for ROOMS: (row, column, has key) → the same after a move."""
    row, column, key = state
    after = row + MOVES[action][0], column + MOVES[action][1]
    if not (0 <= after[0] < 5 and 0 <= after[1] < 5):
        after = row, column
    tile = ROOMS[after[0]][after[1]]
    if tile == "#" or (tile == "D" and not key):
        after, tile = (row, column), ROOMS[row][column]
    return (*after, key or tile == "k")


def test_a_key_opens_the_door():
    problem = monmdp.make("KeyDoor")
    table = problem.environment
    assert table.layout.tiles == tuple(f"{row}#{row.replace('D', '.').replace('k', '.')}" for row in ROOMS)
    known = distances((0, 0, False), lambda state: {key_door_step(state, action) for action in MOVES})
    assert (4, 4, False) not in known
    assert problem.reachable.sum() == len(known)
    for (row, column, key), action in itertools.product(known, MOVES):
        collected = action == "STAY" and ROOMS[row][column] in "cC"
        reward = {"c": 0.1, "C": 1.0}[ROOMS[row][column]] if collected else 0.0
        after = key_door_step((row, column, key), action)
        expected = {((after[0], after[1] + 6 * after[2]), reward, collected): 1.0}
        assert steps(table, (row, column + 6 * key), action) == expected
    assert known[4, 4, True] == 16, "to the key 4, to the door 6, to the coin 6"
    assert monmdp.solve(problem).optimal_return == pytest.approx(0.99**16, abs=1e-12)


@pytest.mark.parametrize("size", [3, 4, 9])
def test_the_way_over_the_key_to_the_coin(size):
    """Down to the key, back up, right to the door and the wall opposite, and down."""
    assert optimum(f"KeyDoor(size={size})") == pytest.approx(0.99 ** (4 * (size - 1)), abs=1e-12)


@pytest.mark.parametrize(("n_layouts", "size", "seed"), [(2, 2, 0), (5, 3, 1), (8, 4, 0)])
def test_every_layout_is_a_maze_with_a_coin(n_layouts, size, seed):
    problem = monmdp.make(f"Layouts(n_layouts={n_layouts}, size={size}, seed={seed})")
    table, side = problem.environment, 2 * size - 1
    parts = [
        [row[first : first + side] for row in table.layout.tiles] for first in range(0, n_layouts * 2 * size, 2 * size)
    ]
    values = []
    for part in parts:
        free = {cell for cell in itertools.product(range(side), repeat=2) if part[cell[0]][cell[1]] != "#"}
        known = distances(
            (0, 0), lambda cell, free=free: {(cell[0] + a, cell[1] + b) for a, b in MOVES.values()} & free
        )
        assert known.keys() == free, "connected"
        assert len(free) == 2 * size**2 - 1, "without loops: one passage less than rooms"
        (coin,) = (cell for cell in free if part[cell[0]][cell[1]] == "C")
        values.append(0.99 ** known[coin])
    assert len(table.states) == sum("".join(part).count(".") + 1 for part in parts)
    assert [table.states[i] for i in np.flatnonzero(table.start)] == [(0, k * 2 * size) for k in range(n_layouts)]
    assert table.start.max() == pytest.approx(1 / n_layouts)
    assert monmdp.solve(problem).optimal_return == pytest.approx(np.mean(values), abs=1e-12)


def test_every_layout_begins_some_episodes():
    env = MonitoredEnv(monmdp.make("Layouts"), render_mode="ansi")
    pages = set()
    for seed in range(40):
        env.reset(seed=seed)
        pages.add(env.render())
    assert len(pages) == 3


@pytest.mark.parametrize("spec", ["KeyDoor", "Layouts"])
def test_a_picture_of_a_part_is_that_of_its_map_alone(spec):
    problem = monmdp.make(spec, "Button")
    layout = problem.environment.layout
    pictures = pixels(problem)
    assert len(np.unique(pictures.reshape(len(pictures), -1), axis=0)) == len(pictures), "no two states look alike"
    for first in range(0, layout.columns, layout.part + 1):
        alone = monmdp.make(Grid([line[first : first + layout.part] for line in layout.tiles]), "Button")
        expected = dict(zip(alone.environment.states, pixels(alone), strict=True))
        for (row, column), picture in zip(layout.cells, pictures, strict=True):
            if first <= column < first + layout.part:
                # walls beside a part shade its edge a little; a wall differs from ground by 1.2, a coin by 0.4
                assert np.allclose(picture, expected[row, column - first], atol=0.2)


def test_scenes_show_whether_the_agent_has_the_key():
    """Four steps down, the last of them onto the key."""
    texts, images = [], []
    for mode, pages in (("ansi", texts), ("rgb_array", images)):
        env = MonitoredEnv(monmdp.make("KeyDoor", "Button"), render_mode=mode)
        env.reset(seed=0)
        for _ in range(4):
            pages.append(env.step({"env": 1, "monitor": 0}) and env.render())
    grids = [page[page.index("┌") : page.index("┘")] for page in texts]
    assert [("k" in grid, "D" in grid) for grid in grids] == [(True, True)] * 3 + [(False, False)]
    assert all("◉" in grid for grid in grids)
    brown = [(image == (122, 78, 40)).all(-1).any() for image in images]
    assert brown == [True] * 3 + [False], "the door"


@pytest.mark.parametrize(
    ("spec", "monitor", "cells"),
    [
        ("KeyDoor", "Button", [(0, 0), (0, 6)]),
        ("KeyDoor", "Button(cell=(2, 1), action='LEFT')", [(2, 1), (2, 7)]),
        ("KeyDoor", "Button(cell=(2, 7), action='LEFT')", [(2, 1), (2, 7)]),
        ("Layouts", "Button", [(0, 0), (0, 6), (0, 12)]),
        ("DeepSea(size=6)", "Button", [(3, 3)]),
        ("Hazard", "Button(cell=(2, 2))", [(2, 2)]),
    ],
)
def test_a_button_is_in_all_states_at_its_place(spec, monitor, cells):
    problem = monmdp.make(spec, monitor)
    assert [problem.environment.states[state] for state in sorted(problem.monitor.landmarks)] == cells
    switching = [
        (cell, action)
        for cell, action in itertools.product(problem.environment.states, problem.environment.actions)
        if rows(problem, (cell, "off"), (action, "no-op"))[0].monitor_state == "on"
    ]
    assert [cell for cell, _ in switching] == cells
    assert len({action for _, action in switching}) == 1


def test_the_button_of_deep_sea_is_beside_the_way():
    sea = monmdp.ENVIRONMENTS.build("DeepSea(size=12)")
    cell, action = sea.button
    assert cell == (6, 6)
    assert {action, sea.right[cell]} == set(sea.actions)


def test_hard_problems_have_buttons_far_from_the_start():
    sweeps = PRESETS["deep-hard"]
    assert len(sweeps) == len(HARD) == 9
    for sweep in sweeps:
        environment = monmdp.ENVIRONMENTS.build(*sweep.environments)
        (button,) = (monmdp.MONITORS.build(name) for name in sweep.monitors if name.startswith("Button"))
        first = environment.states[int(environment.table().start.argmax())]
        cells = list(button.installed(environment).landmarks)
        assert min(abs(row - first[0]) + abs(column - first[1]) for row, column in cells) >= 3
        assert all(environment.table().start[environment.states.index(cell)] == 0 for cell in cells)
    requests = requested(sweeps[0])
    assert len({request.identity for request in requests}) == len(requests) == 5 * len(sweeps[0].agents)
