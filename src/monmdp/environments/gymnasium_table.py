"""Gymnasium environments that have a transition table, such as FrozenLake, Taxi and CliffWalking."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp import check
from monmdp.environments.base import Rule, Step
from monmdp.errors import NoTableError
from monmdp.problem import Layout

if TYPE_CHECKING:
    import gymnasium

#: Wrappers that change neither rewards nor transitions; with any other the table could be wrong.
_HARMLESS = {"PassiveEnvChecker", "OrderEnforcing", "TimeLimit", "HumanRendering", "RecordVideo", "RenderCollection"}

#: Names of the actions of Gymnasium's own classes.
_ACTION_NAMES = {
    "FrozenLakeEnv": ("LEFT", "DOWN", "RIGHT", "UP"),
    "CliffWalkingEnv": ("UP", "RIGHT", "DOWN", "LEFT"),
    "TaxiEnv": ("SOUTH", "NORTH", "EAST", "WEST", "PICKUP", "DROPOFF"),
}

#: FrozenLake's letters as tiles, for pictures only.
_ICE = str.maketrans({"S": "S", "F": ".", "H": "O", "G": "G"})


def from_gymnasium(env: gymnasium.Env[Any, Any], **options: Any) -> Rule:
    """The transition table, start distribution and step limit of a Gymnasium environment."""
    from gymnasium import Env, Wrapper
    from gymnasium.spaces import Discrete

    check.instance(env, Env, "A Gymnasium environment must be an object of gymnasium.Env")
    limits, layer = [], env
    while isinstance(layer, Wrapper):
        name = type(layer).__name__
        if name not in _HARMLESS:
            reason = f"The wrapper {name} may change transitions or rewards: pass the environment without it"
            raise NoTableError(reason, "env")
        if name == "TimeLimit":
            limits.append(int(getattr(layer, "_max_episode_steps")))  # noqa: B009  (private in Gymnasium)
        layer = layer.env
    core: Any = layer
    title = core.spec.id if core.spec is not None else type(core).__name__
    call = "env" if core.spec is None else f"gymnasium.make({title!r})"
    if not isinstance(core.observation_space, Discrete) or not isinstance(core.action_space, Discrete):
        raise NoTableError(f"{title} needs Discrete observations and actions to become a table", call)
    if not hasattr(core, "P") or not hasattr(core, "initial_state_distrib"):
        raise NoTableError(f"{title} has no transition table (attributes 'P' and 'initial_state_distrib')", call)
    if getattr(core, "fickle_passenger", False):
        raise NoTableError(f"{title} does not follow its transition table with fickle_passenger=True", "env")
    if core.spec is not None and core.spec.kwargs:
        title += "(" + ", ".join(f"{key}={value!r}" for key, value in sorted(core.spec.kwargs.items())) + ")"
    actions = _ACTION_NAMES.get(type(core).__name__, tuple(f"action {i}" for i in range(int(core.action_space.n))))
    start = {state: float(chance) for state, chance in enumerate(core.initial_state_distrib) if chance > 0}
    return Rule(
        states=range(len(core.initial_state_distrib)),
        actions=actions,
        rule=partial(_outcomes, core.P, actions),
        start=start,
        title=title,
        picture=_picture(core),
        **{"step_limit": min(limits) if limits else None, **options},
    )


def _outcomes(table: Any, actions: tuple[str, ...], state: int, action: str) -> Iterator[Step]:
    """Outcomes from a table P[state][action] = [(probability, next state, reward, terminated), …]."""
    for chance, next_state, reward, terminated in table[state][actions.index(action)]:
        yield Step(int(next_state), float(reward), float(chance), bool(terminated))


def _picture(core: Any) -> Layout | None:
    """Tiles from a character map or a cliff mask, if the environment's states are its cells."""
    tiles: tuple[str, ...] | None = None
    if hasattr(core, "_cliff"):
        characters = np.where(core._cliff, "P", ".")
        characters[-1, -1] = "G"
        tiles = tuple("".join(row) for row in characters)
    elif getattr(getattr(core, "desc", None), "dtype", None) == np.dtype("S1"):
        tiles = tuple(b"".join(row).decode().translate(_ICE) for row in core.desc)
    if tiles is None or len(tiles) * len(tiles[0]) != core.observation_space.n:
        return None
    return Layout(tiles, tuple((row, column) for row in range(len(tiles)) for column in range(len(tiles[0]))))
