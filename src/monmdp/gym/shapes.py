"""Shapes in which learners get the observations and actions of an environment together with those of its monitor.

The functions are for one environment or, with batch=(n,), for the observations and actions of n copies, as arrays.
"""

import math
from collections.abc import Callable
from functools import partial
from operator import index
from typing import Any, Literal, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Tuple, flatten, flatten_space
from gymnasium.vector.utils import batch_space, iterate

from monmdp import check
from monmdp.errors import MonMDPError, shown

ActionShape = Literal["dict", "joint", "multidiscrete", "box"]
ObservationShape = Literal["dict", "concat", "channels"]
Batch = tuple[int, ...]


class Domain(NamedTuple):
    """The spaces of environments that a shape is for, in words and as a function."""

    description: str
    contains: Callable[[Any], bool]


ACTIONS = {
    "dict": Domain("any actions", lambda space: True),
    "joint": Domain("Discrete actions", lambda space: isinstance(space, Discrete)),
    "multidiscrete": Domain(
        "Discrete or MultiDiscrete actions",
        lambda space: isinstance(space, Discrete) or (isinstance(space, MultiDiscrete) and space.nvec.ndim == 1),
    ),
    "box": Domain(
        "continuous actions",
        lambda space: isinstance(space, Box) and np.issubdtype(space.dtype, np.floating),
    ),
}
OBSERVATIONS = {
    "dict": Domain("any observations", lambda space: True),
    "concat": Domain("observations that can be flattened to a vector", lambda space: bool(space.is_np_flattenable)),
    "channels": Domain("images, which have three axes", lambda space: isinstance(space, Box) and len(space.shape) == 3),
}


def fitting(domains: dict[str, Domain], space: Space[Any]) -> list[str]:
    """The shapes, of ACTIONS or OBSERVATIONS, for an environment with this space."""
    return [shape for shape, domain in domains.items() if domain.contains(space)]


def _check(what: str, domains: dict[str, Domain], shape: str, space: Space[Any]) -> None:
    check.one_of(shape, list(domains), what)
    if shape not in (possible := fitting(domains, space)):
        choices = " or ".join(f"{what}={other!r}" for other in reversed(possible))
        raise MonMDPError(
            f"{what}={shape!r} is for {domains[shape].description}, not {shown(space)}; choose {choices}."
        )


def action_shape(
    shape: str, space: Any, n: int, batch: Batch = ()
) -> tuple[Space[Any], Callable[[Any], tuple[Any, Any]]]:
    """The action space with a monitor of n actions, and a function action → (environment action, monitor action)."""
    _check("actions", ACTIONS, shape, space)
    if shape == "dict":
        return Dict({"env": space, "monitor": Discrete(n)}), lambda action: (action["env"], action["monitor"])
    if shape == "joint":
        first = int(space.start)

        def quotient(action: Any) -> tuple[Any, Any]:
            env_action, choice = divmod(np.asarray(action) if batch else index(action), n)
            return first + env_action, choice

        return Discrete(int(space.n) * n), quotient
    if shape == "multidiscrete":
        single = isinstance(space, Discrete)
        sizes, firsts = ([space.n], [space.start]) if single else (space.nvec, space.start)

        def parts(action: Any) -> tuple[Any, Any]:
            columns = np.asarray(action).T
            return columns[0] if single else columns[:-1].T, columns[-1]

        return MultiDiscrete([*sizes, n], start=[*firsts, 0]), parts
    size, dtype = math.prod(space.shape), space.dtype
    low, high = (np.append(bound, np.full(n - 1, end, dtype)) for bound, end in ((space.low, -1), (space.high, 1)))
    threshold = np.zeros((*batch, 1), dtype)  # the first monitor action, which ties select

    def cut(action: Any) -> tuple[Any, Any]:
        env_action, further = np.split(np.asarray(action, dtype).reshape(*batch, size + n - 1), [size], -1)
        return env_action.reshape(*batch, *space.shape), np.concatenate([threshold, further], -1).argmax(-1)

    return Box(low, high, dtype=dtype), cut


def observation_shape(
    shape: str, space: Any, n: int, batch: Batch = ()
) -> tuple[Space[Any], Callable[[Any, Any], Any]]:
    """The observation space with a monitor of n states, and a function (observation, monitor state) → observation."""
    _check("observations", OBSERVATIONS, shape, space)
    if shape == "dict":
        both = Dict({"env": space, "monitor": Discrete(n)})
        return both, lambda seen, state: {"env": seen, "monitor": np.int64(state)}
    prepare: Any = np.asarray
    flat, axis, one = space, -1, 1
    if shape == "concat":
        single = isinstance(space, Box) and not batch
        flat, prepare = flatten_space(space), np.ravel if single else partial(as_vectors, space, batch=batch)
    else:  # channels come last, unless the first axis is shorter; learners scale images of bytes by 255
        axis, one = 0 if space.shape[0] < space.shape[-1] else -1, 255 if space.dtype == np.uint8 else 1
    plane = np.delete(flat.shape, axis)
    one_hot = np.stack([np.moveaxis(np.full((*plane, n), row, flat.dtype), -1, axis) for row in one * np.eye(n)])
    low = np.concatenate([flat.low, np.zeros_like(one_hot[0])], axis)
    high = np.concatenate([flat.high, np.full_like(one_hot[0], one)], axis)
    axis = axis if axis < 0 else len(batch)
    return Box(low, high, dtype=flat.dtype), lambda seen, state: np.concatenate([prepare(seen), one_hot[state]], axis)


def as_vectors(space: Any, seen: Any, batch: Batch) -> Any:
    """Elements of a space as vectors: Gymnasium's `flatten`, also for those of many copies."""
    if isinstance(space, Box):
        return np.reshape(seen, (*batch, -1))
    if isinstance(space, Discrete):
        return np.equal.outer(seen, space.start + np.arange(space.n)).astype(space.dtype)
    if not batch:
        return flatten(space, seen)
    if isinstance(space, (Dict, Tuple)):
        parts: Any = space.items() if isinstance(space, Dict) else enumerate(space)
        return np.concatenate([as_vectors(part, seen[key], batch) for key, part in parts], -1)
    singles: Any = [flatten(space, one) for one in iterate(batch_space(space, *batch), seen)]
    return np.stack(singles)
