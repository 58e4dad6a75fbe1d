"""Sizes that problems are filled up to on an accelerator, so that their runs share a program.

A step of a program is some hundred small kernels, so that three times as many runs take less than three times as long.
What is filled up are actions that are never chosen, states that are never reached, and inputs that are always zero.
"""

from typing import NamedTuple

from monmdp.deep.heads import MOST_BINS
from monmdp.deep.world import sizes_of
from monmdp.world import World


class Shared(NamedTuple):
    """The most environment states and actions, outcomes of a pair, inputs for pictures, and bins of values; and the
    number of runs in one program."""

    states: int
    actions: int
    outcomes: int
    inputs: int
    bins: int
    lanes: int


#: A problem is filled up to the first of these that it fits into. The first two are for the paper's problems; others
#: have the largest sizes among those environments of the preset `deep-hard` that share them. Programs whose bins hardly
#: any other problem has, as many do with few actions or few states, have fewer runs.
SHARED = (
    Shared(36, 5, 12, 36, 64, 240),
    Shared(36, 5, 12, 36, MOST_BINS, 30),
    Shared(210, 2, 1, 210, 64, 30),
    Shared(210, 2, 1, 210, MOST_BINS, 60),
    Shared(145, 5, 1, 145, MOST_BINS, 90),
    Shared(324, 5, 1, 518, MOST_BINS, 60),
)
#: Runs in one program of other problems. Missing runs are filled up: rounding depends on the number of runs, but not on
#: what the others do.
LANES = 30


def shared_sizes(world: World, n_inputs: int, n_bins: int) -> Shared | None:
    """The first sizes that a problem fits into, for networks with these inputs and bins; None if it fits into none."""
    env_actions, outcomes = world.n_actions // world.n_monitor_actions, sizes_of(world).outcomes_of_pair
    own = world.n_env_states, env_actions, outcomes, n_inputs, n_bins
    fitting = (shared for shared in SHARED if all(n <= most for n, most in zip(own, shared[:-1], strict=True)))
    return next(fitting, None)
