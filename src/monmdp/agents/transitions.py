"""Counted transitions in memory that grows with what is known: one linked list of next states a pair."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from monmdp.kernels.compile import kernel
from monmdp.problem import Integers


class Transitions(NamedTuple):
    """Node first[pair] and those after it, in the order of their first time; -1 ends a list.

    A node has the next_state, how many times it came and in how many it ended the episode; used [1] counts nodes.
    """

    first: Integers
    following: Integers
    next_state: Integers
    times: Integers
    ended: Integers
    used: Integers


def new_transitions(pairs: int, states: int, steps: int) -> Transitions:
    """No transitions yet, and room for all that so many steps can show."""
    room = min(steps, pairs * states)
    return Transitions(
        first=np.full(pairs, -1, np.int64),
        following=np.zeros(room, np.int64),
        next_state=np.zeros(room, np.int64),
        times=np.zeros(room, np.int64),
        ended=np.zeros(room, np.int64),
        used=np.zeros(1, np.int64),
    )


@kernel
def note_transition(transitions, pair, next_state, terminated):
    """Count one transition."""
    node, last = transitions.first[pair], -1
    while node >= 0 and transitions.next_state[node] != next_state:
        node, last = transitions.following[node], node
    if node < 0:
        node = transitions.used[0]
        transitions.used[0] += 1
        transitions.next_state[node] = next_state
        transitions.following[node] = -1
        if last < 0:
            transitions.first[pair] = node
        else:
            transitions.following[last] = node
    transitions.times[node] += 1
    if terminated:
        transitions.ended[node] += 1
