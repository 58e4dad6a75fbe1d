"""Drawings as files: vector PDF, PNG, and the numbers as CSV; the same data give the same bytes."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monmdp.errors import MonMDPError
from monmdp.study.store import write_aside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 220
#: Metadata without a date or anything else that changes without the data.
METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Creator": "monmdp", "Producer": None},
    "png": {"Software": None},
}


@dataclass(frozen=True, eq=False)
class Drawing:
    """A figure and its numbers: names of columns, and rows."""

    figure: Figure
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def save(drawing: Drawing, folder: Path, name: str) -> list[Path]:
    """Write NAME.pdf, NAME.png and NAME.csv into a folder, and return their paths."""
    contents = {"csv": csv_text(drawing.columns, drawing.rows).encode()}
    for kind, metadata in METADATA.items():
        sink = io.BytesIO()
        drawing.figure.savefig(sink, format=kind, dpi=DPI, metadata=metadata)
        contents[kind] = sink.getvalue()
    paths = []
    for kind in ("pdf", "png", "csv"):
        path = folder / f"{name}.{kind}"
        try:
            write_aside(path, contents[kind])
        except OSError as error:
            raise MonMDPError(f"{path} cannot be written: {error.strerror}.") from None
        paths.append(path)
    return paths


def csv_text(columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    """Rows as CSV with numbers at full precision; NaN is an empty field."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        [["" if isinstance(value, float) and math.isnan(value) else value for value in row] for row in rows]
    )
    return sink.getvalue()
