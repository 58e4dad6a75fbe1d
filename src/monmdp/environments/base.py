"""What an environment declares, and how a declaration becomes a table."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.problem import EnvironmentTable, Layout
from monmdp.registry import Registry, spec_of


class Step(NamedTuple):
    """One way an environment step can come out."""

    next_state: Hashable
    reward: float = 0.0
    probability: float = 1.0
    terminated: bool = False


@dataclass(frozen=True, kw_only=True)
class Environment:
    """States, actions, outcomes and starts; a subclass declares them, every option here works on all.

    step_limit: steps until the episode restarts, None for never, "auto" for the environment's own.
    random_action: chance that a uniformly random action is executed instead of the chosen one.
    reward_noise: standard deviation of Gaussian noise on every reward.
    nonzero_reward_noise: the same on non-zero rewards only, on top of reward_noise.
    """

    step_limit: int | Literal["auto"] | None = "auto"
    random_action: float = 0.0
    reward_noise: float = 0.0
    nonzero_reward_noise: float = 0.0

    def __post_init__(self) -> None:
        check.options(self)

    #: The step limit behind "auto".
    default_limit: ClassVar[int | None] = None

    @property
    def states(self) -> Sequence[Hashable]:
        """Labels of the states, such as cells (row, column)."""
        raise MonMDPError(f"{type(self).__name__} does not declare its states.")

    @property
    def actions(self) -> Sequence[str]:
        """Labels of the actions."""
        raise MonMDPError(f"{type(self).__name__} does not declare its actions.")

    def outcomes(self, state: Any, action: str) -> Iterable[Step]:
        """Every way in which `action` taken in `state` can come out."""
        raise MonMDPError(f"{type(self).__name__} does not declare the outcomes of its actions.")

    @property
    def starts(self) -> Any:
        """Where episodes start: a state, several with even odds, or a mapping state → probability."""
        return self.states[0]

    @property
    def button(self) -> tuple[Hashable, str]:
        """The state and action of a button that a monitor may install."""
        first = next(iter(start_distribution(self)))
        return first, "LEFT" if "LEFT" in self.actions else self.actions[0]

    @property
    def regions(self) -> Mapping[str, Iterable[Hashable]]:
        """Named sets of states, for options that take states."""
        return {}

    @property
    def layout(self) -> Layout | None:
        """Where the states lie in a picture, or None where they have no places."""
        return None

    @property
    def limit(self) -> int | None:
        """The step limit in force."""
        limit = self.default_limit if self.step_limit == "auto" else self.step_limit
        return None if limit is None else check.whole(limit, 1, f"The step limit of {type(self).__name__}")

    @property
    def name(self) -> str:
        """The text that builds an equal environment."""
        return spec_of(self)

    def table(self) -> EnvironmentTable:
        """The environment as arrays."""
        return _compile(self)


ENVIRONMENTS: Registry[Environment] = Registry("environment", Environment)


def start_distribution(environment: Environment) -> dict[Hashable, float]:
    """The start states with their probabilities, checked."""
    starts, name = environment.starts, type(environment).__name__
    known = set(environment.states)
    if isinstance(starts, Mapping):
        weights = dict(starts)
    elif _is_state(starts, known):
        weights = {starts: 1.0}
    elif isinstance(starts, Iterable) and not isinstance(starts, str):
        listed = list(starts)
        weights = {state: 1.0 / len(listed) for state in listed}
    else:
        weights = {starts: 1.0}
    for state, weight in weights.items():
        if state not in known:
            raise MonMDPError(f"{name} cannot start in {state!r}: it has no such state.")
        check.probability(weight, f"The probability that {name} starts in {state!r}")
    check.distribution(sum(weights.values()), f"the start states of {name}")
    return weights


def _is_state(candidate: Any, known: set[Hashable]) -> bool:
    return isinstance(candidate, Hashable) and candidate in known


def _compile(environment: Environment) -> EnvironmentTable:
    name = environment.name
    states = check.labels(environment.states, "state", name)
    actions = check.labels(environment.actions, "action", name)
    index = {state: i for i, state in enumerate(states)}
    slip = check.probability(environment.random_action, f"The chance of a random action in {name}")
    noise = check.at_least(environment.reward_noise, 0, f"The reward noise of {name}")
    extra_noise = check.at_least(environment.nonzero_reward_noise, 0, f"The non-zero reward noise of {name}")

    offsets, rows = [0], []
    for state in states:
        chosen = [_checked(environment, name, state, action, index) for action in actions]
        for steps in chosen:
            merged: dict[tuple[int, float, bool], float] = {}
            _merge(merged, steps, 1.0 - slip)
            for executed in chosen if slip else ():
                _merge(merged, executed, slip / len(actions))
            rows += [(chance, *key) for key, chance in merged.items() if chance > 0]
            offsets.append(len(rows))

    reward = np.array([row[2] for row in rows], np.float64)
    start = np.zeros(len(states))
    for state, weight in start_distribution(environment).items():
        start[index[state]] = weight
    return EnvironmentTable(
        name=name,
        states=states,
        actions=actions,
        offsets=np.array(offsets, np.int64),
        probability=np.array([row[0] for row in rows], np.float64),
        next_state=np.array([row[1] for row in rows], np.int32),
        reward=reward,
        reward_noise=np.sqrt(noise**2 + np.where(reward != 0, extra_noise**2, 0.0)),
        terminated=np.array([row[3] for row in rows], np.bool_),
        start=start,
        step_limit=environment.limit,
        layout=environment.layout,
    )


def _checked(
    environment: Environment, name: str, state: Hashable, action: str, index: dict[Hashable, int]
) -> list[tuple[float, int, float, bool]]:
    """Outcomes of one pair as (probability, next state, reward, terminated)."""
    where = f"action {action!r} in state {state!r} of {name}"
    steps, total = [], 0.0
    found = environment.outcomes(state, action)
    if isinstance(found, Step) or not isinstance(found, Iterable):
        raise MonMDPError(f"The outcomes of {where} must be yielded, or a list of Step, not {found!r}.")
    for step in found:
        if step.next_state not in index:
            raise MonMDPError(f"An outcome of {where} leads to {step.next_state!r}, which is not one of its states.")
        chance = check.probability(step.probability, f"The probability of an outcome of {where}")
        reward = check.finite(step.reward, f"The reward of {where}")
        steps.append((chance, index[step.next_state], reward, bool(step.terminated)))
        total += chance
    check.distribution(total, where)
    return steps


def _merge(
    merged: dict[tuple[int, float, bool], float], steps: list[tuple[float, int, float, bool]], weight: float
) -> None:
    for chance, *rest in steps:
        key = (int(rest[0]), float(rest[1]), bool(rest[2]))
        merged[key] = merged.get(key, 0.0) + weight * chance
