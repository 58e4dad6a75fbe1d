"""Greedy policies as they were at recording points, kept by a training kernel and evaluated by another one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monmdp.problem import Floats, Integers
from monmdp.world import World

#: Actions of a word.
BITS = 32


class Snapshots(NamedTuple):
    """The different policies of a run, in order, and which one each recording point had.

    policies [S * words, points]: a bit for every greedy action, `words` of 32 bits a state; kept [1] policies so
    far; versions [points]; values [points] the return of each policy. test_clock [1] counts draws of sampled tests.
    """

    policies: Integers
    kept: Integers
    versions: Integers
    values: Floats
    test_clock: Integers


class Evaluated(NamedTuple):
    """What an evaluation reads and writes."""

    snapshots: Snapshots
    world: World


def words_of(world: World) -> int:
    """Words that the actions of a state take."""
    return -(-world.n_actions // BITS)


def new_snapshots(world: World, points: int, exact: bool) -> Snapshots:
    """None yet; next to no space where no exact evaluation is wanted."""
    room = points if exact else 1
    return Snapshots(
        policies=np.zeros((world.n_states * words_of(world) if exact else 1, room), np.uint32),
        kept=np.zeros(1, np.int32),
        versions=np.zeros(room, np.int32),
        values=np.zeros(room),
        test_clock=np.zeros(1, np.int64),
    )
