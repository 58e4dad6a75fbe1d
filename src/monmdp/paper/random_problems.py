"""Random problems: families of seeded environments, each with a random monitor.

Problems with seeds below `FIRST_REPORTED` are for development; results are reported for the others.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from monmdp.environments import ENVIRONMENTS
from monmdp.environments.seeded import Draws
from monmdp.monitors import MONITORS

FIRST_REPORTED = 1_000
#: Options with the smallest and largest value: integers are drawn whole, other numbers with two decimals.
Ranges = Mapping[str, tuple[float, float]]
COST = (0.05, 0.5)
OBSERVABILITY: Ranges = {"observability": (0.2, 1.0)}
#: Monitor → ranges of its options. LimitedTime stays on long enough to show what is at the end of a lock.
RANDOM_MONITORS: dict[str, Ranges] = {
    "Random": {"p": (0.1, 0.9)},
    "Ask": {"cost": COST},
    "Experts": {"n": (2, 3), "cost": COST},
    "Level": {"n": (2, 3), "cost": COST},
    "Battery": {"n": (3, 6)},
    "Switch": {"cost": COST},
    "LimitedTime": {"p": (0.02, 0.1)},
    "PaidExperts": {"n": (2, 3), "cost": COST},
    "Button": {"cost": COST, "end_cost": (0.0, 2.0)},
}


class Family(NamedTuple):
    """Environments of one kind with the ranges of their options. monitors: those that are drawn."""

    environment: str
    options: Ranges
    deterministic: bool = True
    monitors: tuple[str, ...] = tuple(RANDOM_MONITORS)

    @property
    def steps(self) -> int:
        """Training steps of a run."""
        return 4_000 if self.deterministic else 10_000


GARNET: Ranges = {"n_states": (8, 20), "n_actions": (2, 4)}
NO_GRID = tuple(name for name in RANDOM_MONITORS if name != "Button")
FAMILIES = {
    "deterministic Garnet": Family("Garnet", {**GARNET, "branching": (1, 1)}, monitors=NO_GRID),
    "combination lock": Family("Lock", {"length": (5, 20), "n_actions": (2, 5)}, monitors=NO_GRID),
    "random grid": Family("RandomGrid", {"rows": (3, 7), "columns": (3, 7)}),
    "stochastic Garnet": Family("Garnet", {**GARNET, "branching": (2, 4)}, False, NO_GRID),
    "slippery maze": Family("Maze", {"rows": (3, 5), "columns": (3, 5), "random_action": (0.05, 0.1)}, False),
}
#: Draws reserved for one family, so that its problems do not depend on other families.
DRAWS = 1_000


def random_problem(family: str, seed: int) -> tuple[str, str]:
    """The environment and monitor of a family and a seed, as specs."""
    chosen = FAMILIES[family]
    draws = Draws(seed, "options", first=DRAWS * list(FAMILIES).index(family))

    def drawn(ranges: Ranges) -> dict[str, Any]:
        return {
            name: draws.whole(least, most)
            if isinstance(least, int) and isinstance(most, int)
            else round(least + (most - least) * draws.number(), 2)
            for name, (least, most) in ranges.items()
        }

    environment = ENVIRONMENTS.build(chosen.environment, seed=seed, **drawn(chosen.options))
    kind = draws.pick(chosen.monitors)
    return environment.name, MONITORS.build(kind, **drawn({**RANDOM_MONITORS[kind], **OBSERVABILITY})).name
