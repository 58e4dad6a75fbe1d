"""Figures of a results folder, drawn by name: vector PDF, PNG, and the plotted numbers as CSV.

The same data give the same bytes.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from monmdp.errors import MonMDPError, nearest, shown
from monmdp.figures import curves, environments, heatmaps, scores, sensitivity
from monmdp.figures.data import DEFAULT_PROBLEM, Drawing, FigureData, default_problem
from monmdp.figures.style import styled
from monmdp.files import write_atomically
from monmdp.study.results import Results
from monmdp.study.store import folder_name
from monmdp.tables import csv_text

__all__ = [
    "DEFAULT_FORMATS",
    "FIGURES",
    "FORMATS",
    "FigureKind",
    "default_problem",
    "draw_figure",
    "draw_figures",
    "figure_kind",
]


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
    FigureKind("returns-observed", "greedy return over rewards observed", partial(curves.against, column="observed")),
    FigureKind("returns-paid", "greedy return over reward paid to the monitor", partial(curves.against, column="paid")),
    FigureKind("regret", "reward lost while learning: all environments", curves.regret),
    FigureKind("exploring", "fraction of exploring steps and the bound of Theorem 1", curves.exploring),
    FigureKind("beta", "β during training and its threshold: all environments", curves.beta),
    FigureKind("beta-run", f"β of one run among all seeds: {RIVER}", curves.beta_run, single=True),
    FigureKind("visits", f"visits of every pair in one run of every agent: {RIVER}", heatmaps.visits, single=True),
    FigureKind("q-values", f"Q of one run of every agent and Q*: {RIVER}", heatmaps.q_values, single=True),
    FigureKind("environments", "every environment as a picture", environments.environments),
    FigureKind("solved", "seeds that ended optimal, as a table: problems × agents", heatmaps.solved),
    FigureKind("steps-to-solve", "seeds solved permanently by each step: all environments", curves.steps_to_solve),
    FigureKind("sensitivity", "final return over the options in which variants differ", sensitivity.sensitivity),
    FigureKind(
        "sensitivity-solved",
        "seeds that ended optimal over the options in which variants differ",
        partial(sensitivity.sensitivity, solved=True),
    ),
    FigureKind("solving", "all runs solved permanently by each part of the training budget", scores.solving),
    FigureKind("profiles", "performance profiles over all problems", scores.profiles),
    FigureKind("profiles-monitors", "performance profiles by monitor", partial(scores.profiles, by_monitor=True)),
    FigureKind("aggregates", "interquartile mean, mean, optimality gap and optimal runs", scores.aggregates),
    FigureKind("improvement", "probability that the first agent beats each other one", scores.improvement),
)
FIGURES = {kind.name: kind for kind in _KINDS}

#: Metadata without a date or anything else that changes without the data.
METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": "monmdp", "Producer": None},
    "png": {"Software": None},
    "svg": {"Creator": "monmdp", "Date": None},
}
#: What is written by default, and what can be.
DEFAULT_FORMATS = ("pdf", "png", "csv")
FORMATS = (*METADATA, "csv")


def figure_kind(name: str) -> FigureKind:
    """The figure of this name, ignoring case."""
    if name.casefold() not in FIGURES:
        raise MonMDPError(f"There is no figure called {shown(name)}. {nearest(name, [*FIGURES, 'all'])}")
    return FIGURES[name.casefold()]


def draw_figure(name: str, results: Results | Path | str, out: Path | str | None = None) -> list[Path]:
    """Draw one figure into NAME.pdf, NAME.png and NAME.csv; returns their paths.

    out: a folder, by default `figures` in the results folder.
    """
    opened = results if isinstance(results, Results) else Results(results)
    [(_, drawn)] = draw_figures([name], opened, out)
    if isinstance(drawn, MonMDPError):
        raise drawn
    return drawn


def draw_figures(
    names: list[str],
    results: Results,
    out: Path | str | None = None,
    problem: tuple[str, str] | None = None,
    statistic: str = "mean",
    size: tuple[float, float | None] | None = None,
    formats: Sequence[str] = DEFAULT_FORMATS,
) -> Iterator[tuple[str, list[Path] | MonMDPError]]:
    """Draw several figures; yields each name with its paths, or with the error that explains why it cannot be drawn.

    problem: the environment and monitor of figures that show a single problem, by default that of `default_problem`.
    statistic: of curves over seeds, mean, median or iqm. size: width and height in inches; a height of None follows
    from the content.
    """
    kinds = [figure_kind(name) for name in names]
    problem = problem or default_problem(results)
    data, folder = FigureData(results, problem, statistic), results.folder / "figures" if out is None else Path(out)
    width, height = size or (None, None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MonMDPError(f"The folder {folder} cannot be created: {error.strerror}; choose one with --out.") from None
    for kind in kinds:
        outcome: list[Path] | MonMDPError
        try:
            with styled(width):
                drawing = kind.draw(data)
                if width is not None:
                    drawing.figure.set_size_inches(width, height or drawing.figure.get_figheight())
                outcome = save(drawing, folder, _stem(kind, problem), formats)
        except MonMDPError as error:
            outcome = error
        yield kind.name, outcome


def _stem(kind: FigureKind, problem: tuple[str, str]) -> str:
    """The name of the files; it includes a chosen problem."""
    if not kind.single or problem == DEFAULT_PROBLEM:
        return kind.name
    return "-".join([kind.name, *map(folder_name, problem)])


def save(drawing: Drawing, folder: Path, name: str, formats: Sequence[str]) -> list[Path]:
    """Write a figure as NAME.pdf, NAME.png, … and its numbers as NAME.csv into a folder, and return their paths."""
    contents = {}
    drawing.figure.draw_without_rendering()
    drawing.figure.set_layout_engine("none")  # the layout is computed once, for all formats
    for kind in formats:
        sink = io.BytesIO()
        if kind == "csv":
            sink.write(csv_text(drawing.columns, drawing.rows).encode())
        else:
            drawing.figure.savefig(sink, format=kind, metadata=METADATA[kind])
        contents[folder / f"{name}.{kind}"] = sink.getvalue()
    for path, content in contents.items():
        write_atomically(path, content)
    return list(contents)
