"""Commands that read a results folder: results, report, figure, claims and export."""

from __future__ import annotations

import math
from collections import Counter
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

NAMES = ("environment", "monitor", "agent")
CLAIM_COLUMNS = ("claim", "expected", "measured", "verdict")
DETAIL_COLUMNS = ("about", "measured", "bound", "verdict")
CLAIM_CELLS, DETAIL_CELLS = attrgetter(*CLAIM_COLUMNS), attrgetter(*DETAIL_COLUMNS)
CONFIRMED, UNKNOWN = "confirmed", "not enough data"
VERDICTS = {CONFIRMED: "green", "not confirmed": "red", UNKNOWN: "yellow"}
#: Longer names are shown without their options in a terminal, and with them below the table.
LONG_NAME = 30
VIEWERS = {"tensorboard": "tensorboard --logdir {out}", "wandb": "wandb sync {out}/wandb/offline-run-*"}


@dataclass(frozen=True)
class Results(Command):
    """Show the final return of every agent in a results folder.

    The return is the mean over runs ± its 95% interval. Names show the options that differ in this folder, long ones
    below the table; columns that would have one value are in the title.

    Examples: monmdp results results --out table.csv
              monmdp results results --verify
    """

    folder: Folder = Path("results")
    verify: Flag = False  # Read every file completely and check it; exit code 2 if any is damaged.
    compact: Flag = False  # Merge the files of each problem and agent into one.
    out: Annotated[Path | None, option("none", metavar="FILE")] = None
    """File for the table: .md, or .csv with full names, all digits and a column for each option that differs."""
    json: Json = False

    def run(self, console: Console) -> None:
        from monmdp.machine import readable
        from monmdp.study import results as study
        from monmdp.study.store import Store

        shared.check_file(self.out, ".csv", ".md")
        messages = shared.new_console(stderr=True) if self.json else console
        if self.compact:
            before, after = study.compact(self.folder)
            print_line(messages, f"Merged {plural(before, 'file')} into {after}.")
        results = study.Results(self.folder, required=self.out is not None)
        if self.verify:
            _verify(results, messages)
        chosen = [cell for problem in results.problems for cell in results.of_problem(*problem)]
        with ThreadPoolExecutor() as pool:  # each cell is a file or several
            cells = list(pool.map(_summary, chosen))
        runs = sum(cell["runs"] for cell in cells)
        size = sum(path.stat().st_size for path in Store(self.folder).files(".parquet") if path.is_file())
        labels = [[results.labels[name] for name in (cell.environment, cell.monitor, cell.agent)] for cell in chosen]
        header, rows, common = _table(cells, labels)
        align = "".join("l" if name in NAMES else "r" for name in header)
        if self.json:
            print_json({"runs": runs, "bytes": size, "cells": cells, "damaged": results.damaged})
        else:
            title = ", ".join([f"{self.folder}: {plural(runs, 'run')}", readable(size), *common])
            brief = _brief({name for names in labels for name in names})
            console.print(terminal(header, [[brief.get(cell, cell) for cell in row] for row in rows], title, align))
            for name, short in brief.items():
                print_line(console, f"{short}: {name}")
            print_warnings(console, results.damaged)
        if self.out is not None:
            options = [[values[cell.identity] for values in results.options.values()] for cell in chosen]
            full = [[*cell.values(), *values] for cell, values in zip(cells, options, strict=True)]
            csv = self.out.suffix == ".csv"
            text = csv_text([*cells[0], *results.options], full) if csv else markdown(header, rows, align) + "\n"
            shared.write_file(self.out, text.encode())
            print_line(messages, f"Table written to {self.out}.")


def _summary(cell: CellResults) -> dict[str, Any]:
    """Names, settings and outcome of a cell; None where that is not known, as for one run's interval."""
    names = {key: cell.settings[key] for key in (*NAMES, "steps")}
    final, half = float(cell.final_returns.mean()), cell.final_return_ci
    return {
        **names,
        "runs": len(cell.seeds),
        "final_return": None if math.isnan(final) else final,
        "final_return_ci": None if math.isnan(half) else half,
        "optimal_return": None if math.isnan(cell.optimal_return) else cell.optimal_return,
        "solved": float(cell.solved.mean()) if cell.compared else None,
        "cell": cell.identity,
    }


