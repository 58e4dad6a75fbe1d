"""Named tuples of arrays whose fields are declared once, with type and shape: the memories of agents with models.

Also the two sparse structures of models: rows of successors, and counts of the transitions that occurred.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from monmdp.kernels.compile import internal
from monmdp.kernels.references import by_reference
from monmdp.problem import Integers
from monmdp.world import World

TYPES = {"int": np.int64, "float": np.float64, "bool": np.bool_}


def array_tuple(module: str, name: str, doc: str, **fields: Any) -> Any:
    """A named tuple class with a docstring; assign it to `name` in `module`, where the kernel cache looks it up.

    A field is declared as an array, such as "int pairs 2" for an int64 array [pairs, 2]; as a dictionary of such
    declarations, which is an array of one record with named numbers; as another `array_tuple`; or as a function that
    converts an attribute of the same name.
    """
    made: Any = NamedTuple(name, [(field, Any) for field in fields])  # type: ignore[misc]
    made.__module__, made.__doc__ = module, doc
    made.declared = fields  # type: ignore[attr-defined]
    return by_reference(made)


def zeros(kind: Any, sizes: Mapping[str, int], *sources: Any, **given: Any) -> Any:
    """An instance of an `array_tuple`: zeros, except for `given` fields and for attributes of the sources."""

    def shape(declared: str) -> tuple[int, ...]:
        return tuple(int(size) if size.isdigit() else sizes[size] for size in declared.split()[1:])

    def field(name: str, declared: Any) -> Any:
        if isinstance(declared, str):
            return np.zeros(shape(declared), TYPES[declared.split()[0]])
        if isinstance(declared, dict):
            record = [(key, TYPES[number.split()[0]], shape(number)) for key, number in declared.items()]
            return np.zeros(1, np.dtype(record, align=True))
        if hasattr(declared, "declared"):
            return zeros(declared, sizes, *sources)
        return declared(next(getattr(source, name) for source in sources if hasattr(source, name)))

    return kind(**{name: given[name] if name in given else field(name, kind.declared[name]) for name in kind._fields})


Rows: Any = array_tuple(
    __name__,
    "Rows",
    "Sparse rows in the format of `kernels.bellman`, with room for more successors than are in use.",
    offsets="int bounds",
    weight="float successors",
    next_state="int successors",
)


def world_sizes(world: World, n_successors: int = 0) -> dict[str, int]:
    """The sizes that shapes are declared with; n_successors is the number of successors in rows over pairs."""
    sizes = {name.removeprefix("n_"): size for name, size in world._asdict().items() if name.startswith("n_")}
    pairs, monitor_pairs = world.n_states * world.n_actions, world.n_monitor_states * world.n_monitor_actions
    return {**sizes, "pairs": pairs, "bounds": pairs + 1, "successors": n_successors, "monitor_pairs": monitor_pairs}


def pair_factors(world: World) -> tuple[Integers, Integers]:
    """The environment pair and the monitor pair of every joint pair, [pairs] each."""
    state, action = np.divmod(np.arange(world.n_states * world.n_actions), world.n_actions)
    env_action, monitor_action = np.divmod(action, world.n_monitor_actions)
    env_pair = world.env_state[state] * (world.n_actions // world.n_monitor_actions) + env_action
    return env_pair, world.monitor_state[state] * world.n_monitor_actions + monitor_action


Transitions: Any = array_tuple(
    __name__,
    "Transitions",
    "Counts of next states: nodes first[pair], following[node], … in order of first occurrence, until -1.",
    first="int pairs",
    total="int pairs",  # the number of transitions of a pair
    following="int nodes",
    next_state="int nodes",
    times="int nodes",  # how often this state followed
    ended="int nodes",  # how often the episode ended with it
    used="int 1",  # the number of nodes
)


def new_transitions(n_pairs: int, n_states: int, steps: int) -> Any:
    """Empty lists, with room for all transitions that can occur in this number of steps."""
    sizes = {"pairs": n_pairs, "nodes": min(steps, n_pairs * n_states)}
    return zeros(Transitions, sizes, first=np.full(n_pairs, -1, np.int64))


@internal
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
    transitions.total[pair] += 1
    transitions.times[node] += 1
    transitions.ended[node] += terminated
    return is_new
