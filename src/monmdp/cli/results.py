"""Commands that read a results folder: results, report, figure, claims and export."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rich.console import Console
from rich.text import Text
from tyro.conf import Positional, arg

from monmdp import check
from monmdp.cli import shared
from monmdp.cli.shared import Command, Flag, Folder, Json, option, print_json, print_line, print_warnings, progress
from monmdp.errors import MonMDPError, plural, shown
from monmdp.tables import csv_text, markdown, terminal

if TYPE_CHECKING:
    from monmdp.paper.evidence import Claim
    from monmdp.study.results import CellResults
    from monmdp.study.results import Results as StoredResults

RUN_COLUMNS = ("environment", "monitor", "agent", "steps", "runs", "solved")
CLAIM_COLUMNS = ("claim", "expected", "measured", "verdict")
DETAIL_COLUMNS = ("about", "measured", "bound", "verdict")
CLAIM_CELLS, DETAIL_CELLS = attrgetter(*CLAIM_COLUMNS), attrgetter(*DETAIL_COLUMNS)
CONFIRMED, UNKNOWN = "confirmed", "not enough data"
VERDICTS = {CONFIRMED: "green", "not confirmed": "red", UNKNOWN: "yellow"}
VIEWERS = {"tensorboard": "tensorboard --logdir {out}", "wandb": "wandb sync {out}/wandb/offline-run-*"}


@dataclass(frozen=True)
class Results(Command):
    """List the runs of a results folder; verify or merge its files.

    Example: monmdp results results --verify
    """

    folder: Folder = Path("results")
    verify: Flag = False  # Read every file completely and check it; exit code 2 if any is damaged.
    compact: Flag = False  # Merge the files of each problem and agent into one.
    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp.machine import readable
        from monmdp.study import results as study
        from monmdp.study.store import Store

        messages = shared.new_console(stderr=True) if self.json else console
        if self.compact:
            before, after = study.compact(self.folder)
            print_line(messages, f"Merged {plural(before, 'file')} into {after}.")
        results = study.Results(self.folder, required=False)
        if self.verify:
            _verify(results, messages)
        with ThreadPoolExecutor() as pool:  # each cell is a file or several
            cells = list(pool.map(_summary, results.cells.values()))
        runs = sum(cell["runs"] for cell in cells)
        size = sum(path.stat().st_size for path in Store(self.folder).files(".parquet") if path.is_file())
        if self.json:
            print_json({"runs": runs, "bytes": size, "cells": cells, "damaged": results.damaged})
            return
        rows = [[*(str(cell[name]) for name in RUN_COLUMNS[:-1]), f"{cell['solved']:.0%}"] for cell in cells]
        console.print(terminal(RUN_COLUMNS, rows, f"{self.folder}: {plural(runs, 'run')}, {readable(size)}", "lllrrr"))
        print_warnings(console, results.damaged)


def _summary(cell: CellResults) -> dict[str, Any]:
    """Names, steps and number of runs of a cell, and the fraction that ended with the target return."""
    names = {key: cell.settings[key] for key in ("environment", "monitor", "agent", "steps")}
    return {**names, "cell": cell.identity, "runs": len(cell.seeds), "solved": float(cell.solved.mean())}


def _verify(results: StoredResults, messages: Console) -> None:
    """Report the files that were read; damaged ones are moved away, so that reproduce repeats their runs."""
    from monmdp.study.store import Store, WriteError

    intact = sum(len(entries) for kinds in results.files.values() for entries in kinds.values())
    for path, message in results.damage.items():
        try:
            fate = f"It is now {Store(results.folder).quarantine(path)}."
        except WriteError as error:
            fate = str(error)
        print_line(messages, f"{message} {fate}")
    if damaged := len(results.damage):
        total = plural(intact + damaged, "file")
        raise MonMDPError(f"Damaged: {damaged} of {total}; monmdp reproduce repeats their runs.")
    print_line(messages, f"Every file is intact: {plural(intact, 'file')}.")


@dataclass(frozen=True)
class Report(Command):
    """Write a results folder as one HTML page to explore.

    One file that works offline, with curves, claims and single runs.

    Example: monmdp report results --out report.html
    """

    folder: Folder = Path("results")
    out: Annotated[Path | None, option("report.html in the results folder", metavar="FILE")] = None
    """The file to write."""

    def run(self, console: Console) -> None:
        from monmdp.machine import readable
        from monmdp.report import write_page

        shared.check_file(self.out, ".html", ".htm")
        with progress("reading results") as update:
            page = write_page(self.folder, self.out, lambda part, done, total: update(done, total, part))
        print_line(console, f"The page is {page} ({readable(page.stat().st_size)}); open it in any browser.")


@dataclass(frozen=True)
class Figure(Command):
    """Draw figures from a results folder: PDF, PNG and CSV.

    Examples: monmdp figure list
              monmdp figure returns results
              monmdp figure all results
    """

    name: Annotated[Positional[str], arg(metavar="[NAME]")] = "list"
    """A figure such as returns or solved; all for every figure that the data allow; list for their names."""
    folder: Folder = Path("results")
    out: Annotated[Path | None, option("figures in the results folder", metavar="FOLDER")] = None
    """Folder for the files."""
    env: Annotated[str | None, option("RiverSwim", metavar="ENVIRONMENT")] = None
    """Environment, for figures that show one problem."""
    monitor: Annotated[str | None, option("Button", metavar="MONITOR")] = None
    """Monitor, for figures that show one problem."""

    def run(self, console: Console) -> None:
        from monmdp.figures import DEFAULT_PROBLEM, FIGURES, draw_figures, figure_kind
        from monmdp.study.results import Results as StoredResults

        name = self.name.casefold()
        if name == "list":
            rows = [(kind.name, kind.description) for kind in FIGURES.values()]
            console.print(terminal((), [*rows, ("all", "every figure that the data allow")]))
            return
        kinds = list(FIGURES.values()) if name == "all" else [figure_kind(name)]
        if (self.env or self.monitor) and not any(kind.single for kind in kinds):
            single = ", ".join(kind.name for kind in FIGURES.values() if kind.single)
            raise MonMDPError(f"{kinds[0].name} shows all problems; --env and --monitor are for {single}.")
        results = StoredResults(self.folder)
        environment, monitor = DEFAULT_PROBLEM
        if self.env is not None:
            environment = results.environments[check.find(self.env, results.environments, "environment", "The folder")]
        if self.monitor is not None:
            monitor = results.monitors[check.find(self.monitor, results.monitors, "monitor", "The folder")]
        print_warnings(console, results.damaged)
        n_drawn = 0
        for drawn, files in draw_figures([kind.name for kind in kinds], results, self.out, (environment, monitor)):
            if not isinstance(files, MonMDPError):
                n_drawn += 1
                print_line(console, f"{drawn}: {files[0]} (and {', '.join(path.suffix for path in files[1:])})")
            elif name == "all":
                print_line(console, f"{drawn} is left out: {files}", "yellow")
            else:
                raise files
        if not n_drawn:
            raise MonMDPError(f"{self.folder} has no data for any figure.")


@dataclass(frozen=True)
class Claims(Command):
    """Check the paper's claims against the runs of a results folder.

    Claims that these runs cannot check are only counted.

    Examples: monmdp claims results
              monmdp claims results --claim 4
    """

    folder: Folder = Path("results")
    claim: Annotated[str | None, option("all", metavar="CLAIM")] = None
    """Show one claim with the result for every problem: its number, or some of its words."""
    details: Flag = False  # Show and write the result of every claim for every problem.
    out: Annotated[Path | None, option("claims.md in the results folder", metavar="FILE")] = None
    """The file to write, .md or .csv; it has all claims."""
    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp.paper.claims import check_claims
        from monmdp.study.results import Results as StoredResults

        out = self.folder / "claims.md" if self.out is None else self.out
        if out.suffix not in (".md", ".csv"):
            raise MonMDPError(f"{out} must end in .md or .csv.")
        results, messages = StoredResults(self.folder), shared.new_console(stderr=True)
        with messages.status("checking claims …"):
            claims = check_claims(results)
        counts = {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}
        chosen = _chosen(claims, self.claim)
        if self.json:
            print_json({**counts, "claims": [_as_json(claim) for claim in chosen], "damaged": results.damaged})
        elif self.details or self.claim is not None:
            for claim in chosen:
                _print_claim(console, claims.index(claim) + 1, claim)
        else:
            rows = [
                (f"{number}", Text(claim.verdict, VERDICTS[claim.verdict]), claim.claim)
                for number, claim in enumerate(claims, 1)
                if claim.verdict != UNKNOWN
            ]
            if rows:
                console.print(terminal((), rows, f"The paper's claims in {self.folder}", "r"), "")
        print_warnings(messages, results.damaged)
        shared.write_file(out, _as_text(claims, out.suffix, self.details).encode())
        print_line(messages if self.json else console, f"Written to {out}.")
        if not self.json and self.claim is None:
            if not self.details:
                print_line(console, "Details: --claim NUMBER for one claim, --details for all.")
            print_line(console, _verdict(claims, self.folder), "bold")


def _chosen(claims: list[Claim], name: str | None) -> list[Claim]:
    """The claim with a number or with some words; all claims for None."""
    if name is None:
        return claims
    if name.isdecimal() and 1 <= int(name) <= len(claims):
        return [claims[int(name) - 1]]
    matches = [claim for claim in claims if name.casefold() in claim.claim.casefold()]
    if not matches:
        raise MonMDPError(f"No claim is called {shown(name)}; give a number from 1 to {len(claims)} or some words.")
    return matches


def _print_claim(console: Console, number: int, claim: Claim) -> None:
    """A claim, what was expected and measured, and the result for every problem."""
    facts = [*zip(CLAIM_COLUMNS[1:3], CLAIM_CELLS(claim)[1:3], strict=True)]
    facts.append(("verdict", Text(claim.verdict, VERDICTS[claim.verdict])))
    details = [_with_colour(DETAIL_CELLS(detail)) for detail in claim.details]
    console.print(terminal((), facts, f"{number}  {claim.claim}"), terminal(DETAIL_COLUMNS, details), "")


def _verdict(claims: list[Claim], folder: Path) -> str:
    """How many claims hold of those that the runs of a folder can check, and how to check the others."""
    checked = [claim for claim in claims if claim.verdict != UNKNOWN]
    lacking = sum(claim.lacks_runs for claim in claims if claim not in checked)
    rest = [f"--claim {i}" for i, claim in enumerate(claims, 1) if claim not in checked and not claim.lacks_runs]
    hold = sum(claim.verdict == CONFIRMED for claim in checked)
    lines = [f"{hold} of {plural(len(checked), 'claim')} that these runs can check {'holds' if hold == 1 else 'hold'}."]
    if not checked:
        lines = [f"These runs are not enough to check any of the paper's {len(claims)} claims."]
    if lacking:
        need = "needs" if lacking == 1 else "need"
        lines.append(f"{plural(lacking, 'claim')} {need} more runs: monmdp reproduce --preset paper --out {folder}")
    if rest:
        lines.append(f"{plural(len(rest), 'claim')} without an answer; for the reason: {', '.join(rest)}")
    return "\n".join(lines)


def _as_json(claim: Claim) -> dict[str, object]:
    details = [dict(zip(DETAIL_COLUMNS, DETAIL_CELLS(detail), strict=True)) for detail in claim.details]
    return {**dict(zip(CLAIM_COLUMNS, CLAIM_CELLS(claim), strict=True)), "details": details}


def _with_colour(cells: Sequence[str]) -> list[str | Text]:
    """The cells of a claim or detail; the last one, the verdict, has its colour."""
    return [*cells[:-1], Text(cells[-1], VERDICTS[cells[-1]])]


def _as_text(claims: list[Claim], suffix: str, details: bool) -> str:
    """One row per claim; with details, one row per claim and problem (.csv) or further tables (.md)."""
    if suffix == ".md":
        text = markdown(CLAIM_COLUMNS, map(CLAIM_CELLS, claims)) + "\n"
        for claim in claims if details else ():
            table = markdown(DETAIL_COLUMNS, map(DETAIL_CELLS, claim.details))
            text += f"\n## {claim.claim}\n\nExpected: {claim.expected}.\n\n{table}\n"
        return text
    if details:
        rows = [(claim.claim, *DETAIL_CELLS(detail)) for claim in claims for detail in claim.details]
        return csv_text(("claim", *DETAIL_COLUMNS), rows)
    return csv_text(CLAIM_COLUMNS, map(CLAIM_CELLS, claims))


@dataclass(frozen=True)
class Export(Command):
    """Export results to TensorBoard or Weights & Biases.

    Runs are written as event files or offline runs; nothing is uploaded.

    Example: monmdp export results --to tensorboard --out events
    """

    folder: Folder = Path("results")
    to: Literal["tensorboard", "wandb"] = "tensorboard"  # The format.
    out: Annotated[Path, option(metavar="FOLDER")] = Path("exported")  # A new folder for the files.
    average: Flag = False  # One run per problem and agent, the mean of its seeds, instead of one run per seed.
    points: Annotated[int | None, option("all", metavar="N")] = None  # Largest number of recording points per run.

    def run(self, console: Console) -> None:
        from monmdp.study.export import to_tensorboard, to_wandb

        write = to_tensorboard if self.to == "tensorboard" else to_wandb
        with progress("writing runs") as update:
            runs = write(self.folder, self.out, self.average, self.points, progress=update)
        view = VIEWERS[self.to].format(out=self.out)
        print_line(console, f"Written to {self.out}: {plural(runs, 'run')}; view with: {view}")
