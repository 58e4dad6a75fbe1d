"""The declaration of an environment, by a class or by a function, and its compilation into a table."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.machine import check_memory
from monmdp.problem import OUTCOME_BYTES, SMALLER, EnvironmentTable, Layout, Progress, as_columns
from monmdp.registry import Declared, Registry


class Step(NamedTuple):
    """One outcome of an environment step."""

    next_state: Hashable
    reward: float = 0.0
    probability: float = 1.0
    terminated: bool = False


@dataclass(frozen=True, kw_only=True)
class Environment(Declared):
    """States, actions, outcomes and start states, declared by a subclass; the options below apply to all.

    step_limit: the maximum number of steps in an episode, None for no limit, "auto" for the class's default.
    random_action: probability that a uniformly random action is executed instead of the chosen one.
    reward_noise: standard deviation of Gaussian noise on every reward.
    nonzero_reward_noise: the same on non-zero rewards only, in addition to reward_noise.
    """

    step_limit: int | Literal["auto"] | None = "auto"
    random_action: check.Probability = 0.0
    reward_noise: check.NonNegative = 0.0
    nonzero_reward_noise: check.NonNegative = 0.0

    #: The step limit for "auto".
    default_limit: ClassVar[int | None] = None

    def resolved(self) -> Self:
        """The environment with values in place of options that stand for a default of its class."""
        return replace(self, step_limit=self.default_limit) if self.step_limit == "auto" else self

    @property
    def states(self) -> Sequence[Hashable]:
        """Labels of the states, such as cells (row, column)."""
        raise MonMDPError(f"{type(self).__name__} does not declare its states.")

    @property
    def actions(self) -> Sequence[str]:
        """Labels of the actions."""
        raise MonMDPError(f"{type(self).__name__} does not declare its actions.")

    def outcomes(self, state: Any, action: str) -> Iterable[Step]:
        """All possible outcomes of `action` in `state`."""
        raise MonMDPError(f"{type(self).__name__} does not declare the outcomes of its actions.")

    @property
    def starts(self) -> Any:
        """Where episodes start: a state, several with equal probability, or a mapping state → probability."""
        return self.states[0]

    @property
    def button(self) -> tuple[Hashable, str]:
        """The state and action of a button that a monitor may install."""
        first = next(iter(check.start_weights(self.starts, self.states)))
        return first, "LEFT" if "LEFT" in self.actions else self.actions[0]

    def same_place(self, state: Any) -> Sequence[Hashable]:
        """States at the place of `state`; several where states differ in something else too, such as a key."""
        return (state,)

    @property
    def regions(self) -> Mapping[str, Iterable[Hashable]]:
        """Named sets of states, for options that refer to states."""
        return {}

    @property
    def layout(self) -> Layout | None:
        """Positions of the states in a picture, or None if they have no positions."""
        return None

    def table(self, progress: Progress | None = None) -> EnvironmentTable:
        """The environment as arrays, after checks of everything that it declares.

        progress: called with the number of states done and of all.
        """
        name = self.name
        states = check.labels(self.states, "state", name)
        actions = check.labels(self.actions, "action", name)
        index = {state: i for i, state in enumerate(states)}
        slip, noise, extra_noise = self.random_action, self.reward_noise, self.nonzero_reward_noise
        limit: Any = self.resolved().step_limit
        pairs = len(states) * len(actions)
        check_memory(OUTCOME_BYTES * pairs, f"{name} with {pairs:,} pairs of states and actions", SMALLER)
        offsets, rows = [0], []
        for number, state in enumerate(states):
            if progress is not None:
                progress(number, len(states))
            executed = []
            for action in actions:
                where = f"action {action!r} in state {state!r} of {name}"
                executed.append(check.outcomes(partial(self.outcomes, state, action), Step, where, index))
            for steps in executed:
                mixture = [(1.0 - slip, steps)] + [(slip / len(actions), other) for other in executed if slip]
                merged: dict[tuple[float, ...], float] = {}
                for weight, part in mixture:
                    for chance, *outcome in part:
                        merged[tuple(outcome)] = merged.get(tuple(outcome), 0.0) + weight * chance
                rows += [(chance, *outcome) for outcome, chance in merged.items() if chance > 0]
                offsets.append(len(rows))
        columns = as_columns(rows)
        return EnvironmentTable(
            name=name,
            states=states,
            actions=actions,
            offsets=np.array(offsets, np.int64),
            reward_noise=np.sqrt(noise**2 + np.where(columns["reward"] != 0, extra_noise**2, 0.0)),
            start=np.array(check.start_probabilities(self.starts, states, name)),
            step_limit=None if limit is None else check.steps(limit, what=f"The step limit of {name}"),
            layout=self.layout,
            **columns,
        )


ENVIRONMENTS: Registry[Environment] = Registry("environment", Environment)


@dataclass(frozen=True)
class Rule(Environment):
    """States, actions and a function (state, action) → outcomes; start: a state, several, or a mapping.

    picture: positions of the states, for pictures.
    """

    states: Sequence[Hashable] = ()
    actions: Sequence[str] = ()
    rule: Callable[[Any, str], Iterable[Step]] = lambda state, action: ()
    start: Any = None
    title: str = "Rule"
    picture: Layout | None = field(default=None, repr=False)

    def outcomes(self, state: Any, action: str) -> Iterable[Step]:
        return self.rule(state, action)

    @property
    def starts(self) -> Any:
        return self.states[0] if self.start is None else self.start

    @property
    def layout(self) -> Layout | None:
        return self.picture

    @property
    def name(self) -> str:
        return self.title
