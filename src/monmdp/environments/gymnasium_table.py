"""Gymnasium environments that carry their transition table, such as FrozenLake, Taxi and CliffWalking."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp.environments.base import Environment, Step
from monmdp.errors import MonMDPError
from monmdp.problem import Layout

if TYPE_CHECKING:
    import gymnasium

#: Wrappers that change neither rewards nor transitions; any other would make the table a lie.
_HARMLESS = {"PassiveEnvChecker", "OrderEnforcing", "TimeLimit", "HumanRendering", "RecordVideo", "RenderCollection"}

#: What the actions of Gymnasium's own classes mean.
_ACTION_NAMES = {
    "FrozenLakeEnv": ("LEFT", "DOWN", "RIGHT", "UP"),
    "CliffWalkingEnv": ("UP", "RIGHT", "DOWN", "LEFT"),
    "TaxiEnv": ("SOUTH", "NORTH", "EAST", "WEST", "PICKUP", "DROPOFF"),
}

#: FrozenLake's letters as our tiles, for pictures only.
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
    """Take over table, start distribution, termination and step limit of a Gymnasium environment."""
    from gymnasium import Wrapper
    from gymnasium.spaces import Discrete

    limits, layer = [], env
    while isinstance(layer, Wrapper):
        name = type(layer).__name__
        if name not in _HARMLESS:
            raise MonMDPError(
                f"The wrapper {name} may change what the environment does, and its table would not show it; "
                "pass the environment without it."
            )
        if name == "TimeLimit":
            limits.append(int(getattr(layer, "_max_episode_steps")))  # noqa: B009  (private in Gymnasium)
        layer = layer.env
    core: Any = layer
    title = core.spec.id if core.spec is not None else type(core).__name__
    if not isinstance(core.observation_space, Discrete) or not isinstance(core.action_space, Discrete):
        raise MonMDPError(f"{title} needs Discrete observations and actions to become a table.")
    if not hasattr(core, "P") or not hasattr(core, "initial_state_distrib"):
        raise MonMDPError(
            f"{title} has no transition table (attributes 'P' and 'initial_state_distrib'), so it has no exact model."
        )
    if getattr(core, "fickle_passenger", False):
        raise MonMDPError(f"{title} with a fickle passenger does more than its transition table says; switch it off.")
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
    """Tiles from a character map or a cliff mask, where the environment's states are its cells."""
    tiles: tuple[str, ...] | None = None
    if hasattr(core, "_cliff"):
        goal = int(np.prod(core._cliff.shape)) - 1
        flat = ["P" if cliff else "." for cliff in core._cliff.ravel()]
        flat[goal] = "G"
        columns = core._cliff.shape[1]
        tiles = tuple("".join(flat[i : i + columns]) for i in range(0, len(flat), columns))
    elif getattr(getattr(core, "desc", None), "dtype", None) == np.dtype("S1"):
        tiles = tuple(b"".join(row).decode().translate(_ICE) for row in core.desc)
    if tiles is None or len(tiles) * len(tiles[0]) != core.observation_space.n:
        return None
    return Layout(tiles, tuple((row, column) for row in range(len(tiles)) for column in range(len(tiles[0]))))
