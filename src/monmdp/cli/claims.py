"""`monmdp claims`: what the paper claims, next to what the runs of a folder say."""

from __future__ import annotations

import csv
import json as json_text
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.box import HORIZONTALS, SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.paper.claims import Claim

COLOURS = {"confirmed": "green", "not confirmed": "red", "not enough data": "yellow"}
COLUMNS = ("claim", "expected", "measured", "verdict")
DETAIL_COLUMNS = ("about", "measured", "bound", "verdict")


@dataclass(frozen=True)
class Claims:
    """Check the paper's claims against the runs of a results folder, and write the answers as a table."""

    folder: tyro.conf.Positional[Path] = Path("results")
    """The results folder."""
    out: Path | None = None
    """Where to write the table, .md or .csv; by default claims.md in the results folder."""
    details: bool = False
    """Show and write the answer for every single problem, too."""
    json: bool = False
    """Print one JSON object, with all details, instead of a table."""

    def run(self, console: Console) -> None:
        """Print every claim with what was measured."""
        from monmdp.paper.claims import check_claims
        from monmdp.study.results import Results

        out = self.folder / "claims.md" if self.out is None else self.out
        if out.suffix not in WRITERS:
            raise MonMDPError(f"The table is written as {' or '.join(WRITERS)}, so {out} cannot be its name.")
        results = Results(self.folder)
        talk = Console(stderr=True, highlight=False)
        with talk.status("checking claims …"):
            found = check_claims(results)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            WRITERS[out.suffix](out, found, self.details)
        except OSError as error:
            raise MonMDPError(f"{out} cannot be written: {error.strerror}; choose another place with --out.") from None
        if self.json:
            counts = {verdict: sum(claim.verdict == verdict for claim in found) for verdict in COLOURS}
            print(json_text.dumps({**counts, "claims": [_plain(claim) for claim in found], "damaged": results.damaged}))
        else:
            _print(console, self.folder, found, self.details)
        for line in results.damaged:
            talk.print(line, style="yellow", soft_wrap=True, markup=False)
        (talk if self.json else console).print(f"Written to {out}.", soft_wrap=True, markup=False)


def _plain(claim: Claim) -> dict[str, object]:
    details = [{column: getattr(row, column) for column in DETAIL_COLUMNS} for row in claim.details]
    return {**{column: getattr(claim, column) for column in COLUMNS}, "details": details}


def _print(console: Console, folder: Path, claims: list[Claim], details: bool) -> None:
    table = Table(
        title=escape(f"The paper's claims in {folder}"), box=HORIZONTALS, title_justify="left", show_lines=True
    )
    for column in COLUMNS:
        table.add_column(column, ratio=None if column == "verdict" else 1, width=13 if column == "verdict" else None)
    for claim in claims:
        told = [escape(getattr(claim, column)) for column in COLUMNS[:-1]]
        table.add_row(*told, f"[{COLOURS[claim.verdict]}]{claim.verdict}[/]")
    console.print(table)
    for claim in claims if details else ():
        rows = Table(title=escape(claim.claim), box=SIMPLE_HEAD, title_justify="left")
        for column in DETAIL_COLUMNS:
            rows.add_column(column)
        for row in claim.details:
            told = [escape(getattr(row, column)) for column in DETAIL_COLUMNS[:-1]]
            rows.add_row(*told, f"[{COLOURS[row.verdict]}]{row.verdict}[/]")
        console.print(rows)
    counts = [f"{sum(claim.verdict == verdict for claim in claims)} {verdict}" for verdict in COLOURS]
    console.print(f"{', '.join(counts)}.")


def _write_markdown(path: Path, claims: list[Claim], details: bool) -> None:
    lines = markdown(COLUMNS, [[getattr(claim, column) for column in COLUMNS] for claim in claims])
    for claim in claims if details else ():
        rows = [[getattr(row, column) for column in DETAIL_COLUMNS] for row in claim.details]
        lines += ["", f"## {claim.claim}", "", f"Expected: {claim.expected}.", "", *markdown(DETAIL_COLUMNS, rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def markdown(header: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    """The lines of a Markdown table."""
    escaped = [[cell.replace("|", r"\|") for cell in row] for row in [list(header), *rows]]
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    return [lines[0], "|---" * len(header) + "|", *lines[1:]]


def _write_csv(path: Path, claims: list[Claim], details: bool) -> None:
    """One row a claim; with details one row an answer."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        if not details:
            table.writerow(COLUMNS)
            table.writerows([getattr(claim, column) for column in COLUMNS] for claim in claims)
            return
        table.writerow(("claim", *DETAIL_COLUMNS))
        for claim in claims:
            table.writerows(
                [claim.claim, *(getattr(row, column) for column in DETAIL_COLUMNS)] for row in claim.details
            )


WRITERS = {".md": _write_markdown, ".csv": _write_csv}
