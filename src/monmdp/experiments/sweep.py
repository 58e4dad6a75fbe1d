"""A sweep is a product of rows: environments × monitors × agents × seeds. Presets are such products."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monmdp.errors import MonMDPError, nearest
from monmdp.experiments.cells import Cell
from monmdp.experiments.protocol import DEFAULT_STEPS, PAPER_MONITORS
from monmdp.registry import construct

PAPER_AGENTS = ("Directed", "Optimism", "UCB", "QCounts", "Intrinsic", "Naive")
#: The four environments of the paper's main figure.
MAIN_ENVIRONMENTS = ("Empty", "Hazard", "OneWay", "RiverSwim")
EPSILONS = ("(1.0, 0.0)", "(0.5, 0.0)", "(0.2, 0.0)", "0.2", "0.1")


@dataclass(frozen=True)
class Sweep:
    """Rows to be multiplied; entries are names with options, as in "Ask(cost=0.5)", or objects."""

    environments: Sequence[Any] = tuple(DEFAULT_STEPS)
    monitors: Sequence[Any] = PAPER_MONITORS
    agents: Sequence[Any] = PAPER_AGENTS
    seeds: int | Sequence[int] = 100
    steps: int | None = None
    points: int | None = None
    evaluation: str = "exact"
    discount: float = 0.99

    def cells(self) -> list[Cell]:
        """All combinations, in order."""
        return [
            Cell(environment, monitor, agent, self.steps, self.points, self.evaluation, self.discount)
            for environment in _listed(self.environments, "environments")
            for monitor in _listed(self.monitors, "monitors")
            for agent in _listed(self.agents, "agents")
        ]


#: Name → what it is, and its sweeps.
PRESETS: dict[str, tuple[str, tuple[Sweep, ...]]] = {
    "paper": ("the paper: 48 problems × 6 agents × 100 seeds", (Sweep(),)),
    "quick": (
        "the main figure's 24 problems × 6 agents × 20 seeds, a few minutes",
        (Sweep(environments=MAIN_ENVIRONMENTS, seeds=20),),
    ),
    "epsilon": (
        "ablation: five schedules of ε for Directed and the ε-greedy baselines",
        (
            Sweep(
                environments=MAIN_ENVIRONMENTS,
                agents=[
                    f"{agent}(epsilon={epsilon})"
                    for agent in PAPER_AGENTS
                    if agent != "Optimism"
                    for epsilon in EPSILONS
                ],
                seeds=20,
            ),
        ),
    ),
    "pessimism": (
        "ablation: baselines that start from the pessimistic Q of Directed",
        (Sweep(agents=[f"{agent}(initial_q=-10.0)" for agent in PAPER_AGENTS[2:]], seeds=20),),
    ),
    "successors": (
        "ablation: first-visit against occupancy successor functions",
        (Sweep(agents=["Directed", "Directed(successor_target='occupancy')"], seeds=20),),
    ),
    "observability": (
        "noise: what would be shown is shown with probability 0.8",
        (Sweep(monitors=[f"{monitor}(observability=0.8)" for monitor in PAPER_MONITORS], seeds=20),),
    ),
    "reward-noise": (
        "noise: Gaussian noise of 0.01 on every reward",
        (Sweep(environments=[f"{environment}(reward_noise=0.01)" for environment in DEFAULT_STEPS], seeds=20),),
    ),
}


def preset(name: str) -> list[Sweep]:
    """The sweeps of a preset."""
    if name not in PRESETS:
        raise MonMDPError(f"There is no preset called {name!r}. {nearest(name, PRESETS)}")
    return list(PRESETS[name][1])


def read_sweeps(path: Path) -> list[Sweep]:
    """Sweeps from a TOML file: one [[sweep]] table each, with the fields of `Sweep`."""
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise MonMDPError(f"{path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MonMDPError(f"{path} is not a TOML file: {error}.") from None
    tables = content.pop("sweep", None)
    if not isinstance(tables, list) or not tables or content or not all(isinstance(row, dict) for row in tables):
        raise MonMDPError(f"{path} must consist of [[sweep]] tables, and nothing else.")
    return [construct(Sweep, table) for table in tables]


def narrowed(
    sweeps: Iterable[Sweep],
    environments: Sequence[str] | None = None,
    monitors: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    seeds: int | None = None,
    steps: int | None = None,
    points: int | None = None,
) -> list[Sweep]:
    """The same sweeps with some of their rows replaced."""
    given = {
        "environments": environments, "monitors": monitors, "agents": agents,
        "seeds": seeds, "steps": steps, "points": points,
    }  # fmt: skip
    chosen: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    return [dataclasses.replace(sweep, **chosen) for sweep in sweeps]


def _listed(entries: Any, what: str) -> list[Any]:
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise MonMDPError(f"The {what} of a sweep must be a list, not {entries!r}.")
    if not entries:
        raise MonMDPError(f"A sweep needs at least one of its {what}.")
    return list(entries)
