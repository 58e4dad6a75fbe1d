"""Results as Parquet files that appear whole or not at all, and say what they are.

    results/monmdp.json                                 format of the folder
    results/curves/Empty/Ask/Directed/<name>.parquet    one row per run and point
    results/tables/Empty/Ask/Directed/<name>.parquet    one row per run: N, Q, R̂, final and optimal return

A batch's tables are written first and its curves last, so a curves file means that the batch is complete.
"""

from __future__ import annotations

import errno
import json
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monmdp.curves import SOLVED_WITHIN, Curves
from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    import pyarrow as pa

    from monmdp.experiments.plan import Batch

FORMAT = 1
KINDS = ("curves", "tables")
_MARK = b"monmdp"
#: Encodings that suit counters and measurements; everything else repeats itself and gets a dictionary.
_COUNTERS = ("seed", "step", "observed", "visited")
_MEASURES = ("beta", "explored")


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

    def path(self, kind: str, batch: Batch) -> Path:
        """Where the curves or tables of a batch belong."""
        settings = batch.cell.settings
        parts = [_folder_name(settings[key]) for key in ("environment", "monitor", "agent")]
        return self.folder / kind / Path(*parts) / f"{batch.name}.parquet"

    def files(self, kind: str = "curves") -> Iterator[Path]:
        """All files of a kind, in a stable order."""
        yield from sorted((self.folder / kind).rglob("*.parquet"))

    def entries(self) -> Iterator[Entry | DamagedFileError]:
        """Every curves file by what its footer says; damaged and foreign ones as errors."""
        for path in self.files():
            try:
                yield read_entry(path)
            except DamagedFileError as damage:
                yield damage

    def save(self, batch: Batch, curves: Curves) -> None:
        """Write a finished batch: both files whole, or neither counts."""
        settings, seeds = batch.cell.settings, list(batch.seeds)
        for kind, table in (("tables", _tables(batch, curves)), ("curves", _curves(batch, curves))):
            write_aside(self.path(kind, batch), parquet_bytes(table, batch.cell.identity, settings, seeds, kind))

    def set_aside(self, path: Path) -> Path:
        """Move a damaged file out of the way, without deleting it."""
        for number in range(1, 10_000):
            aside = path.with_name(f"{path.name}.damaged-{number}")
            if not aside.exists():
                path.rename(aside)
                return aside
        raise MonMDPError(f"{path} is damaged and cannot be moved out of the way.")


def read_entry(path: Path) -> Entry:
    """The footer of a curves file, checked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException) as error:
        raise DamagedFileError(path, f"is damaged: {_first_line(error)}") from None
    try:
        described = json.loads(metadata[_MARK])
        return Entry(path, described["identity"], described["settings"], tuple(described["seeds"]))
    except (KeyError, ValueError, TypeError):
        raise DamagedFileError(path, "was not written by monmdp") from None


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """The rows of a file, with the checksums of its pages verified."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns=columns)
    except (OSError, pa.ArrowException) as error:
        raise DamagedFileError(path, f"is damaged: {_first_line(error)}") from None


def verify(store: Store) -> Iterator[tuple[Path, str | None]]:
    """Read every file whole; yields its path, and what is wrong with it or None."""
    for kind in KINDS:
        for path in store.files(kind):
            try:
                entry = read_entry(path)
                rows = read_table(path)
                seeds = set(rows.column("seed").to_pylist())
                wrong = None if seeds == set(entry.seeds) else f"{path} does not hold the seeds it claims."
            except DamagedFileError as damage:
                wrong = str(damage)
            yield path, wrong


def load(folder: Path | str, columns: list[str] | None = None, kind: str = "curves") -> pa.Table:
    """All results of a folder as one Arrow table (`.to_pandas()`, `polars.from_arrow`).

    curves: one row per run and point: environment, monitor, agent, cell, seed, step, return, observed, visited,
    beta, explored. kind="tables": one row per run with final tables. Damaged files are named in a warning and
    left out; a run that stands in two files counts once.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    store = Store(folder)
    parts: list[pa.Table] = []
    known: set[tuple[str, int]] = set()
    for path in store.files(kind):
        try:
            entry = read_entry(path)
            rows = read_table(path, columns)
        except DamagedFileError as damage:
            warnings.warn(str(damage), stacklevel=2)
            continue
        fresh = [seed for seed in entry.seeds if (entry.identity, seed) not in known]
        known.update((entry.identity, seed) for seed in fresh)
        if len(fresh) < len(entry.seeds):
            seeds = rows.column("seed") if "seed" in rows.column_names else read_table(path, ["seed"]).column("seed")
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
        "final_return": curves.final_returns,
        "solved": curves.final_returns >= curves.optimal_return - SOLVED_WITHIN,
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


def parquet_bytes(table: pa.Table, identity: str, settings: dict[str, Any], seeds: list[int], kind: str) -> bytes:
    """The bytes of a file; the same for the same data on every machine with the same libraries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from monmdp import __version__

    described = {"identity": identity, "settings": settings, "seeds": seeds, "kind": kind, "monmdp": __version__}
    table = table.replace_schema_metadata({_MARK: json.dumps(described, sort_keys=True).encode()})
    encodings = {name: "DELTA_BINARY_PACKED" for name in _COUNTERS if name in table.column_names}
    encodings |= {name: "BYTE_STREAM_SPLIT" for name in _MEASURES if name in table.column_names}
    repeated = [
        name for name in table.column_names if name not in encodings and not name.endswith(("counts", "model", "q"))
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table, sink, compression="zstd", use_dictionary=repeated, column_encoding=encodings, write_page_checksum=True
    )
    return bytes(sink.getvalue())


def write_aside(path: Path, content: bytes) -> None:
    """Write beside, sync, rename: a file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.partial")
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
    """A name as a folder: readable, and harmless on every system. What counts stands inside the files."""
    return re.sub(r"[^\w.=+-]+", "_", name).strip("_")[:100]


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
