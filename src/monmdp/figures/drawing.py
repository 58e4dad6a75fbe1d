"""Draw figures of a results folder into files, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from monmdp.errors import MonMDPError
from monmdp.figures.data import DEFAULT_PROBLEM as DEFAULT_PROBLEM
from monmdp.figures.data import FigureData
from monmdp.figures.registry import FigureKind, figure_kind
from monmdp.figures.saving import save
from monmdp.figures.style import styled
from monmdp.study.results import Results


def draw_figure(name: str, results: Results | Path | str, out: Path | str | None = None) -> list[Path]:
    """Draw one figure into NAME.pdf, NAME.png and NAME.csv; returns their paths.

    out: a folder, by default `figures` in the results folder.
    """
    kind = figure_kind(name)
    opened = results if isinstance(results, Results) else Results(results)
    return _draw(kind, FigureData(opened), _folder(opened, out))


def draw_figures(
    names: list[str],
    results: Results,
    out: Path | str | None = None,
    problem: tuple[str, str] = DEFAULT_PROBLEM,
) -> Iterator[tuple[str, list[Path] | MonMDPError]]:
    """Draw several figures; yields each name with its paths, or with the error that explains why it cannot be drawn.

    problem: the environment and monitor of figures that show a single problem.
    """
    kinds = [figure_kind(name) for name in names]
    data, folder = FigureData(results, problem), _folder(results, out)
    for kind in kinds:
        try:
            yield kind.name, _draw(kind, data, folder)
        except MonMDPError as error:
            yield kind.name, error


def _folder(results: Results, out: Path | str | None) -> Path:
    folder = results.folder / "figures" if out is None else Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MonMDPError(
            f"The folder {folder} cannot be created: {error.strerror}; choose another with --out."
        ) from None
    return folder


def _draw(kind: FigureKind, data: FigureData, folder: Path) -> list[Path]:
    with styled():
        return save(kind.draw(data), folder, _stem(kind, data))


def _stem(kind: FigureKind, data: FigureData) -> str:
    """The name of the files; it includes a chosen problem."""
    if not kind.single or data.problem == DEFAULT_PROBLEM:
        return kind.name
    chosen = "-".join(re.sub(r"[^\w.+-]+", "_", name).strip("_")[:60] for name in data.problem)
    return f"{kind.name}-{chosen}"
