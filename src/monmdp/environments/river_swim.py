"""River Swim: a small reward that is easy to reach on the left, a large one that is hard to reach on the right."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from monmdp.environments.base import ENVIRONMENTS, Environment, Step
from monmdp.factors import Layout

LAST = 5


@ENVIRONMENTS.add
@dataclass(frozen=True)
class RiverSwim(Environment):
    """Six states in a row; the current pushes left, the large reward is on the right. Never ends."""

    default_limit: ClassVar[int | None] = 200

    @property
    def states(self) -> Sequence[int]:
        return range(LAST + 1)

    @property
    def actions(self) -> Sequence[str]:
        return ("LEFT", "RIGHT")

    def outcomes(self, state: int, action: str) -> Iterable[Step]:
        if action == "LEFT":
            yield Step(max(state - 1, 0), 0.01 if state == 0 else 0.0)
        elif state == 0:
            yield Step(1, probability=0.6)
            yield Step(0, probability=0.4)
        elif state == LAST:
            yield Step(LAST, reward=1.0, probability=0.6)
            yield Step(LAST - 1, probability=0.4)
        else:
            yield Step(state + 1, probability=0.35)
            yield Step(state, probability=0.60)
            yield Step(state - 1, probability=0.05)

    @property
    def starts(self) -> Any:
        return [1, 2]

    @property
    def button(self) -> tuple[Hashable, str]:
        return 0, "LEFT"

    @property
    def layout(self) -> Layout:
        return Layout(("=" * (LAST + 1),), tuple((0, column) for column in range(LAST + 1)))
