"""Space that an exact evaluation needs on a device."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monmdp.engine.world import World
from monmdp.model import Floats, Integers

#: Threads that go together.
WARP = 32


class Scratch(NamedTuple):
    """What the last evaluation saw, as in `Evaluator`, and space for what 32 states pass on.

    moved and after hold how much of the distribution goes where, rewards what it earns, in the CPU's order.
    """

    best_actions: Integers
    n_best: Integers
    seen_in: Integers
    reached: Integers
    totals: Integers
    value: Floats
    mass: Floats
    coming: Floats
    active: Integers
    moved: Floats
    after: Integers
    rewards: Floats
    test_clock: Integers


def new_scratch(world: World, exact: bool) -> Scratch:
    """Scratch that has seen nothing yet; next to nothing where no exact evaluation is wanted."""
    n, m = (world.n_states, world.n_actions) if exact else (1, 1)
    outcomes = np.diff(world.offsets[:: world.n_actions]).max() if exact and len(world.offsets) > 1 else 1
    return Scratch(
        best_actions=np.zeros((n, m), np.int32),
        n_best=np.zeros(n, np.int32),
        seen_in=np.zeros(n, np.int32),
        reached=np.zeros(n, np.int32),
        totals=np.zeros(2, np.int32),
        value=np.zeros(1),
        mass=np.zeros(n),
        coming=np.zeros(n),
        active=np.zeros((2, n), np.int32),
        moved=np.zeros(WARP * int(outcomes)),
        after=np.zeros(WARP * int(outcomes), np.int32),
        rewards=np.zeros(WARP * m),
        test_clock=np.zeros(1, np.int64),
    )
