"""Results as Parquet files that appear whole or not at all, and describe themselves.

    results/monmdp.json                                 format of the folder
    results/curves/Empty/Ask/Directed/<name>.parquet    one row per run and point
    results/tables/Empty/Ask/Directed/<name>.parquet    one row per run: N, Q, R̂, final and optimal return

A name consists of hashes of the settings, of the seeds and of the file's bytes, so that any damage is detected. The
tables of some seeds are written first and their curves last; a run counts when both are there.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError, nearest
from monmdp.training.curves import Curves
from monmdp.training.job import identity
from monmdp.training.metrics import METRICS

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
KINDS = ("curves", "tables")
LABELS = ("environment", "monitor", "agent")
_METADATA = b"monmdp"
#: Encodings of columns in which few values repeat; all others but lists get a dictionary.
_ENCODINGS = dict.fromkeys(("seed", "step"), "DELTA_BINARY_PACKED") | {
    metric.column: "DELTA_BINARY_PACKED" if metric.dtype is np.int64 else "BYTE_STREAM_SPLIT"
    for metric in METRICS
    if not metric.repeats
}
_LISTS = ("visit_counts", "q", "reward_model")


class WriteError(MonMDPError):
    """A file that could not be written, such as on a full disk."""


class DamagedFileError(MonMDPError):
    """A file that cannot be trusted."""


@dataclass(frozen=True)
class Entry:
    """The description in a result file: the settings of its runs, their identity, and the seeds."""

    path: Path
    identity: str
    settings: dict[str, Any]
    seeds: tuple[int, ...]


class Store:
    """A results folder."""

    def __init__(self, folder: Path | str, create: bool = False) -> None:
        self.folder = check.path(folder, "The results folder")
        self._format_file = self.folder / "monmdp.json"
        if create:
            self._create()
        elif not self.folder.is_dir():
            raise MonMDPError(f"There is no results folder {self.folder}.")
        elif not self._format_file.exists():
            raise MonMDPError(f"{self.folder} is not a results folder: it has no {self._format_file.name}.")
        self._check_format()

    def _create(self) -> None:
        if not os.path.exists(self._format_file):
            write_atomically(self._format_file, json.dumps({"format": FORMAT}).encode() + b"\n")
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise MonMDPError(f"The folder {self.folder} cannot be written: permission denied.")

    def _check_format(self) -> None:
        try:
            number = json.loads(self._format_file.read_text())["format"]
        except (OSError, ValueError, KeyError, TypeError):
            raise MonMDPError(f"{self._format_file} is damaged; restore it, or choose another folder.") from None
        if number != FORMAT:
            raise MonMDPError(
                f"{self.folder} has results of format {number}, and this version of monmdp reads format {FORMAT}; "
                "choose another folder."
            )

    def place(self, kind: str, settings: Mapping[str, Any]) -> Path:
        """The folder of the curves or tables of runs with these settings."""
        return self.folder / kind / Path(*(folder_name(settings[label]) for label in LABELS))

    def save(self, curves: Curves, flush: bool = True) -> list[Path]:
        """Write the tables and the curves of some seeds; returns the two files."""
        settings = curves.settings
        return [
            write_parquet(self.place(kind, settings), _table(curves, kind), kind, settings, curves.seeds, flush)
            for kind in ("tables", "curves")
        ]

    def quarantine(self, path: Path) -> Path:
        """Move a damaged file into the subfolder `damaged`, where no reader looks; returns its new path."""
        place = self.folder / "damaged" / path.relative_to(self.folder).parent
        place.mkdir(parents=True, exist_ok=True)
        number = 1
        while (place / f"{path.name}.{number}").exists():
            number += 1
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            path.rename(place / f"{path.name}.{number}")
        return place / f"{path.name}.{number}"


def save(curves: Curves, folder: Path | str) -> None:
    """Save the runs of `train` or `record` in a results folder, where figures, the page and exports find them.

    Runs with the same settings and seeds are replaced.
    """
    if not curves.settings:
        raise MonMDPError("These curves have no settings; only curves of monmdp.train and monmdp.record can be saved.")
    store, seeds = Store(folder, create=True), set(curves.seeds)
    pattern = f"{identity(curves.settings)}-*.parquet"
    earlier = [read_entry(path) for kind in KINDS for path in store.place(kind, curves.settings).glob(pattern)]
    replaced = [entry.path for entry in earlier if seeds & set(entry.seeds)]
    if not seeds.issuperset(seed for entry in earlier if entry.path in replaced for seed in entry.seeds):
        raise MonMDPError(f"{replaced[0]} has some of these seeds and others; save all seeds together.")
    for path in set(replaced) - set(store.save(curves)):
        path.unlink()


def read_entry(path: Path) -> Entry:
    """The description of a file whose bytes have the fingerprint in its name."""
    return _opened(path)[0]


def _opened(path: Path) -> tuple[Entry, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read: {error.strerror}.") from None
    if not path.stem.endswith(f"-{_fingerprint(content)}"):
        raise DamagedFileError(f"{path} is damaged or was not written by monmdp: its bytes do not fit its name.")
    try:
        file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        described = json.loads(file.schema_arrow.metadata[_METADATA])
        return Entry(path, described["identity"], described["settings"], tuple(described["seeds"])), file
    except (KeyError, ValueError, TypeError, pa.ArrowException):
        raise DamagedFileError(f"{path} was not written by monmdp.") from None


def read_runs(entries: Iterable[Entry], seeds: Iterable[int], columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of the given seeds, in their order, from files of one cell; a run in two files counts once."""
    import pyarrow as pa

    runs: dict[int, pa.Table] = {}
    for entry in entries:
        table = _read_table(entry.path, columns)
        length = len(table) // len(entry.seeds)
        for i, seed in enumerate(entry.seeds):
            runs.setdefault(seed, table.slice(i * length, length))
    return pa.concat_tables([runs[seed] for seed in seeds], promote_options="default")


