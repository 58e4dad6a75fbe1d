"""Counts of next states in memory for those that occurred only: one linked list per pair."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np

from monmdp.agents.arrays import array_tuple, zeros
from monmdp.kernels.compile import kernel

Transitions: Any = array_tuple(
    __name__,
    "Transitions",
    "The nodes of a pair are first[pair], following[node], … in order of first occurrence, until -1.",
    first="int pairs",
    following="int nodes",
    next_state="int nodes",
    times="int nodes",  # how often this state followed
    ended="int nodes",  # how often the episode ended with it
    used="int 1",  # the number of nodes
)


def new_transitions(n_pairs: int, n_states: int, steps: int) -> Any:
    """Empty lists, with room for all transitions that can occur in this number of steps."""
    return zeros(Transitions, {"nodes": min(steps, n_pairs * n_states)}, first=np.full(n_pairs, -1, np.int64))


@kernel
def count_transition(transitions, pair, next_state, terminated):
    """Count one transition; returns whether it is the first of its kind."""
    node, last = transitions.first[pair], -1
    while node >= 0 and transitions.next_state[node] != next_state:
        node, last = transitions.following[node], node
    is_new = node < 0
    if is_new:
        node = transitions.used[0]
        transitions.used[0] += 1
        transitions.next_state[node] = next_state
        transitions.following[node] = -1
        if last < 0:
            transitions.first[pair] = node
        else:
            transitions.following[last] = node
    transitions.times[node] += 1
    transitions.ended[node] += terminated
    return is_new
