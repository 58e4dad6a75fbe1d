"""Results as Parquet files that appear whole or not at all, and describe themselves.

    results/monmdp.json                                 format of the folder
    results/curves/Empty/Ask/Directed/<name>.parquet    one row per run and point
    results/tables/Empty/Ask/Directed/<name>.parquet    one row per run: N, Q, R̂, final and optimal return

A name consists of hashes of the settings, of the seeds and of the file's bytes, so that any damage is detected; what a
file says about itself must agree with its name and its rows. The tables of some seeds are written first and their
curves last; a run counts when both are there. A file counts only when the disk has it and the entry of its folder.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from monmdp import check
from monmdp.errors import MonMDPError, nearest
from monmdp.files import HOST, WriteError, write_atomically
from monmdp.training.curves import Curves
from monmdp.training.job import identity, recording_points
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
_LISTS = {"visit_counts": np.int64, "q": np.float64, "reward_model": np.float64}
_RETURNS = ("optimal_return", "target_return", "final_return")
#: The settings that readers use, with their types.
_SETTINGS = dict.fromkeys((*LABELS, "evaluation", "problem"), str) | {"steps": int, "points": int, "discount": float}
_PARTIAL = re.compile(rf"\.[0-9a-f]+\.{HOST}\.(\d+)\.partial")
#: Seconds after which a temporary file is left over, whichever machine wrote it.
_LEFT_OVER = 86_400.0


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
        self.format_file = self.folder / "monmdp.json"
        if create:
            self._create()
        elif not os.path.isdir(self.folder):
            raise MonMDPError(f"There is no results folder {self.folder}.")
        elif not os.path.exists(self.format_file):
            raise MonMDPError(f"{self.folder} is not a results folder: it has no {self.format_file.name}.")
        self._check_format()

    def _create(self) -> None:
        if not os.path.exists(self.format_file):
            write_atomically(self.format_file, json.dumps({"format": FORMAT}).encode() + b"\n")
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise MonMDPError(f"The folder {self.folder} cannot be written: permission denied.")

    def _check_format(self) -> None:
        try:
            number = json.loads(self.format_file.read_text())["format"]
        except PermissionError:
            raise MonMDPError(f"{self.format_file} cannot be read: permission denied.") from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise MonMDPError(f"{self.format_file} is damaged; restore it, or choose another folder.") from None
        if number != FORMAT:
            raise MonMDPError(
                f"{self.folder} has results of format {number}, and this version of monmdp reads format {FORMAT}; "
                "choose another folder."
            )

    def place(self, kind: str, settings: Mapping[str, Any]) -> Path:
        """The folder of the curves or tables of runs with these settings."""
        return self.folder / kind / Path(*(folder_name(settings[label]) for label in LABELS))

    def save(self, curves: Curves) -> list[Path]:
        """Write the tables and the curves of some seeds; returns the two files, which are then on disk."""
        settings = curves.settings
        return [
            write_parquet(self.place(kind, settings), _table(curves, kind), kind, settings, curves.seeds)
            for kind in ("tables", "curves")
        ]

    def files(self, suffix: str) -> Iterator[Path]:
        """The files of all kinds whose names end in a suffix, in order."""

        def unreadable(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                raise MonMDPError(f"{error.filename} cannot be read: {error.strerror}.")

        for kind in KINDS:
            for folder, _, names in sorted(os.walk(self.folder / kind, onerror=unreadable)):
                yield from (Path(folder, name) for name in sorted(names) if name.endswith(suffix))

    def quarantine(self, path: Path) -> Path:
        """Move a damaged file into the subfolder `damaged`, where no reader looks; returns its new path."""
        place, name = self.folder / "damaged" / path.relative_to(self.folder).parent, path.name[-60:]
        number = 1
        try:
            place.mkdir(parents=True, exist_ok=True)
            while os.path.lexists(place / f"{name}.{number}"):
                number += 1
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                path.rename(place / f"{name}.{number}")
        except OSError as error:
            raise WriteError(f"{path} cannot be moved to {place}: {error.strerror}.") from None
        return place / f"{name}.{number}"

    def remove_leftovers(self) -> None:
        """Remove temporary files of writers that were killed: processes of this machine that ended, or a day ago."""
        for path in [*self.folder.glob(".*.partial"), *self.files(".partial")]:
            with contextlib.suppress(OSError):  # another process was faster
                match = _PARTIAL.fullmatch(path.name)
                if (match and not _is_running(int(match[1]))) or time.time() - path.stat().st_mtime > _LEFT_OVER:
                    path.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    except OverflowError:
        return False
    return True


def save(curves: Curves, folder: Path | str) -> None:
    """Save the runs of `train` or `record` in a results folder, where figures, the page and exports find them.

    Runs with the same settings and seeds are replaced.
    """
    if not curves.settings:
        raise MonMDPError("These curves have no settings; only curves of monmdp.train and monmdp.record can be saved.")
    store, seeds = Store(folder, create=True), set(curves.seeds)
    pattern = f"{identity(curves.settings)}-*.parquet"
    earlier = [read_entry(path, kind) for kind in KINDS for path in store.place(kind, curves.settings).glob(pattern)]
    replaced = [entry.path for entry in earlier if seeds & set(entry.seeds)]
    if not seeds.issuperset(seed for entry in earlier if entry.path in replaced for seed in entry.seeds):
        raise MonMDPError(f"{replaced[0]} has some of these seeds and others; save all seeds together.")
    for path in set(replaced) - set(store.save(curves)):
        path.unlink()


def read_entry(path: Path, kind: str) -> Entry:
    """The description of a file of a kind, after a check that its name, settings, columns, rows, seeds and steps agree.

    The values in its other columns are taken as they are.
    """
    described, file = _opened(path)
    with _suspicion(path, "does not agree with itself"):
        _check_description(described, kind, path.stem)
        settings, seeds = described["settings"], described["seeds"]
        points = settings["points"] + 1 if kind == "curves" else 1
        _require(file.metadata.num_rows == len(seeds) * points, "number of rows")
        _check_columns(file.schema_arrow, kind)
        _check_rows(file, kind, settings, np.array(seeds, np.int64))
    return Entry(path, described["identity"], settings, tuple(seeds))


@contextlib.contextmanager
def _suspicion(path: Path, what: str) -> Iterator[None]:
    """Turns every error but a lack of memory into a `DamagedFileError`: content of a file may be anything."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise DamagedFileError(f"{path} {what}: {reason}.") from None


