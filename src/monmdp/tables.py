"""Tables as Markdown text, as CSV, and as rich tables for the terminal."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]], align: str = "") -> str:
    """A Markdown table, without a final newline. align: one letter per column, `l` or `r`; left by default."""
    rules = ["---:" if side == "r" else "---" for side in align.ljust(len(header), "l")]
    lines = [" | ".join(str(cell).replace("|", r"\|") for cell in row) for row in [header, *rows]]
    return "\n".join([f"| {lines[0]} |", f"|{'|'.join(rules)}|", *(f"| {line} |" for line in lines[1:])])


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as CSV with numbers at full precision; NaN is an empty field."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in row] for row in rows)
    return sink.getvalue()


def terminal(
    header: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "", align: str = "", lines: bool = False
) -> Table:
    """A rich table; without a header, rows only.

    Strings are shown as they are, without markup; other cells are rich renderables, such as `Text(text, style)`.
    align: one letter per column, `l` or `r`; lines: whether a rule separates the rows.
    """
    from rich.box import HORIZONTALS, SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    box = HORIZONTALS if lines else SIMPLE_HEAD if header else None
    plain_title = Text(title, style="bold") if title else None
    table = Table(
        title=plain_title, title_justify="left", box=box, show_header=bool(header), show_lines=lines, pad_edge=False
    )
    content = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    for i in range(max(len(row) for row in [header, *content])):
        table.add_column(Text(header[i]) if header else "", justify="right" if align[i : i + 1] == "r" else "left")
    for row in content:
        table.add_row(*row)
    return table
