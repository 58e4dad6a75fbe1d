"""What a monitor declares: its states, its actions, and what it shows and charges at a moment."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from monmdp import check
from monmdp.environments.base import Environment
from monmdp.errors import MonMDPError
from monmdp.registry import Registry, spec_of


class Moment(NamedTuple):
    """One step as the monitor sees it: both states and actions as labels, and how the environment step came out."""

    state: Any
    action: Any
    env_state: Any
    env_action: str
    env_reward: float
    env_terminated: bool
    env_pair: int


class Outcome(NamedTuple):
    """One thing a monitor may do; `observed` is the chance that the reward is shown, `next_state` None stays."""

    reward: float = 0.0
    observed: float = 0.0
    next_state: Hashable = None
    probability: float = 1.0
    terminated: bool = False


@dataclass(frozen=True, kw_only=True)
class Monitor:
    """Decides whether the environment's reward is shown, and what that costs; the options here work on all.

    observability: what would be shown is shown with this probability.
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
        """The monitor with what it needs to know of its environment, such as the place of a button."""
        return self

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        """Everything the monitor may do at a moment."""
        raise MonMDPError(f"{type(self).__name__} does not declare its outcomes.")

    @property
    def start(self) -> Mapping[Hashable, float]:
        """Start distribution over the monitor's states; uniform unless said otherwise."""
        return {state: 1.0 / len(self.states) for state in self.states}

    @property
    def landmarks(self) -> Mapping[Hashable, str]:
        """Environment states that a picture should mark."""
        return {}

    @property
    def name(self) -> str:
        """The text that builds an equal monitor."""
        return spec_of(self)


MONITORS: Registry[Monitor] = Registry("monitor", Monitor)
