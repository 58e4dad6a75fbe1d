"""Many small files of a cell into one, without a moment in which a run is missing."""

from __future__ import annotations

from collections import defaultdict

from monmdp.study.plan import batch_name
from monmdp.study.store import KINDS, DamagedFileError, Entry, Store, read_table, write_parquet


def compact(store: Store) -> tuple[int, int]:
    """Merge the files of every cell; returns the number of files before and after.

    The merged file is there, synced, before the first of its parts is removed; a run that stands in two
    files for a moment counts once. Damaged files are left alone.
    """
    before = after = 0
    for kind in KINDS:
        groups: dict[str, list[Entry]] = defaultdict(list)
        for path in store.files(kind):
            before += 1
            try:
                entry, _ = read_table(path)
                groups[entry.identity].append(entry)
            except DamagedFileError:
                after += 1
        for entries in groups.values():
            after += 1
            if len(entries) > 1:
                _merge(entries, kind)
    return before, after


def _merge(entries: list[Entry], kind: str) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    first = entries[0]
    rows = pa.concat_tables([read_table(entry.path)[1] for entry in entries]).unify_dictionaries().combine_chunks()
    parts, seeds = [], sorted({seed for entry in entries for seed in entry.seeds})
    for seed in seeds:
        mine = rows.filter(pc.equal(rows.column("seed"), seed))
        once = len(mine) // sum(seed in entry.seeds for entry in entries)
        parts.append(mine.slice(0, once))
    name = batch_name(first.identity, tuple(seeds))
    path = write_parquet(first.path.parent, name, pa.concat_tables(parts), kind, first.identity, first.settings, seeds)
    for entry in entries:
        if entry.path != path:
            entry.path.unlink()
