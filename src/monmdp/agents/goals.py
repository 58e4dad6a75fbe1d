"""The way to what is worth doing next: one search around the agent, one plan for all goals near by.

W(s) = max_a [g(s,a) + (1 − g(s,a)) γ_W Σ P̂(s′|s,a) W(s′)]
g(s,a) is the chance that a pair serves the purpose. The search follows known moves from the agent's state, ends of
episodes lead to known starts, and goes no further than it takes to meet goals; W is solved on what it met only, so
that memory is linear in what is known and a plan costs what its surroundings cost.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monmdp.kernels.compile import kernel
from monmdp.problem import Floats, Integers

#: How much a step of the way costs.
WAY_DISCOUNT = 0.9
#: The search goes on this many steps beyond the nearest goal, since a way that is longer may be surer.
BEYOND = 1
#: W is swept until the value at hand can change by no more than this part of it, or so many times.
WAY_ACCURACY = 0.02
WAY_SWEEPS = 40


class Way(NamedTuple):
    """A plan for the states that a search met.

    states [S] lists them, the i-th at `depth`; place [S]: position of a state, valid if its stamp is the plan's.
    Pair (i, action) has serves[i, action] = g, the chance ending[i, action] to end, and its successors from
    bounds[i * A + action] on, as places in `targets` with `chances`. values [S + 1], by place, the last of a restart.
    decay [S + 1]: γ_W to the power of a depth. told [4]: number of states, stamp, whether goals were met, starts known.
    starts [S] lists the states in which episodes began, start_counts [S + 1] how often, the last in all.
    """

    states: Integers
    depth: Integers
    place: Integers
    stamp: Integers
    serves: Floats
    ending: Floats
    bounds: Integers
    chances: Floats
    targets: Integers
    values: Floats
    decay: Floats
    told: Integers
    starts: Integers
    start_counts: Integers


def new_way(n_states: int, n_actions: int, room: int) -> Way:
    """No plan; room for so many successors."""
    return Way(
        states=np.zeros(n_states, np.int64),
        depth=np.zeros(n_states, np.int64),
        place=np.zeros(n_states, np.int64),
        stamp=np.zeros(n_states, np.int64),
        serves=np.zeros((n_states, n_actions)),
        ending=np.zeros((n_states, n_actions)),
        bounds=np.zeros(n_states * n_actions + 1, np.int64),
        chances=np.zeros(room),
        targets=np.zeros(room, np.int64),
        values=np.zeros(n_states + 1),
        decay=np.asarray(np.cumprod([1.0] + [WAY_DISCOUNT] * n_states), np.float64),
        told=np.zeros(4, np.int64),
        starts=np.zeros(n_states, np.int64),
        start_counts=np.zeros(n_states + 1, np.int64),
    )


@kernel
def note_start(way, state):
    """An episode began; returns whether it never began there before."""
    fresh = way.start_counts[state] == 0
    if fresh:
        way.starts[way.told[3]] = state
        way.told[3] += 1
    way.start_counts[state] += 1
    way.start_counts[-1] += 1
    return fresh


@kernel
def meet(states, depths, place, stamp, told, state, depth):
    """Put a state into the plan, unless it is there."""
    if stamp[state] != told[1]:
        stamp[state] = told[1]
        place[state] = told[0]
        states[told[0]] = state
        depths[told[0]] = depth
        told[0] += 1


@kernel
def begin_search(way, origin):
    """Forget the last plan and start a search at a state."""
    way.told[0], way.told[2] = 0, 0
    way.told[1] += 1
    meet(way.states, way.depth, way.place, way.stamp, way.told, origin, 0)


@kernel
def go_on(way, n_actions, start, stop, depth):
    """Meet the states that may follow those from start to stop; where an episode may end, its starts follow."""
    states, depths, place, stamp, told = way.states, way.depth, way.place, way.stamp, way.told
    bounds, targets, ending, starts = way.bounds, way.targets, way.ending, way.starts
    for k in range(bounds[start * n_actions], bounds[stop * n_actions]):
        meet(states, depths, place, stamp, told, targets[k], depth)
    for i in range(start, stop):
        for action in range(n_actions):
            if ending[i, action] > 0.0:
                for k in range(told[3]):
                    meet(states, depths, place, stamp, told, starts[k], depth)
                return


@kernel
def settle(way, n_actions):
    """Turn targets into places; states that were not met are worth nothing."""
    place, stamp, targets, now = way.place, way.stamp, way.targets, way.told[1]
    for k in range(way.bounds[way.told[0] * n_actions]):
        target = targets[k]
        targets[k] = place[target] if stamp[target] == now else -1


@kernel
def worth(serves, ending, bounds, chances, targets, values, i, action):
    """g + (1 − g) γ_W (Σ P̂ W + P̂(end) W(start)), solved for what comes back to the same state."""
    service = serves[i, action]
    if service >= 1.0:
        return service
    slot = i * serves.shape[1] + action
    ahead, back = max(ending[i, action], 0.0) * values[-1], 0.0
    for k in range(bounds[slot], bounds[slot + 1]):
        target = targets[k]
        if target == i:
            back += chances[k]
        elif target >= 0:
            ahead += chances[k] * values[target]
    still = (1.0 - service) * WAY_DISCOUNT
    return (service + still * ahead) / (1.0 - still * back)


@kernel
def weigh(way, state, choices):
    """What the actions of a state in the plan are worth, into choices [A]; returns its place."""
    i = way.place[state]
    for action in range(len(choices)):
        choices[action] = worth(way.serves, way.ending, way.bounds, way.chances, way.targets, way.values, i, action)
    return i


@kernel
def sweep_way(way, n_actions):
    """Solve W backwards from the states met last, which are the farthest, as far as it matters at the origin.

    What a state is worth counts there no more than γ_W to the power of its depth.
    """
    size, values, starts, place = way.told[0], way.values, way.starts, way.place
    decay, depth = way.decay, way.depth
    serves, ending, bounds, chances, targets = way.serves, way.ending, way.bounds, way.chances, way.targets
    values[:size] = 0.0
    values[-1] = 0.0
    for _ in range(WAY_SWEEPS):
        change = 0.0
        for i in range(size - 1, -1, -1):
            best = 0.0
            for action in range(n_actions):
                best = max(best, worth(serves, ending, bounds, chances, targets, values, i, action))
            if decay[depth[i]] * best > values[0]:
                change = max(change, decay[depth[i]] * (best - values[i]))
            values[i] = best
        restart = 0.0
        for k in range(way.told[3]):
            if way.stamp[starts[k]] == way.told[1]:
                restart += way.start_counts[starts[k]] * values[place[starts[k]]]
        values[-1] = restart / max(way.start_counts[-1], 1)
        if change <= WAY_ACCURACY * values[0]:
            break
