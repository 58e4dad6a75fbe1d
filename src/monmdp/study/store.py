"""Results as Parquet files that appear whole or not at all, and say what they are.

    results/monmdp.json                                 format of the folder
    results/curves/Empty/Ask/Directed/<name>.parquet    one row per run and point
    results/tables/Empty/Ask/Directed/<name>.parquet    one row per run: N, Q, R̂, final and optimal return

A name is cell, seeds and a fingerprint of the file's bytes, so that any damage shows. A batch's tables are
written first and its curves last; a batch counts when both are there.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import uuid
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monmdp.errors import MonMDPError, nearest
from monmdp.training.curves import Curves

if TYPE_CHECKING:
    import pyarrow as pa

    from monmdp.study.plan import Batch

FORMAT = 1
KINDS = ("curves", "tables")
_MARK = b"monmdp"
#: Encodings that suit counters and measurements; everything else repeats itself and gets a dictionary.
_COUNTERS = ("seed", "step", "observed", "visited")
_MEASURES = ("beta", "explored")
_LISTS = ("visit_counts", "q", "reward_model")


class DamagedFileError(MonMDPError):
    """A file that cannot be trusted."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} {why}.")
        self.path = path


@dataclass(frozen=True)
class Entry:
    """What a curves file says of itself."""

    path: Path
    identity: str
    settings: dict[str, Any]
    seeds: tuple[int, ...]


def is_results_folder(folder: Path | str) -> bool:
    """Whether a folder has been used for results."""
    return (Path(folder) / "monmdp.json").exists()


