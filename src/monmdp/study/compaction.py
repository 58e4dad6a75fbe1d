"""Merging the many small files of a cell into one; at no moment is a run missing."""

from __future__ import annotations

from pathlib import Path

from monmdp.study.results import Results
from monmdp.study.store import Entry, read_runs, sync_folder, write_parquet


def compact(folder: Path | str) -> tuple[int, int]:
    """Merge the files of every cell; returns the number of files before and after.

    The merged file is on disk before the first of its parts is removed; a run that is in two files for a moment
    counts once. Damaged files are left alone.
    """
    results = Results(folder, required=False)
    before = after = len(results.damage)
    for files in results.files.values():
        for kind, entries in files.items():
            before += len(entries)
            after += bool(entries)
            if len(entries) > 1:
                _merge(entries, kind)
    return before, after


def _merge(entries: list[Entry], kind: str) -> None:
    seeds = sorted({seed for entry in entries for seed in entry.seeds})
    folder, settings = entries[0].path.parent, entries[0].settings
    path = write_parquet(folder, read_runs(entries, seeds).combine_chunks(), kind, settings, seeds)
    sync_folder(folder)
    for entry in entries:
        if entry.path != path:
            entry.path.unlink()