def _table(cells: list[dict[str, Any]], labels: list[list[str]]) -> tuple[list[str], list[list[str]], list[str]]:
    """Header and rows for readers, and what all rows would share: environment, monitor, steps or seeds."""
    settings = [[*names, f"{cell['steps']:,}", str(cell["runs"])] for cell, names in zip(cells, labels, strict=True)]
    header = [*NAMES, "steps", "seeds"]
    shown = [i for i, name in enumerate(header) if name == "agent" or len({row[i] for row in settings}) != 1]
    common = [f"{name} {settings[0][i]}" for i, name in enumerate(header) if i not in shown]
    rows = []
    for cell, row in zip(cells, settings, strict=True):
        mean, half, solved = cell["final_return"], cell["final_return_ci"], cell["solved"]
        digits = 3 if mean is None or abs(mean) < 100.0 else 1
        outcome = " ± ".join(f"{value:.{digits}f}" for value in (mean, half) if value is not None)
        rows.append([*(row[i] for i in shown), outcome or "–", "–" if solved is None else f"{solved:.0%}"])
    header = [*(header[i] for i in shown), "return ± 95%", "solved"]
    if all(cell["solved"] is None for cell in cells):
        header, rows = header[:-1], [row[:-1] for row in rows]
    return header, rows, common


def _brief(names: set[str]) -> dict[str, str]:
    """Long names → the same without options, where that says which one is meant."""
    brief = {name: name.partition("(")[0] for name in sorted(names) if "(" in name}
    count = Counter([*brief.values(), *names])
    return {name: short for name, short in brief.items() if len(name) > LONG_NAME and count[short] == 1}


def _verify(results: StoredResults, messages: Console) -> None:
    """Report the files that were read; damaged ones are moved away, so that reproduce repeats their runs."""
    from monmdp.files import WriteError
    from monmdp.study.store import Store

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
              monmdp figure returns results --agents UCB --size 7x4 --statistic iqm
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
    agents: Annotated[str | None, option("all", metavar="NAMES")] = None
    """Agents to show, separated by commas; a class such as Directed stands for its variants."""
    statistic: Literal["mean", "median", "iqm"] = "mean"
    """Of curves over seeds, with its 95% interval; iqm is the interquartile mean, of the middle half of the seeds."""
    size: Annotated[str | None, option("5.5, the width of a paper's text", metavar="INCHES")] = None
    """Width, such as 7, or width and height, such as 7x4."""
    format: Annotated[str, option(metavar="NAMES")] = "pdf,png,csv"
    """Files to write, separated by commas: pdf, png, svg, and csv for the numbers."""

    def run(self, console: Console) -> None:
        from monmdp.figures import FIGURES, FORMATS, default_problem, draw_figures, figure_kind
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
        formats = [text.lower().lstrip(".") for text in shared.split(self.format) or ()]
        if not formats or not {*formats} <= {*FORMATS}:
            raise MonMDPError(f"Figures are written as {', '.join(FORMATS)}, not as {shown(self.format)}.")
        size = None if self.size is None else _inches(self.size)
        results = StoredResults(self.folder)
        if (agents := shared.split(self.agents)) is not None:
            results = results.only(agents)
        environment, monitor = default_problem(results)
        if self.env is not None:
            environment = results.environments[check.find(self.env, results.environments, "environment", "The folder")]
        if self.monitor is not None:
            monitor = results.monitors[check.find(self.monitor, results.monitors, "monitor", "The folder")]
        print_warnings(console, results.damaged)
        n_drawn = 0
        names, problem = [kind.name for kind in kinds], (environment, monitor)
        for drawn, files in draw_figures(names, results, self.out, problem, self.statistic, size, formats):
            if not isinstance(files, MonMDPError):
                n_drawn += 1
                others = ", ".join(path.suffix for path in files[1:])
                print_line(console, f"{drawn}: {files[0]}" + (f" (and {others})" if others else ""))
            elif name == "all":
                print_line(console, f"{drawn} is left out: {files}", "yellow")
            else:
                raise files
        if not n_drawn:
            raise MonMDPError(f"{self.folder} has no data for any figure.")


def _inches(text: str) -> tuple[float, float | None]:
    """`7` → a width, `7x4` → a width and a height, in inches."""
    try:
        width, height = (float(part) if part else None for part in text.lower().partition("x")[::2])
    except ValueError:
        width = height = None
    if width is None or not all(1.0 <= inches <= 40.0 for inches in (width, height or 1.0)):
        raise MonMDPError(
            f"The size is a width in inches from 1 to 40, such as 7, or 7x4 with a height, not {shown(text)}."
        )
    return width, height


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
                print_line(console, "Details: --claim NUMBER for one claim, --details for all.")
        if not self.json and self.claim is None:
            print_line(console, _verdict(claims, self.folder), "bold")
        print_warnings(messages, results.damaged)
        shared.write_file(out, _as_text(claims, out.suffix, self.details).encode())
        print_line(messages if self.json else console, f"Written to {out}.")


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
