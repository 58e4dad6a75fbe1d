"""The six monitors of the paper."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from monmdp import check
from monmdp.environments.base import Environment
from monmdp.monitors.base import MONITORS, Moment, Monitor, Outcome
from monmdp.tables import find


@MONITORS.add
@dataclass(frozen=True)
class Full(Monitor):
    """Shows every reward, for free."""

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        yield Outcome(observed=1.0)


@MONITORS.add
@dataclass(frozen=True)
class Random(Monitor):
    """Hides non-zero rewards with probability p."""

    p: float = 0.5

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        yield Outcome(observed=1.0 if moment.env_reward == 0 else 1.0 - self.p)


@MONITORS.add
@dataclass(frozen=True)
class Ask(Monitor):
    """Shows the reward when asked, at a cost."""

    cost: float = 0.2

    actions = ("no-op", "ask")

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        asked = moment.action == "ask"
        yield Outcome(reward=-self.cost * asked, observed=asked)


@MONITORS.add
@dataclass(frozen=True)
class Button(Monitor):
    """Shows rewards and charges while on; an environment action in the button's cell toggles it.

    cost: per step while on. end_cost: additional cost if the episode ends while on.
    cell and action: the position of the button; None for that of the environment.
    """

    cost: float = 0.2
    end_cost: float = 2.0
    cell: Any = None
    action: str | None = None

    states = ("off", "on")

    def installed(self, environment: Environment) -> Monitor:
        cell, action = environment.button
        if self.cell is not None:
            cell = environment.states[find(self.cell, environment.states, "state", environment.name)]
        if self.action is not None:
            action = environment.actions[find(self.action, environment.actions, "action", environment.name)]
        return replace(self, cell=cell, action=action)

    @property
    def landmarks(self) -> Mapping[Hashable, str]:
        return {} if self.cell is None else {self.cell: "button"}

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        on = moment.state == "on"
        cost = (self.cost + self.end_cost * moment.env_terminated) * on
        pressed = (moment.env_state, moment.env_action) == (self.cell, self.action)
        yield Outcome(reward=-cost, observed=on, next_state="on" if on != pressed else "off")


@MONITORS.add
@dataclass(frozen=True)
class Experts(Monitor):
    """One of n experts is present at random; asking that one shows the reward at a cost, others pay a small bonus."""

    n: int = 4
    cost: float = 0.2
    bonus: float = 0.001

    @property
    def states(self) -> Sequence[int]:
        return range(1, check.whole(self.n, 1, "The number of experts") + 1)

    @property
    def actions(self) -> Sequence[Any]:
        return self.states

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        shown = moment.action == moment.state
        for state in self.states:
            yield Outcome(-self.cost if shown else self.bonus, shown, state, 1.0 / self.n)


@MONITORS.add
@dataclass(frozen=True)
class Level(Monitor):
    """Shows rewards at the top of n levels; the action equal to the level climbs, a wrong one resets to level 1."""

    n: int = 3
    cost: float = 0.2

    @property
    def states(self) -> Sequence[int]:
        return range(1, check.whole(self.n, 1, "The number of levels") + 1)

    @property
    def actions(self) -> Sequence[Any]:
        return (*self.states, "no-op")

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        shown = moment.state == self.n
        if moment.action == "no-op":
            yield Outcome(observed=shown)
        elif moment.action == moment.state:
            yield Outcome(-self.cost, shown, min(moment.state + 1, self.n))
        else:
            yield Outcome(-self.cost, shown, 1)
