"""`monmdp results`: what is in a results folder, whether it is sound, and fewer files of it."""

from __future__ import annotations

import json as json_text
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

from monmdp.errors import MonMDPError

if TYPE_CHECKING:
    from monmdp.study.store import Store


@dataclass(frozen=True)
class Results:
    """List what a results folder holds; check every byte of it, or merge its many files into few."""

    folder: tyro.conf.Positional[Path] = Path("results")
    """The results folder."""
    verify: bool = False
    """Read every file whole and check it; exit code 2 if anything is damaged."""
    compact: bool = False
    """Merge the files of each cell into one."""
    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self, console: Console) -> None:
        """Merge and verify if asked, then list what there is."""
        from monmdp.study.compaction import compact
        from monmdp.study.store import DamagedFileError, Store

        store = Store(self.folder)
        talk = Console(stderr=True, highlight=False) if self.json else console
        if self.compact:
            before, after = compact(store)
            talk.print(f"{before} files are now {after}.")
        if self.verify:
            _verify(store, talk)
        cells: dict[str, dict[str, object]] = {}
        seeds: dict[str, set[int]] = {}
        damaged = []
        for entry in store.entries():
            if isinstance(entry, DamagedFileError):
                damaged.append(str(entry))
                continue
            told = entry.settings
            cells[entry.identity] = {key: told[key] for key in ("environment", "monitor", "agent", "steps")}
            seeds.setdefault(entry.identity, set()).update(entry.seeds)
        rows = [{**cell, "cell": identity, "runs": len(seeds[identity])} for identity, cell in cells.items()]
        size = sum(path.stat().st_size for path in store.folder.rglob("*.parquet"))
        if self.json:
            runs = sum(len(some) for some in seeds.values())
            print(json_text.dumps({"runs": runs, "bytes": size, "cells": rows, "damaged": damaged}))
        else:
            _print(console, self.folder, rows, size)
            for line in damaged:
                console.print(line, style="yellow", soft_wrap=True, markup=False)


def _verify(store: Store, talk: Console) -> None:
    """Check every file; damaged ones are moved out of the way, so that reproduce does them again."""
    from monmdp.study.store import KINDS, verify

    files = sum(1 for kind in KINDS for _ in store.files(kind))
    quiet = Console(stderr=True)
    checked = track(verify(store), "checking", files, console=quiet, transient=True, disable=not quiet.is_terminal)
    wrong = [damage for _, damage in checked if damage is not None]
    for damage in wrong:
        moved = store.quarantine(damage.path)
        talk.print(f"{damage} It is now {moved}.", soft_wrap=True, markup=False)
    if wrong:
        raise MonMDPError(f"{len(wrong)} of {files} files are damaged; reproduce does them again.")
    talk.print(f"All {files} files are sound.")


def _print(console: Console, folder: Path, rows: list[dict[str, object]], size: int) -> None:
    from monmdp.machine import readable

    runs = sum(int(str(row["runs"])) for row in rows)
    table = Table(title=escape(f"{folder}: {runs:,} runs, {readable(size)}"), box=SIMPLE_HEAD, title_justify="left")
    columns = ("environment", "monitor", "agent", "steps", "runs")
    for column in columns:
        table.add_column(column, justify="right" if column in ("steps", "runs") else "left")
    for row in rows:
        table.add_row(*(escape(str(row[column])) for column in columns))
    console.print(table)
