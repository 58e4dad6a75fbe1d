"""Monitors decide which rewards are shown, and at what cost: their declaration, and the catalogue."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from monmdp import check
from monmdp.environments import Environment
from monmdp.errors import MonMDPError
from monmdp.registry import Declared, Registry
from monmdp.rng import stream, uniform


class Moment(NamedTuple):
    """One step as the monitor sees it: both states and actions as labels, and the outcome of the environment.

    Around an environment without a table (`monitored`), env_state is the observation, env_action the action, env_pair
    the place that its `at` returns, or None; `at` is that place too, and None without it.
    """

    state: Any
    action: Any
    env_state: Any
    env_action: Any
    env_reward: float
    env_terminated: bool
    env_pair: Any
    at: Any = None


class Outcome(NamedTuple):
    """One outcome of a monitor; `observed` is the probability that the reward is shown, `next_state` None stays."""

    reward: float = 0.0
    observed: float = 0.0
    next_state: Hashable = None
    probability: float = 1.0
    terminated: bool = False


@dataclass(frozen=True, kw_only=True)
class Monitor(Declared):
    """Decides whether the environment's reward is shown, and at what cost; the options below apply to all monitors.

    observability: factor on the probability that a reward is shown.
    never_observable: environment states, (state, action) pairs or region names whose reward is never shown.
    """

    observability: check.Probability = 1.0
    never_observable: Any = ()

    #: Whether outcomes depend on a place: env_pair, or the state and action of a button.
    needs_place: ClassVar[bool] = False

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


#: First the monitors of the paper, then those of related work.
MONITORS: Registry[Monitor] = Registry("monitor", Monitor)


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

    p: check.Probability = 0.5

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
    cell and action: the position of the button; None for that of the environment. A button is in all states that are
    at the same place, such as those with and without a key.
    """

    cost: float = 0.2
    end_cost: float = 2.0
    cell: Any = None
    action: str | None = None

    states = ("off", "on")
    needs_place = True

    def installed(self, environment: Environment) -> Monitor:
        cell, action = environment.button
        if self.cell is not None:
            cell = environment.states[check.find(self.cell, environment.states, "state", environment.name)]
        if self.action is not None:
            action = environment.actions[check.find(self.action, environment.actions, "action", environment.name)]
        places = frozenset(environment.same_place(cell))
        return replace(self, cell=places if len(places) > 1 else cell, action=action)

    @property
    def _cells(self) -> Iterable[Hashable]:
        return self.cell if isinstance(self.cell, frozenset) else (self.cell,)

    @property
    def landmarks(self) -> Mapping[Hashable, str]:
        return {} if self.cell is None else dict.fromkeys(self._cells, "button")

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        on = moment.state == "on"
        cost = (self.cost + self.end_cost * moment.env_terminated) * on
        if moment.at is None:
            pressed = moment.env_state in self._cells and moment.env_action == self.action
        else:
            pressed = bool(moment.at)
        yield Outcome(reward=-cost, observed=on, next_state="on" if on != pressed else "off")


@MONITORS.add
@dataclass(frozen=True)
class Experts(Monitor):
    """One of n experts is present at random; asking that one shows the reward at a cost, others pay a small bonus."""

    n: check.Size = 4
    cost: float = 0.2
    bonus: float = 0.001

    @property
    def states(self) -> Sequence[int]:
        return range(1, self.n + 1)

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

    n: check.Size = 3
    cost: float = 0.2

    @property
    def states(self) -> Sequence[int]:
        return range(1, self.n + 1)

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


@MONITORS.add
@dataclass(frozen=True)
class Battery(Monitor):
    """Asking shows the reward and uses one of n units; a step with an empty battery ends the episode."""

    n: check.Size = 10

    actions = ("no-op", "ask")

    @property
    def states(self) -> Sequence[int]:
        return range(self.n + 1)

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

    p: check.Probability = 0.2

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

    seed: check.Seed = 0

    needs_place = True

    def outcomes(self, moment: Moment) -> Iterable[Outcome]:
        yield Outcome(observed=1.0 - uniform(stream(self.seed, "hidden pairs"), moment.env_pair))


@MONITORS.add
@dataclass(frozen=True)
class FullRandom(Monitor):
    """Every reward is shown with probability rho."""

    rho: check.Probability = 0.5

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
