"""Monitors from work related to the paper."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monmdp import check
from monmdp.monitors.base import MONITORS, Moment, Monitor, Outcome
from monmdp.monitors.paper import Experts
from monmdp.rng import stream, uniform


@MONITORS.add
@dataclass(frozen=True)
class Battery(Monitor):
    """Asking shows the reward and uses one of n units; a step with an empty battery ends the episode."""

    n: int = 10

    actions = ("no-op", "ask")

    @property
    def states(self) -> Sequence[int]:
        return range(check.whole(self.n, 1, "The size of the battery") + 1)

    @property
    def start(self) -> Mapping[Hashable, float]:
        return {self.n: 1.0}

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        empty, asked = moment.state == 0, moment.action == "ask"
        shown = asked and not empty
        yield Outcome(observed=shown, next_state=moment.state - shown, terminated=empty)


@MONITORS.add
@dataclass(frozen=True)
class LimitedTime(Monitor):
    """Shows rewards for free at first; turns off until the end of the episode with probability p per step."""

    p: float = 0.2

    states = ("off", "on")

    @property
    def start(self) -> Mapping[Hashable, float]:
        return {"on": 1.0}

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        if moment.state == "off":
            yield Outcome()
        else:
            yield Outcome(observed=1.0, next_state="on", probability=1.0 - self.p)
            yield Outcome(observed=1.0, next_state="off", probability=self.p)


@MONITORS.add
@dataclass(frozen=True)
class Switch(Monitor):
    """Shows rewards and charges while on; an action turns it on for the rest of the episode."""

    cost: float = 0.2

    states = ("off", "on")
    actions = ("no-op", "turn on")

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        on = moment.state == "on"
        yield Outcome(-self.cost * on, on, "on" if on or moment.action == "turn on" else "off")


@MONITORS.add
@dataclass(frozen=True)
class RandomPair(Monitor):
    """Each environment pair has its own probability of being hidden, drawn from the seed."""

    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check.whole(self.seed, 0, "The seed of RandomPair")

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        hidden = uniform(stream(self.seed, "hidden pairs"), moment.env_pair)
        yield Outcome(observed=1.0 - hidden)


@MONITORS.add
@dataclass(frozen=True)
class FullRandom(Monitor):
    """Every reward is shown with probability rho."""

    rho: float = 0.5

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        yield Outcome(observed=self.rho)


@MONITORS.add
@dataclass(frozen=True)
class PaidExperts(Experts):
    """Experts where asking the wrong one has a small cost and asking none is free."""

    bonus: float = -0.001

    @property
    def actions(self) -> Sequence[Any]:
        return (*self.states, "no-op")

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        for outcome in super().outcomes(moment):
            yield outcome._replace(reward=0.0) if moment.action == "no-op" else outcome
