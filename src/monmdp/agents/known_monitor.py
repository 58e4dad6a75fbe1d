"""What an agent knows that is given the monitor's factor of the model, and nothing of the environment's.

For a joint pair and an environment outcome (next environment state, whether it ended the episode): the monitor's
next states with their probabilities, its expected reward and the chance that the reward is shown. An agent looks
up rows of outcomes that it has experienced and estimates how likely each is; environment rewards and
probabilities are not in here. Where two outcomes of an environment pair share next state and end but not the
reward, and the monitor treats them differently, they count evenly: their odds are the environment's secret.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monmdp.errors import MonMDPError
from monmdp.kernels.compile import kernel
from monmdp.problem import Booleans, Floats, Integers
from monmdp.world import World


class KnownMonitor(NamedTuple):
    """The monitor's factor, by what the environment did.

    Outcomes of environment pair e are first_outcome[e] … first_outcome[e + 1] - 1, in the order of
    env_next_state and then env_terminated. Outcome i of its pair, counted from 0, met with joint pair p, is
    branch first_branch[p] + i: it pays monitor_reward and shows with observe_probability, in expectation, and its
    rows offsets[branch] … offsets[branch + 1] - 1 have probability, joint next_state, and terminated, by
    whichever side.
    """

    first_outcome: Integers
    env_next_state: Integers
    env_terminated: Booleans
    first_branch: Integers
    monitor_reward: Floats
    observe_probability: Floats
    offsets: Integers
    probability: Floats
    next_state: Integers
    terminated: Booleans


def known_monitor(world: World) -> KnownMonitor:
    """The monitor's factor of a world; the live loop has none to give."""
    if len(world.offsets) == 0:
        raise MonMDPError("Live training has no table of the monitor, so known_monitor must be False there.")
    pair = np.repeat(np.arange(len(world.offsets) - 1), np.diff(world.offsets))
    seen = np.stack([world.env_pair[pair], world.env_state[world.next_state], world.env_terminated])
    outcomes, outcome = np.unique(seen, axis=1, return_inverse=True)
    branches, branch = np.unique(np.stack([pair, outcome.ravel()]), axis=1, return_inverse=True)
    branch = branch.ravel()
    apart = np.unique(np.stack([branch, world.env_outcome]), axis=1)[0]
    probability = world.monitor_probability / np.bincount(apart)[branch]
    reward, chance = (np.zeros(branches.shape[1]) for _ in range(2))
    np.add.at(reward, branch, probability * world.monitor_reward)
    np.add.at(chance, branch, probability * world.observe_probability)
    order = np.argsort(branch, kind="stable")
    return KnownMonitor(
        first_outcome=np.searchsorted(outcomes[0], np.arange(world.n_env_pairs + 1)),
        env_next_state=outcomes[1],
        env_terminated=outcomes[2].astype(np.bool_),
        first_branch=np.searchsorted(branches[0], np.arange(len(world.offsets) - 1)),
        monitor_reward=reward,
        observe_probability=chance,
        offsets=np.searchsorted(branch[order], np.arange(branches.shape[1] + 1)),
        probability=probability[order],
        next_state=world.next_state[order].astype(np.int64),
        terminated=world.terminated[order],
    )


def unknown_monitor() -> KnownMonitor:
    """Nothing, in the same shape."""
    none, nothing, no = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.bool_)
    return KnownMonitor(none, none, no, none, nothing, nothing, none, nothing, none, no)


@kernel
def experienced(known, pair, env_pair, env_next_state, next_state, terminated):
    """The environment outcome that an agent has just experienced, or -1 where the monitor makes it ambiguous.

    An episode that the monitor may have ended tells nothing of whether the environment did.
    """
    found = -1
    first = known.first_outcome[env_pair]
    for outcome in range(first, known.first_outcome[env_pair + 1]):
        if known.env_next_state[outcome] != env_next_state:
            continue
        fits = known.env_terminated[outcome] == terminated
        if terminated and not known.env_terminated[outcome]:
            branch = known.first_branch[pair] + outcome - first
            for row in range(known.offsets[branch], known.offsets[branch + 1]):
                if known.next_state[row] == next_state and known.terminated[row]:
                    fits = True
        if fits and found >= 0:
            return -1
        if fits:
            found = outcome
    return found
