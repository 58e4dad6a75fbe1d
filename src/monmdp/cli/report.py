"""`monmdp report`: a results folder as one page to explore."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


@dataclass(frozen=True)
class Report:
    """Write one HTML page about a results folder: overview, curves, the paper's claims, and runs from inside.

    The page is a single file that works offline, on a phone and from the keyboard.
    """

    folder: tyro.conf.Positional[Path] = Path("results")
    """The results folder."""
    out: Path | None = None
    """Where to write the page; by default report.html in the results folder."""

    def run(self, console: Console) -> None:
        """Write the page, and say where it is."""
        from monmdp.machine import readable
        from monmdp.report import write_page

        bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(),
            console=Console(stderr=True), transient=True, disable=not console.is_terminal,
        )  # fmt: skip
        with bar:
            task = bar.add_task("reading results", total=None)

            def told(what: str, done: int, total: int) -> None:
                bar.update(task, description=what, completed=done, total=total)

            place = write_page(self.folder, self.out, told)
        size = readable(place.stat().st_size)
        console.print(f"The page is {place} ({size}); open it in any browser.", soft_wrap=True, markup=False)