def _require(agrees: Any, what: str) -> None:
    if not agrees:
        raise ValueError(f"unexpected {what}")


def _check_description(described: Any, kind: str, stem: str) -> None:
    """Raise an error unless the settings have the identity that the file states and bears in its name, and so on."""
    settings, seeds, key = described["settings"], described["seeds"], described["identity"]
    for name, expected in _SETTINGS.items():
        number = expected is float and type(settings[name]) is int
        _require(type(settings[name]) is expected or number, f"setting {name!r}")
    _require(isinstance(settings.get("agent_options", {}), dict), "setting 'agent_options'")
    _require(key == identity(settings), "identity of its settings")
    _require(described["kind"] == kind, "kind")
    _require(isinstance(seeds, list) and seeds and len({check.seed(seed) for seed in seeds}) == len(seeds), "seeds")
    _require(stem.rpartition("-")[0] == f"{key}-{_seeds_hash(seeds)}", "name")


def _check_columns(schema: Any, kind: str) -> None:
    """Raise an error unless a file has the columns of its kind; metrics may be missing, and others may be there."""
    import pyarrow as pa

    types, names = column_types(kind), set(schema.names)
    _require(len(names) == len(schema.names), "columns: two of the same name")
    missing = types.keys() - names - {metric.column for metric in METRICS}
    _require(not missing, f"columns: no {', '.join(sorted(missing))}")
    for field in schema:
        actual = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        expected = (types[field.name],) if field.name in types else (pa.int64(), pa.float64())
        _require(actual in expected, f"type of the column {field.name!r}")


def column_types(kind: str) -> dict[str, Any]:
    """Column → type in files of a kind."""
    import pyarrow as pa

    types: dict[str, Any] = {**dict.fromkeys((*LABELS, "cell"), pa.string()), "seed": pa.int64()}
    if kind == "curves":
        metrics = {metric.column: pa.from_numpy_dtype(metric.dtype) for metric in METRICS}
        return {**types, "step": pa.int64(), **metrics}
    lists = {name: pa.list_(pa.from_numpy_dtype(dtype)) for name, dtype in _LISTS.items()}
    return {**types, **dict.fromkeys(_RETURNS, pa.float64()), "solved": pa.bool_(), **lists}


