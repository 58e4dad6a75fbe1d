"""`monmdp doctor`: versions, cores, GPU, extras, cache folder and plug-ins, and whether each works."""

from __future__ import annotations

import dataclasses
import json as json_text
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.cli.health import Finding, Health

#: How a state is shown.
SIGNS = {"works": ("✓", "green"), "missing": ("–", "dim"), "broken": ("✗", "bold red")}


@dataclass(frozen=True)
class Doctor:
    """Look at everything that monmdp stands on, try each part, and say what to do about what does not work."""

    json: bool = False
    """Print one JSON object instead of tables."""

    def run(self, console: Console) -> None:
        """Examine and print; a broken core is an error."""
        with console.status("Looking at everything (the first time, kernels are compiled) …"):
            from monmdp.cli.health import examine

            health = examine()
        if self.json:
            told = {**dataclasses.asdict(health), "advice": health.advice, "core_works": health.core_works}
            print(json_text.dumps(told))
        else:
            _print(console, health)
        if not health.core_works:
            raise MonMDPError(f"The core does not work: {health.advice[0]}.")


def _print(console: Console, health: Health) -> None:
    tables = [_pairs("versions", health.versions), _pairs("machine", health.machine)]
    parts = {"core": [*health.core, *health.cache], "extras": health.extras, "plug-ins": health.plugins}
    tables += [_findings(title, findings) for title, findings in parts.items() if findings]
    for table in tables:
        console.print(table)
        console.print()
    if health.advice:
        console.print(Text.assemble(("To do: ", "bold"), "; ".join(health.advice), "."), soft_wrap=True)
        return
    absent = [finding.name for finding in health.extras if finding.state == "missing"]
    rest = f" Not in use here: {', '.join(absent)}." if absent else ""
    console.print(f"[bold green]Everything works.[/]{rest}")


def _pairs(title: str, rows: dict[str, str]) -> Table:
    table = _table(title)
    for name, told in rows.items():
        table.add_row("", name, Text(told))
    return table


def _findings(title: str, findings: list[Finding]) -> Table:
    table = _table(title)
    for finding in findings:
        sign, style = SIGNS[finding.state]
        table.add_row(Text(sign, style), finding.name, Text(finding.told, "" if finding.state == "works" else style))
    return table


def _table(title: str) -> Table:
    table = Table(title=f"[bold]{title}[/]", title_justify="left", title_style="", show_header=False, box=None)
    table.add_column(width=1)
    table.add_column(min_width=13, no_wrap=True)
    table.add_column(overflow="fold")
    return table
