"""An environment from a Python function."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from monmdp.environments.base import Environment, Step
from monmdp.factors import Layout


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