def _check_rows(file: Any, kind: str, settings: Mapping[str, Any], seeds: np.ndarray) -> None:
    """Raise an error unless the rows are those of the seeds and steps, in their order, and nothing is missing there."""
    import pyarrow.compute as pc

    metrics = {metric.column for metric in METRICS} - {"return"}
    columns = [name for name in column_types(kind) if name not in metrics]
    table = file.read(columns=columns, use_threads=False)
    for name in {*columns} - {"return"}:
        _require(not table.column(name).null_count, f"missing values of {name!r}")
    for label, value in {**{label: settings[label] for label in LABELS}, "cell": identity(settings)}.items():
        _require(table.column(label).unique().to_pylist() == [value], f"values of {label!r}")
    steps = recording_points(settings["steps"], settings["points"]) if kind == "curves" else np.zeros(1)
    _require(np.array_equal(table.column("seed"), np.repeat(seeds, len(steps))), "order of seeds")
    if kind == "curves":
        _require(np.array_equal(table.column("step"), np.tile(steps, len(seeds))), "steps")
    for name in _LISTS if kind == "tables" else ():
        _require(not pc.list_flatten(table.column(name)).null_count, f"missing values of {name!r}")
        like = "visit_counts" if name == "q" else name
        lengths = {*pc.list_value_length(table.column(name)).unique().to_pylist()}
        _require(lengths == {len(table.column(like)[0])}, f"size of {name!r}")
    for name in table.column_names:
        _require(name not in ("return", *_RETURNS) or not np.isinf(table.column(name)).any(), f"infinite {name!r}")


def _opened(path: Path) -> tuple[Any, Any]:
    """The description in a file whose bytes have the fingerprint in its name, and the open file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if not path.is_file():  # a pipe or a device could be read forever
            raise OSError(errno.ENOENT, "It is no file" if os.path.lexists(path) else "It was removed meanwhile")
        content = path.read_bytes()
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read: {error.strerror}.") from None
    if not path.stem.endswith(f"-{_fingerprint(content)}"):
        raise DamagedFileError(f"{path} is damaged or was not written by monmdp: its bytes do not fit its name.")
    with _suspicion(path, "was not written by monmdp"):
        file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        return json.loads(file.schema_arrow.metadata[_METADATA]), file


def read_runs(entries: Iterable[Entry], seeds: Iterable[int], columns: Sequence[str] | None = None) -> pa.Table:
    """The rows of the given seeds, in their order, from files of one cell; a run in two files counts once."""
    import pyarrow as pa

    runs: dict[int, pa.Table] = {}
    for entry in entries:
        table = _read_table(entry.path, columns)
        length = len(table) // len(entry.seeds)
        for i, seed in enumerate(entry.seeds):
            runs.setdefault(seed, table.slice(i * length, length))
    return pa.concat_tables([runs[seed] for seed in seeds], promote_options="permissive")


def _read_table(path: Path, columns: Sequence[str] | None) -> pa.Table:
    """The rows of a file; a metric that it does not have is null."""
    import pyarrow as pa

    _, file = _opened(path)
    names = file.schema_arrow.names
    added = {metric.column: metric for metric in METRICS if "step" in names and metric.column not in names}
    for column in columns or ():
        if column not in names and column not in added:
            raise MonMDPError(f"Results have no column {column!r}. {nearest(column, names)}")
    with _suspicion(path, "cannot be read"):
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
        columns |= {name: pa.array([table.ravel() for table in getattr(curves, name)]) for name in _LISTS}
    return pa.table(columns)


def write_parquet(place: Path, table: pa.Table, kind: str, settings: dict[str, Any], seeds: Sequence[int]) -> Path:
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
    path = place / f"{key}-{_seeds_hash(listed)}-{_fingerprint(content)}.parquet"
    write_atomically(path, content)
    return path


def _seeds_hash(seeds: Sequence[int]) -> str:
    return hashlib.sha256(repr(tuple(seeds)).encode()).hexdigest()[:8]


def _fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def folder_name(name: str) -> str:
    """A name as a folder: readable, valid on every system, and without `key=value`, which readers take for a column."""
    cleaned = re.sub(r"[^\w.+-]+", "_", name).strip("_")[:100].encode()[:240].decode(errors="ignore")
    return cleaned if cleaned.strip(".") else "_"