class Store:
    """A results folder."""

    def __init__(self, folder: Path | str, create: bool = False) -> None:
        self.folder = Path(folder)
        self._mark = self.folder / "monmdp.json"
        if create:
            self._create()
        elif not self.folder.is_dir():
            raise MonMDPError(f"There is no results folder {self.folder}.")
        self._check_format()

    def _create(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not self._mark.exists():
                write_aside(self._mark, json.dumps({"format": FORMAT}).encode() + b"\n")
        except OSError as error:
            raise MonMDPError(f"The folder {self.folder} cannot be written: {error.strerror}.") from None
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise MonMDPError(f"The folder {self.folder} cannot be written: permission denied.")

    def _check_format(self) -> None:
        if not self._mark.exists():
            raise MonMDPError(f"{self.folder} is not a results folder: it has no {self._mark.name}.")
        try:
            found = json.loads(self._mark.read_text())["format"]
        except (OSError, ValueError, KeyError, TypeError):
            raise MonMDPError(f"{self._mark} is damaged; restore it, or choose another folder.") from None
        if found != FORMAT:
            raise MonMDPError(
                f"{self.folder} has results of format {found}, and this version of monmdp reads format {FORMAT}; "
                "choose another folder."
            )

    def place(self, kind: str, batch: Batch) -> Path:
        """The folder in which the curves or tables of a batch belong."""
        parts = [_folder_name(batch.cell.settings[key]) for key in ("environment", "monitor", "agent")]
        return self.folder / kind / Path(*parts)

    def files(self, kind: str = "curves") -> Iterator[Path]:
        """All files of a kind, in a stable order."""
        yield from sorted((self.folder / kind).rglob("*.parquet"))

    def entries(self) -> Iterator[Entry | DamagedFileError]:
        """Every curves file by what it says, with those of its seeds that have their tables too.

        Files that are damaged or foreign come as errors.
        """
        with_tables: dict[str, set[int]] = {}
        for path in self.files("tables"):
            try:
                entry = read_entry(path)
                with_tables.setdefault(entry.identity, set()).update(entry.seeds)
            except DamagedFileError as damage:
                yield damage
        for path in self.files("curves"):
            try:
                entry = read_entry(path)
                complete = [seed for seed in entry.seeds if seed in with_tables.get(entry.identity, ())]
                yield replace(entry, seeds=tuple(complete))
            except DamagedFileError as damage:
                yield damage

    def save(self, batch: Batch, curves: Curves) -> None:
        """Write a finished batch: both files whole, or neither counts."""
        for kind, table in (("tables", _tables(batch, curves)), ("curves", _curves(batch, curves))):
            write_parquet(
                self.place(kind, batch), batch.name, table, kind, batch.cell.identity, batch.cell.settings, batch.seeds
            )

    def set_aside(self, path: Path) -> Path:
        """Move a damaged file out of the way of all readers, without deleting it."""
        place = self.folder / "damaged" / path.relative_to(self.folder).parent
        place.mkdir(parents=True, exist_ok=True)
        number = 1
        while (place / f"{path.name}.{number}").exists():
            number += 1
        with contextlib.suppress(FileNotFoundError):  # another process was faster
            path.rename(place / f"{path.name}.{number}")
        return place / f"{path.name}.{number}"


def read_entry(path: Path) -> Entry:
    """What a file says of itself; its bytes are those that its name promises."""
    return _opened(path)[0]


def read_table(path: Path, columns: list[str] | None = None) -> tuple[Entry, pa.Table]:
    """What a file says of itself, and its rows."""
    import pyarrow as pa

    entry, file = _opened(path)
    for column in columns or ():
        if column not in file.schema_arrow.names:
            raise MonMDPError(f"Results have no column {column!r}. {nearest(column, file.schema_arrow.names)}")
    try:
        return entry, file.read(columns=columns, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise DamagedFileError(path, f"is damaged: {_first_line(error)}") from None


def _opened(path: Path) -> tuple[Entry, Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedFileError(path, f"cannot be read: {error.strerror}") from None
    if not path.stem.endswith(f"-{_fingerprint(content)}"):
        raise DamagedFileError(path, "is damaged or was not written by monmdp: its bytes do not fit its name")
    try:
        file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        described = json.loads(file.schema_arrow.metadata[_MARK])
        return Entry(path, described["identity"], described["settings"], tuple(described["seeds"])), file
    except (KeyError, ValueError, TypeError, pa.ArrowException):
        raise DamagedFileError(path, "was not written by monmdp") from None


def verify(store: Store) -> Iterator[tuple[Path, DamagedFileError | None]]:
    """Read every file whole; yields its path, and what is wrong with it or None."""
    for kind in KINDS:
        for path in store.files(kind):
            try:
                entry, rows = read_table(path)
                if set(rows.column("seed").to_pylist()) != set(entry.seeds):
                    raise DamagedFileError(path, "does not hold the seeds it claims")
                yield path, None
            except DamagedFileError as damage:
                yield path, damage


def load(folder: Path | str, columns: list[str] | None = None, kind: str = "curves") -> pa.Table:
    """All results of a folder as one Arrow table (`.to_pandas()`, `polars.from_arrow`).

    curves: one row per run and point: environment, monitor, agent, cell, seed, step, return, observed, visited,
    beta, explored. kind="tables": one row per run with final tables. Damaged files are named in a warning and
    left out; a run that stands in two files counts once.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind not in KINDS:
        raise MonMDPError(f"Results are {' or '.join(KINDS)}, not {kind!r}.")
    store = Store(folder)
    parts: list[pa.Table] = []
    known: set[tuple[str, int]] = set()
    for path in store.files(kind):
        try:
            entry, rows = read_table(path, columns)
        except DamagedFileError as damage:
            warnings.warn(str(damage), stacklevel=2)
            continue
        fresh = [seed for seed in entry.seeds if (entry.identity, seed) not in known]
        known.update((entry.identity, seed) for seed in fresh)
        if len(fresh) < len(entry.seeds):
            seeds = rows.column("seed") if "seed" in rows.column_names else read_table(path, ["seed"])[1].column("seed")
            rows = rows.filter(pc.is_in(seeds, value_set=pa.array(fresh, pa.int64())))
        parts.append(rows)
    if not parts:
        raise MonMDPError(f"{store.folder} has no results yet.")
    return pa.concat_tables(parts).unify_dictionaries()


def _curves(batch: Batch, curves: Curves) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    n_seeds, n_points = len(curves.seeds), len(curves.steps)
    return pa.table({
        **_labels(batch, n_seeds * n_points),
        "seed": np.repeat(np.array(curves.seeds, np.int64), n_points),
        "step": np.tile(curves.steps, n_seeds),
        "return": curves.returns.ravel(),
        "observed": curves.observed.ravel(),
        "visited": curves.visited.ravel(),
        "beta": curves.beta.ravel(),
        "explored": curves.explored.ravel(),
    })  # fmt: skip


def _tables(batch: Batch, curves: Curves) -> pa.Table:
    import pyarrow as pa

    n_seeds = len(curves.seeds)
    return pa.table({
        **_labels(batch, n_seeds),
        "seed": pa.array(curves.seeds, pa.int64()),
        "optimal_return": pa.array([curves.optimal_return] * n_seeds, pa.float64()),
        "target_return": pa.array([curves.target_return] * n_seeds, pa.float64()),
        "final_return": curves.final_returns,
        "solved": curves.solved,
        "visit_counts": pa.array(list(curves.visit_counts.reshape(n_seeds, -1)), pa.list_(pa.int64())),
        "q": pa.array(list(curves.q.reshape(n_seeds, -1)), pa.list_(pa.float64())),
        "reward_model": pa.array(list(curves.reward_model), pa.list_(pa.float64())),
    })  # fmt: skip


def _labels(batch: Batch, rows: int) -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa

    zeros = pa.array(np.zeros(rows, np.int32))
    names = {key: batch.cell.settings[key] for key in ("environment", "monitor", "agent")}
    return {
        key: pa.DictionaryArray.from_arrays(zeros, [name])
        for key, name in (*names.items(), ("cell", batch.cell.identity))
    }


def write_parquet(
    place: Path,
    name: str,
    table: pa.Table,
    kind: str,
    identity: str,
    settings: dict[str, Any],
    seeds: Sequence[int],
) -> Path:
    """A file whose name ends in a fingerprint of its bytes; the same data give the same file everywhere."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from monmdp import __version__

    described = {"identity": identity, "settings": settings, "seeds": list(seeds), "kind": kind, "monmdp": __version__}
    table = table.replace_schema_metadata({_MARK: json.dumps(described, sort_keys=True).encode()})
    encodings = {name: "DELTA_BINARY_PACKED" for name in _COUNTERS if name in table.column_names}
    encodings |= {name: "BYTE_STREAM_SPLIT" for name in _MEASURES if name in table.column_names}
    repeated = [name for name in table.column_names if name not in encodings and name not in _LISTS]
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=repeated, column_encoding=encodings)
    content = bytes(sink.getvalue())
    path = place / f"{name}-{_fingerprint(content)}.parquet"
    write_aside(path, content)
    return path


def _fingerprint(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def write_aside(path: Path, content: bytes) -> None:
    """Write beside, sync, rename: a file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")  # two writers of one file never meet
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


def is_disk_full(error: BaseException) -> bool:
    """Whether an error says that there is no space left."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def _folder_name(name: str) -> str:
    """A name as a folder: readable, harmless on every system, and no `key=value`, which readers take for a column."""
    return re.sub(r"[^\w.+-]+", "_", name).strip("_")[:100]


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
