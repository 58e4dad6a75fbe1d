"""A sweep is a product of rows: environments × monitors × agents × seeds. Presets are such products."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monmdp.errors import MonMDPError, nearest
from monmdp.paper.protocol import AAMAS_AGENTS, DEFAULT_STEPS, PAPER_MONITORS
from monmdp.registry import construct
from monmdp.study.cells import Cell

PAPER_AGENTS = ("Directed", "Optimism", "UCB", "QCounts", "Intrinsic", "Naive")
#: The four environments of the paper's main figure.
MAIN_ENVIRONMENTS = ("Empty", "Hazard", "OneWay", "RiverSwim")
#: The agents of the follow-up comparison, each with and without a known monitor.
MODEL_AGENTS = ("DirectedModel", "MonitoredMBIE")
KNOWING_AGENTS = tuple(f"{agent}(known_monitor=True)" for agent in MODEL_AGENTS)
#: The follow-up's unsolvable problems: rewards in the bottleneck's column are never shown, the others with chance ρ.
UNSOLVABLE_MONITORS = tuple(
    f"{monitor}({options}never_observable='column', observability={chance})"
    for monitor, options in {
        "FullRandom": "rho=1.0, ",
        "Ask": "",
        "Button": "end_cost=0.0, cell=31, action='DOWN', ",
        "Experts": "",
        "PaidExperts": "",
        "Level": "",
    }.items()
    for chance in (1.0, 0.8, 0.2, 0.05)
)
#: What each idea of DirectedModel is worth: the agent without it.
ABLATIONS = (
    "DirectedModel",
    "DirectedModel(pool_environment=False)",
    "DirectedModel(pool_monitor=False)",
    "DirectedModel(pessimism=False)",
    "DirectedModel(observe=False)",
    "DirectedModel(beta_certain=1000000.0, beta_uncertain=1000000.0)",
)
EPSILONS = ("(1.0, 0.0)", "(0.5, 0.0)", "(0.2, 0.0)", "0.2", "0.1")


@dataclass(frozen=True)
class Sweep:
    """Rows to be multiplied; entries are names with options, as in "Ask(cost=0.5)", or objects.

    steps: the same for all, or this part `budget` of the protocol's.
    """

    environments: Sequence[Any] = tuple(DEFAULT_STEPS)
    monitors: Sequence[Any] = PAPER_MONITORS
    agents: Sequence[Any] = PAPER_AGENTS
    seeds: int | Sequence[int] = 100
    steps: int | None = None
    budget: float = 1.0
    points: int | None = None
    evaluation: str = "exact"
    discount: float = 0.99

    def cells(self) -> list[Cell]:
        """All combinations, in order."""
        return [
            Cell(environment, monitor, agent, self.steps, self.budget, self.points, self.evaluation, self.discount)
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
    "tenth": (
        "DirectedModel in the paper's 48 problems with a tenth of the training steps, 100 seeds",
        (Sweep(agents=["DirectedModel"], budget=0.1, points=100),),
    ),
    "followup": (
        "the paper's 48 problems with the follow-up's 20,000 steps: DirectedModel and MonitoredMBIE, 30 seeds",
        (Sweep(agents=[*MODEL_AGENTS, *KNOWING_AGENTS], steps=20_000, seeds=30, points=200),),
    ),
    "agents": (
        "every agent in the paper's 48 problems with the follow-up's 20,000 steps, 30 seeds",
        (Sweep(agents=[*PAPER_AGENTS, *AAMAS_AGENTS, *MODEL_AGENTS], steps=20_000, seeds=30, points=200),),
    ),
    "known-monitor": (
        "the first 4,000 steps of DirectedModel with and without a known monitor, recorded every ten, 30 seeds",
        (Sweep(agents=[MODEL_AGENTS[0], KNOWING_AGENTS[0]], steps=4_000, seeds=30, points=400),),
    ),
    "unsolvable": (
        "the follow-up's 24 problems with rewards that can never be seen, 50,000 steps, 30 seeds",
        (
            Sweep(
                environments=["Bottleneck"],
                monitors=UNSOLVABLE_MONITORS,
                agents=[*MODEL_AGENTS, *KNOWING_AGENTS],
                steps=50_000,
                seeds=30,
                points=250,
            ),
        ),
    ),
    "ablation": (
        "DirectedModel without each of its ideas, a tenth of the training steps, 20 seeds",
        (Sweep(agents=ABLATIONS, budget=0.1, seeds=20, points=100),),
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
    budget: float | None = None,
    points: int | None = None,
) -> list[Sweep]:
    """The same sweeps with some of their rows replaced."""
    given = {
        "environments": environments, "monitors": monitors, "agents": agents,
        "seeds": seeds, "steps": steps, "budget": budget, "points": points,
    }  # fmt: skip
    chosen: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    return [dataclasses.replace(sweep, **chosen) for sweep in sweeps]


def _listed(entries: Any, what: str) -> list[Any]:
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise MonMDPError(f"The {what} of a sweep must be a list, not {entries!r}.")
    if not entries:
        raise MonMDPError(f"A sweep needs at least one of its {what}.")
    return list(entries)
