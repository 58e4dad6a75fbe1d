"""A power failure at any moment: what was counted is on disk, and nothing on disk is wrong.

`Disk` follows what the system promises: bytes of a file are on disk after an fsync of the file, and names in a folder
after an fsync of the folder. Everything else may be there, in part, or not.
"""

from __future__ import annotations

import os
import random
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sweeping import assert_same, damage, finished

import monmdp
from monmdp import files
from monmdp.study.results import Results, compact
from monmdp.study.store import Store

SWEEP = monmdp.Sweep(["Walk"], ["Full", "Ask"], ["Naive"], 30, steps=60, points=5)
#: Folder → name → (inode, whether it is a folder).
Entries = dict[int, dict[str, tuple[int, bool]]]


def entries_of(folder: str) -> dict[str, tuple[int, bool]]:
    return {entry.name: (entry.inode(), entry.is_dir()) for entry in os.scandir(folder)}


class Disk:
    """Records what is on disk, and takes an image of it at every call that changes something.

    An image: what an fsync has brought to disk (bytes, names), the names at that moment, and the runs counted by then.
    """

    def __init__(self, parent: Path, monkeypatch: Any, opened: ExitStack) -> None:
        self.top = parent / "top"
        self.top.mkdir()
        self.root = self.top.stat().st_ino
        self.bytes: dict[int, bytes] = {}
        self.names: Entries = {}
        self.counted: list[tuple[str, int]] = []
        self.images: list[tuple[dict[int, bytes], Entries, Entries, list[tuple[str, int]]]] = []
        self._lock, self._opened = threading.RLock(), opened
        save = Store.save
        for name in ("replace", "unlink"):
            monkeypatch.setattr(os, name, self._watched(getattr(os, name)))
        monkeypatch.setattr(os, "fsync", self.fsync)
        monkeypatch.setattr(files, "_DURABLE", set())

        def counting_save(place, curves):
            files = save(place, curves)
            with self._lock:
                self.counted += [(files[0].parent.parent.name, seed) for seed in curves.seeds]
                self.image()
            return files

        monkeypatch.setattr(Store, "save", counting_save)

    def _watched(self, original: Any) -> Any:
        def call(*words: Any, **options: Any) -> None:
            with self._lock:
                original(*words, **options)
                self.image()

        return call

    def fsync(self, descriptor: int) -> None:
        with self._lock:
            inode, path = os.fstat(descriptor).st_ino, f"/proc/self/fd/{descriptor}"
            if os.path.isdir(path):
                self.names[inode] = entries_of(os.readlink(path))
            else:
                file = self._opened.enter_context(open(path, "rb"))  # noqa: SIM115 (keeps its inode)
                self.bytes[inode] = file.read()
            self.image()

    def image(self) -> None:
        now = {os.stat(folder).st_ino: entries_of(folder) for folder, _, _ in os.walk(self.top)}
        self.images.append((dict(self.bytes), dict(self.names), now, list(self.counted)))


def restore(image: Any, inode: int, folder: Path, luck: random.Random | None) -> None:
    """Write what a power failure left; luck decides which names and bytes without fsync are there, None for no luck."""
    content, synced, now, _ = image
    folder.mkdir()
    names = dict(synced.get(inode, {}))
    if luck is not None and luck.random() < 0.7:
        names = dict(now.get(inode, names))
    for name, (child, is_folder) in names.items():
        if is_folder:
            restore(image, child, folder / name, luck)
        else:
            lost = b"" if luck is None or luck.random() < 0.5 else bytes(luck.randrange(1, 2000))
            (folder / name).write_bytes(content.get(child, lost))


def runs_in(folder: Path) -> set[tuple[str, int]]:
    """(monitor, seed) of every run that readers find."""
    if not (folder / "monmdp.json").exists():
        return set()
    return {(cell.monitor, seed) for cell in Results(folder, required=False).cells.values() for seed in cell.seeds}


def test_nothing_that_was_counted_is_lost(undisturbed, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, ExitStack() as opened:
        disk = Disk(tmp_path, patched, opened)
        report = monmdp.run_sweep([SWEEP], disk.top / "r")
    assert report.done == len(disk.counted) == 60
    images, luck = disk.images, random.Random(14)
    resumed = set(luck.sample(range(len(images)), 6))
    for number, image in enumerate(images):
        for fortune in (None, luck):
            folder = tmp_path / f"{number}-{fortune is luck}"
            restore(image, disk.root, folder, fortune)
            assert runs_in(folder / "r") >= set(image[3]), number
            if (folder / "r" / "monmdp.json").exists():
                assert damage(folder / "r") == [], "a name is on disk only after the bytes of its file"
            if number in resumed:
                monmdp.run_sweep([SWEEP], folder / "r")
                assert_same(folder / "r", undisturbed)


def test_compaction_loses_nothing(undisturbed, tmp_path, monkeypatch):
    with monkeypatch.context() as patched, ExitStack() as opened:
        disk = Disk(tmp_path, patched, opened)
        monmdp.run_sweep([SWEEP], disk.top / "r")
        before = len(disk.images)
        compact(disk.top / "r")
    assert len(finished(disk.top / "r")) == 2
    images, luck = disk.images[before:], random.Random(15)
    for number, image in enumerate(images):
        for fortune in (None, luck):
            folder = tmp_path / f"{number}-{fortune is luck}"
            restore(image, disk.root, folder, fortune)
            assert damage(folder / "r") == []
            assert_same(folder / "r", undisturbed)
