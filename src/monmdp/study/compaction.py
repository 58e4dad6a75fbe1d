"""Merging the many small files of a cell into one; at no moment is a run missing."""

from __future__ import annotations

from collections import defaultdict

from monmdp.study.store import KINDS, DamagedFileError, Entry, Store, read_entry, read_runs, sync_folder, write_parquet


def compact(store: Store) -> tuple[int, int]:
    """Merge the files of every cell; returns the number of files before and after.

    The merged file is on disk before the first of its parts is removed; a run that is in two files for a moment
    counts once. Damaged files are left alone.
    """
    before = after = 0
    for kind in KINDS:
        groups: dict[str, list[Entry]] = defaultdict(list)
        for path in store.files(kind):
            before += 1
            try:
                entry = read_entry(path)
                groups[entry.identity].append(entry)
            except DamagedFileError:
                after += 1
        for entries in groups.values():
            after += 1
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
