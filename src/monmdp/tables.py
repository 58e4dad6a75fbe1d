"""Tables as Markdown text, as CSV, and as rich tables for the terminal."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

#: Categories of characters that a terminal may obey: control, format (such as direction of writing), surrogates.
CONTROL = ("Cc", "Cf", "Cs")


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]], align: str = "") -> str:
    """A Markdown table, without a final newline. align: one letter per column, `l` or `r`; left by default."""
    rules = ["---:" if side == "r" else "---" for side in align.ljust(len(header), "l")]
    lines = [" | ".join(map(_markdown_cell, row)) for row in [header, *rows]]
    return "\n".join([f"| {lines[0]} |", f"|{'|'.join(rules)}|", *(f"| {line} |" for line in lines[1:])])


def _markdown_cell(cell: Any) -> str:
    """A cell on one line, in which names that come from files are neither columns nor HTML."""
    text = printable(str(cell)).replace("\n", " ").replace("|", r"\|")
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)


def printable(text: str) -> str:
    """Text that cannot control a terminal: control characters, except for new lines, as Python writes them."""
    return "".join(c if c == "\n" or unicodedata.category(c) not in CONTROL else repr(c)[1:-1] for c in text)


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
    plain_title = Text(printable(title), style="bold") if title else None
    table = Table(
        title=plain_title, title_justify="left", box=box, show_header=bool(header), show_lines=lines, pad_edge=False
    )
    content = [[Text(printable(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows]
    for i in range(max(len(row) for row in [header, *content])):
        table.add_column(
            Text(header[i]) if header else "", justify="right" if align[i : i + 1] == "r" else "left", overflow="fold"
        )
    for row in content:
        table.add_row(*row)
    return table
