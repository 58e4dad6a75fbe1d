"""The monitor's part of the model, for agents that are given it, without anything of the environment's part.

For a joint pair and an environment outcome (next environment state, whether the environment ended the episode), the
agent knows the monitor's next states and their probabilities, its expected reward, and the probability of observing
the environment reward. It estimates the probability of each outcome by counting:

    r̂M(s,a) = Σ_o N(o) rM(s,a,o) / Σ_o N(o),    P̂(s′ | s,a) = Σ_o N(o) PM(s′ | s,a,o) / Σ_o N(o)

Environment rewards and probabilities are not part of this. Outcomes of an environment pair with the same next state
and end but different rewards count once if the monitor treats them alike, so that nothing depends on whether hidden
rewards are equal. If it treats them differently, they get equal weights, since their true probabilities belong to the
environment.
"""

from typing import Any

import numpy as np

from monmdp.agents.arrays import array_tuple
from monmdp.errors import MonMDPError
from monmdp.kernels.compile import internal
from monmdp.problem import Integers
from monmdp.world import World

KnownMonitor: Any = array_tuple(
    __name__,
    "KnownMonitor",
    """The monitor's part by environment outcome, and counts of outcomes; empty if the monitor is not known.

    Outcomes of environment pair e are `first_outcome[e]` … `first_outcome[e + 1] - 1`, ordered by env_next_state, then
    env_terminated. Outcome i of joint pair p, counted from 0, is branch `first_branch[p] + i`, whose rows are
    `offsets[branch]` … `offsets[branch + 1] - 1`.
    """,
    env_pair="int 0",  # [pair], for pairs of states in which the agent can act
    first_outcome="int 0",
    env_next_state="int 0",
    env_terminated="bool 0",
    counts="int 0",  # N(o), how often an outcome occurred
    tries="int 0",  # Σ_o N(o) of an environment pair
    first_branch="int 0",
    monitor_reward="float 0",  # [branch], expected
    observe_probability="float 0",  # [branch], expected
    offsets="int 0",
    probability="float 0",  # [row]
    next_state="int 0",  # [row], joint
    terminated="bool 0",  # [row], by environment or monitor
)


def known_monitor(world: World) -> Any:
    """The monitor's part of a world; live training has no table to take it from."""
    if len(world.offsets) == 0:
        raise MonMDPError("Live training has no table of the monitor, so known_monitor must be False there.")
    pair = np.repeat(np.arange(len(world.offsets) - 1), np.diff(world.offsets))
    visible = np.stack([world.env_pair[pair], world.env_state[world.next_state], world.env_terminated])
    outcomes, outcome = np.unique(visible, axis=1, return_inverse=True)
    branches, branch = np.unique(np.stack([pair, outcome.ravel()]), axis=1, return_inverse=True)
    rows, different = _different_treatments(world, pair, branch.ravel())
    branch = branch.ravel()[rows]
    probability = world.monitor_probability[rows] / different[branch]
    reward, chance = (np.zeros(branches.shape[1]) for _ in range(2))
    np.add.at(reward, branch, probability * world.monitor_reward[rows])
    np.add.at(chance, branch, probability * world.observe_probability[rows])
    order = np.argsort(branch, kind="stable")
    return KnownMonitor(
        env_pair=world.env_pair.astype(np.int64),
        first_outcome=np.searchsorted(outcomes[0], np.arange(world.n_env_pairs + 1)),
        env_next_state=outcomes[1].astype(np.int64),
        env_terminated=outcomes[2].astype(np.bool_),
        counts=np.zeros(outcomes.shape[1], np.int64),
        tries=np.zeros(world.n_env_pairs, np.int64),
        first_branch=np.searchsorted(branches[0], np.arange(len(world.offsets) - 1)),
        monitor_reward=reward,
        observe_probability=chance,
        offsets=np.searchsorted(branch[order], np.arange(branches.shape[1] + 1)),
        probability=probability[order],
        next_state=world.next_state[rows[order]].astype(np.int64),
        terminated=world.terminated[rows[order]],
    )


def _different_treatments(world: World, pair: Integers, branch: Integers) -> tuple[Integers, Integers]:
    """The outcomes of a world without those that the monitor treats like others of their branch, as indices.

    pair and branch: those of every outcome. Also returns the number of different treatments per branch.
    """
    seen: set[tuple[int, bytes]] = set()
    treatment = np.stack([
        world.monitor_probability, world.next_state, world.terminated, world.monitor_reward, world.observe_probability,
    ], 1)  # fmt: skip
    different, kept = np.zeros(branch.max() + 1, np.int64), []
    for rows in np.split(np.arange(len(pair)), np.flatnonzero(np.diff(pair) | np.diff(world.env_outcome)) + 1):
        key = int(branch[rows[0]]), treatment[rows].tobytes()
        if key not in seen:
            seen.add(key)
            different[key[0]] += 1
            kept.append(rows)
    return np.concatenate(kept), different


@internal
def count_experience(known, pair, env_next_state, next_state, terminated):
    """Count and return the environment outcome of a transition; -1 if the monitor may have ended the episode."""
    match, env_pair = -1, known.env_pair[pair]
    first = known.first_outcome[env_pair]
    for outcome in range(first, known.first_outcome[env_pair + 1]):
        if known.env_next_state[outcome] != env_next_state:
            continue
        fits = known.env_terminated[outcome] == terminated
        if terminated and not known.env_terminated[outcome]:
            branch = known.first_branch[pair] + outcome - first
            for row in range(known.offsets[branch], known.offsets[branch + 1]):
                fits |= known.next_state[row] == next_state and known.terminated[row]
        if fits and match >= 0:
            return -1
        if fits:
            match = outcome
    if match >= 0:
        known.counts[match] += 1
        known.tries[env_pair] += 1
    return match


@internal
def expected_monitor(known, pair):
    """Mean monitor reward and probability of observing over the outcomes so far; the latter is -1 without outcomes."""
    first, times = known.first_outcome[known.env_pair[pair]], known.tries[known.env_pair[pair]]
    reward, chance = 0.0, 0.0
    for outcome in range(first, known.first_outcome[known.env_pair[pair] + 1]):
        branch = known.first_branch[pair] + outcome - first
        reward += known.counts[outcome] * known.monitor_reward[branch]
        chance += known.counts[outcome] * known.observe_probability[branch]
    return (reward / times, chance / times) if times > 0 else (0.0, -1.0)


@internal
def write_known_row(known, pair, total, with_ends, rows, entry):
    """Write N(o) / total · PM(s′ | s,a,o) of all next states into `rows` from `entry` on.

    with_ends: also write the next states of outcomes that end the episode. Returns the next free entry and the
    probability of those outcomes.
    """
    first, ending = known.first_outcome[known.env_pair[pair]], 0.0
    for outcome in range(first, known.first_outcome[known.env_pair[pair] + 1]):
        branch, share = known.first_branch[pair] + outcome - first, known.counts[outcome] / total
        for row in range(known.offsets[branch], known.offsets[branch + 1]):
            if known.terminated[row]:
                ending += share * known.probability[row]
            if share > 0.0 and (with_ends or not known.terminated[row]):
                rows.weight[entry] = share * known.probability[row]
                rows.next_state[entry] = known.next_state[row]
                entry += 1
    return entry, ending
