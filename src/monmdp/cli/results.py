"""`monmdp results`: what is in a results folder, whether it is sound, and fewer files of it."""

from __future__ import annotations

import json as json_text
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from monmdp.errors import MonMDPError


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
        from monmdp.engine.memory import readable
        from monmdp.experiments.compaction import compact
        from monmdp.experiments.store import DamagedFileError, Store, verify

        store = Store(self.folder)
        if self.compact:
            before, after = compact(store)
            console.print(f"{before} files are now {after}.")
        if self.verify:
            files = sum(1 for kind in ("curves", "tables") for _ in store.files(kind))
            quiet = Console(stderr=True)
            wrong = [why for _, why in track(verify(store), "checking", files, console=quiet, transient=True) if why]
            for why in wrong:
                console.print(why, soft_wrap=True)
            if wrong:
                raise MonMDPError(f"{len(wrong)} of {files} files are damaged; reproduce does them again.")
            console.print(f"All {files} files are sound.")
        seeds: Counter[tuple[str, str, str]] = Counter()
        damaged = []
        for entry in store.entries():
            if isinstance(entry, DamagedFileError):
                damaged.append(str(entry))
            else:
                told = entry.settings
                seeds[told["environment"], told["monitor"], told["agent"]] += len(entry.seeds)
        size = sum(path.stat().st_size for path in store.folder.rglob("*.parquet"))
        if self.json:
            cells = [{"environment": e, "monitor": m, "agent": a, "runs": n} for (e, m, a), n in sorted(seeds.items())]
            print(json_text.dumps({"runs": sum(seeds.values()), "bytes": size, "cells": cells, "damaged": damaged}))
            return
        table = Table(title=f"{self.folder}: {sum(seeds.values()):,} runs, {readable(size)}", box=SIMPLE_HEAD)
        for column in ("environment", "monitor", "agent"):
            table.add_column(column)
        table.add_column("runs", justify="right")
        for names, count in sorted(seeds.items()):
            table.add_row(*names, str(count))
        console.print(table)
        for line in damaged:
            console.print(f"[yellow]{line}[/]", soft_wrap=True)
