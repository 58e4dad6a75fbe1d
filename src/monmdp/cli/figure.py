"""`monmdp figure`: the paper's figures, and some that it lacks, from a results folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from monmdp.errors import MonMDPError, nearest


@dataclass(frozen=True)
class Figure:
    """Draw a figure from a results folder: vector PDF, PNG, and its numbers as CSV.

    For example: monmdp figure returns results/. The name "all" draws every figure that the data allow, and
    "list" says what there is.
    """

    name: tyro.conf.Positional[str] = "list"
    """A figure, such as returns, observed, beta, visits or solved; all; or list."""
    folder: tyro.conf.Positional[Path] = Path("results")
    """The results folder."""
    out: Path | None = None
    """Where to put the files; by default the folder figures inside the results folder."""
    env: str | None = None
    """The environment of figures that show a single problem (RiverSwim by default)."""
    monitor: str | None = None
    """The monitor of figures that show a single problem (Button by default)."""

    def run(self, console: Console) -> None:
        """Draw, and say which files were written."""
        from monmdp.figures import FIGURES, draw_figures, figure_kind
        from monmdp.figures.drawing import DEFAULT_PROBLEM
        from monmdp.study.results import Results

        if self.name.casefold() == "list":
            console.print(_listed())
            return
        everything = self.name.casefold() == "all"
        kinds = list(FIGURES.values()) if everything else [figure_kind(self.name)]
        chosen = self.env is not None or self.monitor is not None
        if chosen and not any(kind.single for kind in kinds):
            single = ", ".join(kind.name for kind in FIGURES.values() if kind.single)
            raise MonMDPError(f"{kinds[0].name} shows all problems; --env and --monitor are for {single}.")
        results = Results(self.folder)
        problem = (
            DEFAULT_PROBLEM[0] if self.env is None else _known(self.env, results.environments, "environment"),
            DEFAULT_PROBLEM[1] if self.monitor is None else _known(self.monitor, results.monitors, "monitor"),
        )
        for line in results.damaged:
            console.print(line, style="yellow", soft_wrap=True, markup=False)
        drawn = 0
        for name, found in draw_figures([kind.name for kind in kinds], results, self.out, problem):
            if isinstance(found, MonMDPError):
                if not everything:
                    raise found
                console.print(f"{name} is left out: {found}", style="yellow", soft_wrap=True, markup=False)
                continue
            drawn += 1
            places = f"{found[0]} (and {', '.join(path.suffix for path in found[1:])})"
            console.print(f"{name}: {places}", soft_wrap=True, markup=False)
        if not drawn:
            raise MonMDPError(f"{self.folder} has no data for any figure.")


def _known(name: str, known: list[str], what: str) -> str:
    """A name as the results spell it, whatever its case."""
    for other in known:
        if other.casefold() == name.casefold():
            return other
    raise MonMDPError(f"The results have no {what} {name!r}. {nearest(name, known)}")


def _listed() -> Table:
    from monmdp.figures import FIGURES

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for kind in FIGURES.values():
        table.add_row(f"[bold]{kind.name}[/]", kind.description)
    table.add_row("[bold]all[/]", "every figure that the data allow")
    return table
