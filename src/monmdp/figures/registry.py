"""All figures: name, description, and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from monmdp.errors import MonMDPError, nearest
from monmdp.figures import curves, environments, heatmaps, scores
from monmdp.figures.data import Drawing, FigureData


@dataclass(frozen=True)
class FigureKind:
    """A figure of a results folder; `draw` raises a `MonMDPError` where data are missing.

    single: it shows a single problem, which can be chosen.
    """

    name: str
    description: str
    draw: Callable[[FigureData], Drawing]
    single: bool = False


RIVER = "River Swim + Button"
_KINDS = (
    FigureKind("returns", "greedy return during training: main environments", partial(curves.returns, main=True)),
    FigureKind("returns-all", "greedy return during training: all environments", curves.returns),
    FigureKind("observed", "rewards observed during training: main environments", partial(curves.observed, main=True)),
    FigureKind("observed-all", "rewards observed during training: all environments", curves.observed),
    FigureKind("beta", "β during training and its threshold: all environments", curves.beta),
    FigureKind("beta-run", f"β of one run among all seeds: {RIVER}", curves.beta_run, single=True),
    FigureKind("visits", f"visits of every pair in one run of every agent: {RIVER}", heatmaps.visits, single=True),
    FigureKind("q-values", f"Q of one run of every agent and Q*: {RIVER}", heatmaps.q_values, single=True),
    FigureKind("environments", "every environment as a picture", environments.environments),
    FigureKind("solved", "seeds that ended optimal, as a table: problems × agents", heatmaps.solved),
    FigureKind("steps-to-solve", "seeds solved permanently by each step: all environments", curves.steps_to_solve),
    FigureKind("solving", "all runs solved permanently by each part of the training budget", scores.solving),
    FigureKind("profiles", "performance profiles over all problems", scores.profiles),
    FigureKind("profiles-monitors", "performance profiles, one panel per monitor", scores.profiles_monitors),
    FigureKind("aggregates", "interquartile mean, mean, optimality gap and optimal runs", scores.aggregates),
    FigureKind("improvement", "probability that the first agent beats each other one", scores.improvement),
)

FIGURES: dict[str, FigureKind] = {kind.name: kind for kind in _KINDS}


def figure_kind(name: str) -> FigureKind:
    """The figure of this name, ignoring case."""
    for known, kind in FIGURES.items():
        if known.casefold() == name.casefold():
            return kind
    raise MonMDPError(f"There is no figure called {name!r}. {nearest(name, [*FIGURES, 'all'])}")