def _read_table(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """The rows of a file; a metric that it does not have is null."""
    import pyarrow as pa

    _, file = _opened(path)
    names = file.schema_arrow.names
    added = {metric.column: metric for metric in METRICS if "step" in names and metric.column not in names}
    for column in columns or ():
        if column not in names and column not in added:
            raise MonMDPError(f"Results have no column {column!r}. {nearest(column, names)}")
    table = file.read(columns=columns, use_threads=False)
    for column, metric in added.items():
        if columns is None or column in columns:
            nulls = pa.nulls(file.metadata.num_rows, pa.from_numpy_dtype(metric.dtype))
            table = table.append_column(column, nulls)
    return table


def _table(curves: Curves, kind: str) -> pa.Table:
    """The curves, one row per run and point, or the tables, one row per run."""
    import pyarrow as pa

    n_seeds, n_points = len(curves.seeds), len(curves.steps) if kind == "curves" else 1
    names = {label: curves.settings[label] for label in LABELS} | {"cell": identity(curves.settings)}
    zeros = pa.array(np.zeros(n_seeds * n_points, np.int32))
    columns: dict[str, Any] = {key: pa.DictionaryArray.from_arrays(zeros, [name]) for key, name in names.items()}
    columns["seed"] = np.repeat(np.array(curves.seeds, np.int64), n_points)
    if kind == "curves":
        columns["step"] = np.tile(curves.steps, n_seeds)
        columns |= {metric.column: curves.recorded[metric.attribute].ravel() for metric in METRICS}
    else:
        columns |= {name: np.full(n_seeds, getattr(curves, name)) for name in ("optimal_return", "target_return")}
        columns |= {"final_return": curves.final_returns, "solved": curves.solved}
        columns |= {name: pa.array(list(getattr(curves, name).reshape(n_seeds, -1))) for name in _LISTS}
    return pa.table(columns)


def write_parquet(
    place: Path, table: pa.Table, kind: str, settings: dict[str, Any], seeds: Sequence[int], flush: bool = True
) -> Path:
    """Write a file whose name ends in a fingerprint of its bytes; the same data give the same file everywhere."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from monmdp import __version__

    key, listed = identity(settings), list(seeds)
    described = {"identity": key, "settings": settings, "seeds": listed, "kind": kind, "monmdp": __version__}
    table = table.replace_schema_metadata({_METADATA: json.dumps(described, sort_keys=True).encode()})
    encodings = {name: encoding for name, encoding in _ENCODINGS.items() if name in table.column_names}
    repeated = [name for name in table.column_names if name not in encodings and name not in _LISTS]
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=repeated, column_encoding=encodings)
    content = bytes(sink.getvalue())
    seeds_hash = hashlib.sha256(repr(tuple(listed)).encode()).hexdigest()[:8]
    path = place / f"{key}-{seeds_hash}-{_fingerprint(content)}.parquet"
    write_atomically(path, content, flush=flush)
    return path


def _fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def write_atomically(path: Path, content: bytes, flush: bool = True) -> None:
    """Write a temporary file beside the path and rename it: readers see a whole file or none.

    flush: wait until the bytes are on the disk. Without it a power failure may damage the file.
    """
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            file.write(content)
            if flush:
                file.flush()
                os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise WriteError(f"{path} cannot be written: {error.strerror}.") from None


def folder_name(name: str) -> str:
    """A name as a folder: readable, valid on every system, and without `key=value`, which readers take for a column."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("_")[:100]
