"""From a results folder to files: one figure by name, or all that the data allow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from monmdp.errors import MonMDPError
from monmdp.figures.data import FigureData
from monmdp.figures.registry import FigureKind, figure_kind
from monmdp.figures.saving import save
from monmdp.figures.style import styled
from monmdp.study.results import Results

DEFAULT_PROBLEM = ("RiverSwim", "Button")


def draw_figure(name: str, results: Results | Path | str, out: Path | str | None = None) -> list[Path]:
    """Draw one figure into NAME.pdf, NAME.png and NAME.csv; returns their paths.

    out: a folder, by default `figures` in the results folder.
    """
    kind = figure_kind(name)
    found = results if isinstance(results, Results) else Results(results)
    return _drawn(kind, FigureData(found), _folder(found, out))


def draw_figures(
    names: list[str],
    results: Results,
    out: Path | str | None = None,
    problem: tuple[str, str] = DEFAULT_PROBLEM,
) -> Iterator[tuple[str, list[Path] | MonMDPError]]:
    """Draw several figures: name, and its paths or the sentence why it cannot be drawn.

    problem: the environment and monitor that figures of a single problem show.
    """
    kinds = [figure_kind(name) for name in names]
    data, folder = FigureData(results, problem), _folder(results, out)
    for kind in kinds:
        try:
            yield kind.name, _drawn(kind, data, folder)
        except MonMDPError as error:
            yield kind.name, error


def _folder(results: Results, out: Path | str | None) -> Path:
    folder = results.folder / "figures" if out is None else Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MonMDPError(f"The folder {folder} cannot be made: {error.strerror}; choose another with --out.") from None
    return folder


def _drawn(kind: FigureKind, data: FigureData, folder: Path) -> list[Path]:
    with styled():
        return save(kind.draw(data), folder, _stem(kind, data))


def _stem(kind: FigureKind, data: FigureData) -> str:
    """The name of the files; a problem that was chosen is part of it."""
    if not kind.single or data.problem == DEFAULT_PROBLEM:
        return kind.name
    chosen = "-".join(re.sub(r"[^\w.+-]+", "_", name).strip("_")[:60] for name in data.problem)
    return f"{kind.name}-{chosen}"
