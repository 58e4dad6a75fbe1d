"""The declaration of a monitor: its states, its actions, and what it shows and charges in a step."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from monmdp import check
from monmdp.environments.base import Environment
from monmdp.errors import MonMDPError
from monmdp.registry import Registry, spec_of


class Moment(NamedTuple):
    """One step as the monitor sees it: both states and actions as labels, and the outcome of the environment."""

    state: Any
    action: Any
    env_state: Any
    env_action: str
    env_reward: float
    env_terminated: bool
    env_pair: int


class Outcome(NamedTuple):
    """One outcome of a monitor; `observed` is the probability that the reward is shown, `next_state` None stays."""

    reward: float = 0.0
    observed: float = 0.0
    next_state: Hashable = None
    probability: float = 1.0
    terminated: bool = False


@dataclass(frozen=True, kw_only=True)
class Monitor:
    """Decides whether the environment's reward is shown, and at what cost; the options below apply to all monitors.

    observability: factor on the probability that a reward is shown.
    never_observable: environment states, (state, action) pairs or region names whose reward is never shown.
    """

    observability: float = 1.0
    never_observable: Any = ()

    def __post_init__(self) -> None:
        check.options(self)

    @property
    def states(self) -> Sequence[Hashable]:
        """Labels of the monitor's states."""
        return ("idle",)

    @property
    def actions(self) -> Sequence[Hashable]:
        """Labels of the monitor's actions."""
        return ("no-op",)

    def installed(self, environment: Environment) -> Monitor:
        """The monitor with options that depend on the environment filled in, such as the cell of a button."""
        return self

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        """All possible outcomes of the monitor in one step."""
        raise MonMDPError(f"{type(self).__name__} does not declare its outcomes.")

    @property
    def start(self) -> Mapping[Hashable, float]:
        """Start distribution over the monitor's states; uniform by default."""
        return {state: 1.0 / len(self.states) for state in self.states}

    @property
    def landmarks(self) -> Mapping[Hashable, str]:
        """Environment states to mark in pictures."""
        return {}

    @property
    def name(self) -> str:
        """The spec that builds an equal monitor."""
        return spec_of(self)


MONITORS: Registry[Monitor] = Registry("monitor", Monitor)
