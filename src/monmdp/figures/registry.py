"""Every figure: its name, a line about it, and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from monmdp.errors import MonMDPError, nearest
from monmdp.figures import beta_run, curves, environments, heatmaps, scores, tables
from monmdp.figures.data import FigureData
from monmdp.figures.saving import Drawing


@dataclass(frozen=True)
class FigureKind:
    """What can be drawn from a results folder; `draw` ends in a sentence where data are lacking.

    single: it shows a single problem, which can be chosen; by default the paper's.
    """

    name: str
    description: str
    draw: Callable[[FigureData], Drawing]
    single: bool = False


_KINDS = (
    FigureKind("returns", "greedy return during training: the paper's four main environments", curves.returns),
    FigureKind("returns-all", "greedy return during training: all environments", curves.returns_all),
    FigureKind("observed", "rewards observed during training: the paper's four main environments", curves.observed),
    FigureKind("observed-all", "rewards observed during training: all environments", curves.observed_all),
    FigureKind("beta", "β during training and its threshold: all environments", curves.beta),
    FigureKind("beta-run", "β of one run among all seeds: River Swim + Button", beta_run.beta_run, single=True),
    FigureKind("visits", "visits of every pair in one run of every agent: River Swim + Button", heatmaps.visits, True),
    FigureKind("q-values", "Q of one run of every agent against Q*: River Swim + Button", heatmaps.q_values, True),
    FigureKind("environments", "every environment as a picture", environments.environments),
    FigureKind("solved", "seeds that ended optimal, as a table: problems × agents", tables.solved),
    FigureKind("steps-to-solve", "seeds solved for good by each step: all environments", curves.steps_to_solve),
    FigureKind("solving", "all runs solved for good by each part of the training budget", scores.solving),
    FigureKind("profiles", "performance profiles over all problems", scores.profiles),
    FigureKind("profiles-monitors", "performance profiles, one panel a monitor", scores.profiles_monitors),
    FigureKind("aggregates", "interquartile mean, mean, optimality gap and optimal runs", scores.aggregates),
    FigureKind("improvement", "probability that the first agent beats each other one", scores.improvement),
)

FIGURES: dict[str, FigureKind] = {kind.name: kind for kind in _KINDS}


def figure_kind(name: str) -> FigureKind:
    """The figure of a name, in any case."""
    for known, kind in FIGURES.items():
        if known.casefold() == name.casefold():
            return kind
    raise MonMDPError(f"There is no figure called {name!r}. {nearest(name, [*FIGURES, 'all'])}")
