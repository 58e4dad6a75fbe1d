"""Gymnasium environments that have a transition table, such as FrozenLake, Taxi and CliffWalking."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.environments.base import Environment, Step
from monmdp.errors import MonMDPError
from monmdp.tables import Layout

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


@dataclass(frozen=True)
class GymnasiumTable(Environment):
    """The table `P[state][action] = [(probability, next state, reward, terminated), …]` of a Gymnasium environment."""

    table_of: Mapping[int, Mapping[int, Sequence[tuple[Any, ...]]]] = field(default_factory=dict, repr=False)
    start_probability: tuple[float, ...] = field(default=(), repr=False)
    action_names: tuple[str, ...] = ()
    picture: Layout | None = field(default=None, repr=False)
    title: str = "GymnasiumTable"

    @property
    def states(self) -> Sequence[int]:
        return range(len(self.start_probability))

    @property
    def actions(self) -> Sequence[str]:
        return self.action_names

    def outcomes(self, state: int, action: str) -> Iterable[Step]:
        for chance, next_state, reward, terminated in self.table_of[state][self.action_names.index(action)]:
            yield Step(int(next_state), float(reward), float(chance), bool(terminated))

    @property
    def starts(self) -> Mapping[Hashable, float]:
        return {state: chance for state, chance in enumerate(self.start_probability) if chance > 0}

    @property
    def layout(self) -> Layout | None:
        return self.picture

    @property
    def name(self) -> str:
        return self.title


def from_gymnasium(env: gymnasium.Env[Any, Any], **options: Any) -> GymnasiumTable:
    """The transition table, start distribution and step limit of a Gymnasium environment."""
    from gymnasium import Wrapper
    from gymnasium.spaces import Discrete

    limits, layer = [], env
    while isinstance(layer, Wrapper):
        name = type(layer).__name__
        if name not in _HARMLESS:
            raise MonMDPError(f"The wrapper {name} may change transitions or rewards; pass the environment without it.")
        if name == "TimeLimit":
            limits.append(int(getattr(layer, "_max_episode_steps")))  # noqa: B009  (private in Gymnasium)
        layer = layer.env
    core: Any = layer
    title = core.spec.id if core.spec is not None else type(core).__name__
    if not isinstance(core.observation_space, Discrete) or not isinstance(core.action_space, Discrete):
        raise MonMDPError(f"{title} needs Discrete observations and actions to become a table.")
    if not hasattr(core, "P") or not hasattr(core, "initial_state_distrib"):
        raise MonMDPError(f"{title} has no transition table (attributes 'P' and 'initial_state_distrib').")
    if getattr(core, "fickle_passenger", False):
        raise MonMDPError(f"{title} does not follow its transition table; set fickle_passenger=False.")
    if core.spec is not None and core.spec.kwargs:
        title += "(" + ", ".join(f"{key}={value!r}" for key, value in sorted(core.spec.kwargs.items())) + ")"
    actions = int(core.action_space.n)
    given = {"step_limit": min(limits) if limits else None, **options}
    return GymnasiumTable(
        table_of=core.P,
        start_probability=tuple(float(chance) for chance in core.initial_state_distrib),
        action_names=_ACTION_NAMES.get(type(core).__name__, tuple(f"action {index}" for index in range(actions))),
        picture=_picture(core),
        title=title,
        **given,
    )


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
