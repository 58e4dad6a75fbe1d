"""Numbers of continuous observations: bins, tiles and functions, alone and in live training."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import monmdp
from monmdp import Bins, MonMDPError, Tiles
from monmdp.training.discretizers import states_of

HALF = Box(np.array([-1.0, -np.inf], np.float32), np.array([1.0, 1.0], np.float32))
SQUARE = Box(np.array([-1.0, 0.0], np.float32), np.array([1.0, 4.0], np.float32))


def test_bins_are_the_cells_of_a_grid():
    """NumPy's digitize is the source of truth, per dimension."""
    states = Bins([5, 3], high=[None, 2.0]).states(SQUARE)
    assert states.n == 15
    rng = np.random.default_rng(0)
    for x, y in np.stack([rng.uniform(-2, 2, 200), rng.uniform(-1, 5, 200)], 1):
        cell = np.digitize(x, np.linspace(-1, 1, 6)[1:-1]), np.digitize(y, np.linspace(0, 2, 4)[1:-1])
        assert states.training(np.array([x, y])) == states.testing([x, y]) == cell[0] * 3 + cell[1]
    assert states.training([np.inf, -np.inf]) == 12


def test_tiles_tell_apart_what_any_grid_tells_apart():
    """In one dimension, k grids of n cells are one grid of k · n cells."""
    states = Tiles(4, 3, low=0.0, high=1.0).states(Box(-np.inf, np.inf, (1,)))
    rng = np.random.default_rng(1)
    seen: dict[int, int] = {}
    for x in rng.uniform(0, 1, 300):
        fine = int(x * 12)
        assert states.training(np.array([x])) == seen.setdefault(fine, len(seen))
    assert sorted(seen) == list(range(12))
    plane = Tiles(4, 4).states(SQUARE)
    cells = {(plane.training([x, y]), int(2 * x + 2), int(y)) for x, y in rng.uniform([-1, 0], [1, 4], (3000, 2))}
    assert len({number for number, *_ in cells}) == len(cells), "no combination crosses the border of a cell"
    assert len(cells) > 16


def test_tiles_are_numbered_in_training_only_and_up_to_a_limit():
    states = Tiles(10, 1, n_states=4).states(Box(0, 1, (1,)))
    assert states.n == 4
    assert states.testing([0.55]) == 3
    assert [states.training([x]) for x in (0.55, 0.15, 0.51)] == [0, 1, 0]
    assert states.testing([0.55]) == 0
    assert [states.training([x]) for x in (0.25, 0.35, 0.45, 0.15)] == [2, 3, 3, 1]


@pytest.mark.parametrize(
    ("discretizer", "space", "message"),
    [
        (None, SQUARE, r"discretizer=monmdp\.Bins\(10\)"),
        (Bins(3), Discrete(4), "for continuous observations.*leave out the discretizer"),
        (
            Bins(3),
            HALF,
            r"in dimension 1; .*low=\[None, -3\], high=\[None, 3\]",
        ),
        (Tiles(3), Box(-np.inf, np.inf, (2,)), r"in dimension 0, 1; .*monmdp\.Tiles\(3, low=\[-3, -3\]"),
        (Bins([3, 3, 3]), SQUARE, "n of Bins must be one number or 2"),
        (Bins(3, low=5.0), SQUARE, "low < high"),
        (Bins(0), SQUARE, "n of Bins"),
        (Bins(3, low="x"), SQUARE, "low of Bins must be a number"),
        (Tiles(3, 0), SQUARE, "number of tilings"),
        (Tiles(3, n_states=1), SQUARE, "n_states of Tiles"),
        (lambda observation: 0, SQUARE, r"discretizer=\(function, 100\)"),
        ((lambda observation: 0, 0), SQUARE, "number of states"),
    ],
)
def test_errors_say_what_to_write(discretizer, space, message):
    with pytest.raises(MonMDPError, match=message):
        states_of(space, discretizer)


@pytest.mark.parametrize(
    ("function", "message"),
    [(lambda o: 7, "must be at most 6, not 7"), (lambda o: 0.5, "whole number"), (lambda o: o[9], "raised IndexError")],
)
def test_a_function_must_return_a_state(function, message):
    with pytest.raises(MonMDPError, match=message):
        monmdp.train_live(gymnasium.make("CartPole-v1"), agent="Naive(initial_q=0)", steps=5, discretizer=(function, 7))


LIMITS = {"low": [-2.4, -3, -0.2, -3], "high": [2.4, 3, 0.2, 3]}


@pytest.mark.parametrize(
    "discretizer",
    [Bins([1, 3, 6, 3], **LIMITS), Tiles([1, 2, 4, 2], 2, **LIMITS, n_states=200), (lambda o: int(o[2] > 0), 2)],
    ids=["bins", "tiles", "function"],
)
def test_a_cart_is_balanced_longer_than_by_a_constant_push(discretizer):
    """A constant push ends after about 10 steps; a lean to one side is answered by a push to the same side."""
    options = {"steps": 8_000, "points": 2, "reward_range": (0, 1), "discount": 0.95, "test_episodes": 5}
    found = monmdp.train_live(
        gymnasium.make("CartPole-v1"), "Full", "Naive(alpha=0.1)", **options, discretizer=discretizer
    )
    assert found.undiscounted_returns[0, -1] > 25
    assert found.visit_counts.sum() == 8_000


def test_tests_do_not_change_what_is_learned():
    options = {"agent": "Naive(initial_q=0)", "steps": 600, "discretizer": Tiles(5, 3, n_states=60), "test_episodes": 1}
    one, two = (monmdp.train_live(gymnasium.make("MountainCar-v0"), points=points, **options) for points in (2, 30))
    assert np.array_equal(one.visit_counts, two.visit_counts)
