"""Folders that are full, read-only, unreadable, used twice at once or oddly named: a sentence, and nothing is lost."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path

import pytest
from sweeping import TINY_WORDS, assert_same, damage, error_of, file_bytes, output_of

import monmdp
from monmdp import files
from monmdp.study import results as study
from monmdp.study import store
from monmdp.study.store import Store, folder_name

SWEEP = monmdp.Sweep(["Walk"], ["Full"], ["Naive"], seeds=30, steps=60, points=5)
HOST = files.HOST


def failing(number: int, *calls: str):
    """A context in which calls of `os` fail with this error."""

    def fail(*words, **options):
        raise OSError(number, os.strerror(number), str(words[0]))

    patched = pytest.MonkeyPatch()
    for call in calls:
        patched.setattr(os, call, fail)
    return patched


FULL, READ_ONLY = (errno.ENOSPC, "fsync"), (errno.EROFS, "mkdir", "rename", "replace", "unlink")


@pytest.mark.parametrize("fault", [FULL, READ_ONLY], ids=["full", "read-only"])
def test_merging(undisturbed, folder, fault, capsys):
    before, patched = file_bytes(folder), failing(*fault)
    try:
        message = error_of(capsys, "results", str(folder), "--compact")
    finally:
        patched.undo()
    assert os.strerror(fault[0]) in message
    left = {name: content for name, content in file_bytes(folder).items() if not name.endswith(".partial")}
    assert left == before
    assert_same(folder, undisturbed)


def test_parts_that_cannot_be_removed(undisturbed, folder, capsys):
    patched = failing(errno.EPERM, "unlink")
    try:
        message = error_of(capsys, "results", str(folder), "--compact")
    finally:
        patched.undo()
    assert "cannot be removed: Operation not permitted" in message
    assert_same(folder, undisturbed)


def test_verifying_a_read_only_folder(folder, capsys):
    """Every damaged file is reported, although none can be moved."""
    victims = sorted(folder.rglob("*.parquet"))[:2]
    for path in victims:
        path.write_bytes(b"")
    patched = failing(*READ_ONLY)
    try:
        assert monmdp.cli.main(["results", str(folder), "--verify"]) == 2
    finally:
        patched.undo()
    printed = capsys.readouterr()
    assert printed.out.count("cannot be moved") == 2
    assert all(str(path) in printed.out for path in victims)
    assert "Damaged: 2 of 4 files" in printed.err


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_claims_of_a_read_only_folder(folder, words, tmp_path, monkeypatch, capsys):
    """They are printed, and the file is in the temporary folder."""
    (tmp_path / "temporary").mkdir()
    original = os.replace

    def replace(source, target):
        if Path(target).parent == folder:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        original(source, target)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert monmdp.cli.main(["claims", str(folder), *words]) == 2
    printed = capsys.readouterr()
    assert "not enough data" in printed.out or "not enough to check" in printed.out
    (saved,) = (tmp_path / "temporary").rglob("claims.md")
    assert f"Read-only file system. It is saved as {saved} instead." in printed.err


def test_merging_twice_at_once(undisturbed, folder, capsys):
    with (folder / "monmdp.json").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "Another process merges" in error_of(capsys, "results", str(folder), "--compact")
    output_of(capsys, "results", str(folder), "--compact")
    assert_same(folder, undisturbed)


def test_a_file_system_without_locks(undisturbed, folder, monkeypatch, capsys):
    def unsupported(*words):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    assert "Merged 4 files into 2." in output_of(capsys, "results", str(folder), "--compact")
    assert_same(folder, undisturbed)


def test_files_that_are_merged_while_they_are_read(undisturbed, folder, monkeypatch):
    """A reader that finds a file gone looks again; it reports no damage, and misses no run."""
    original, merged = study.read_entry, []

    def read_entry(path, kind):
        if not merged:
            merged.append(True)
            monkeypatch.setattr(study, "read_entry", original)
            study.compact(folder)
        return original(path, kind)

    monkeypatch.setattr(study, "n_cores", lambda: 1)
    monkeypatch.setattr(study, "read_entry", read_entry)
    results = study.Results(folder)
    assert results.damaged == []
    assert [cell.seeds for cell in results.cells.values()] == [list(range(30))]


def test_files_that_always_disappear(folder, monkeypatch, capsys):
    def gone(path, kind):
        path.unlink(missing_ok=True)
        (path.parent / f"{time.monotonic_ns()}.parquet").write_bytes(b"")
        raise store.DamagedFileError(f"{path} cannot be read.")

    monkeypatch.setattr(study, "read_entry", gone)
    assert "change all the time" in error_of(capsys, "results", str(folder))


@pytest.mark.parametrize("command", [("results",), ("reproduce", *TINY_WORDS, "--out")])
def test_a_subfolder_that_cannot_be_read(folder, command, monkeypatch, capsys):
    """Its runs are not taken for missing, which would train them again."""
    original = os.scandir

    def scandir(path):
        if str(path).endswith("Walk"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert "Walk cannot be read: Permission denied." in error_of(capsys, *command, str(folder))


def test_things_that_are_no_files(folder, capsys):
    """A pipe, which could be read forever, a folder and a link that leads nowhere, each named like a result."""
    os.mkfifo(folder / "curves" / "pipe.parquet")
    (folder / "curves" / "folder.parquet").mkdir()
    (folder / "curves" / "link.parquet").symlink_to("nowhere")
    assert sorted(Path(message.split()[0]).name for message in damage(folder)) == ["link.parquet", "pipe.parquet"]
    assert len(monmdp.run_sweep([SWEEP], folder).damaged) == 2
    assert damage(folder) == []


def test_a_damaged_file_with_a_long_name(folder):
    (folder / "curves" / f"{'x' * 245}.parquet").write_bytes(b"")
    assert len(monmdp.run_sweep([SWEEP], folder).damaged) == 1
    assert damage(folder) == []


@pytest.mark.parametrize("name", ["r" * 300, "r\0"])
@pytest.mark.parametrize("command", [("results",), ("report",), ("reproduce", *TINY_WORDS, "--out"), ("claims",)])
def test_names_that_no_folder_can_have(tmp_path, name, command, capsys):
    error_of(capsys, *command, str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


def test_brackets(undisturbed, tmp_path, capsys):
    """They mean nothing, neither to the search for files nor to the terminal."""
    folder = tmp_path / "[bold]r[0-9]*?"
    shutil.copytree(undisturbed, folder)
    for words in (("results", str(folder)), ("results", str(folder), "--compact"), ("report", str(folder))):
        output_of(capsys, *words)
    assert monmdp.run_sweep([SWEEP], folder).runs == 0
    assert_same(folder, undisturbed)


@pytest.mark.parametrize(
    ("name", "kept"),
    [("Ask(cost=0.5)", "Ask_cost_0.5"), ("..", "_"), (".", "_"), ("", "_"), ("((", "_"), ("x" * 300, "x" * 100)],
)
def test_names_as_folders(name, kept):
    assert folder_name(name) == kept


def test_names_in_other_scripts_as_folders():
    assert len(os.fsencode(folder_name("𐍈" * 300))) <= 255


def test_leftovers_of_killed_writers(folder):
    """Those of processes that ended and old ones are removed when a sweep starts; others may still be written."""
    ended = os.fork() or os._exit(0)
    os.waitpid(ended, 0)
    place, old = folder / "curves" / "Walk", time.time() - 2 * 86_400
    gone = [
        folder / f".aa.{HOST}.{ended}.partial",
        place / f".bb.{HOST}.{ended}.partial",
        place / f".cc.{HOST}.{10**30}.partial",
        place / ".old.parquet.dd.partial",
        place / ".ee.elsewhere.1.partial",
    ]
    kept = [place / f".ff.{HOST}.{os.getpid()}.partial", place / f".gg.elsewhere.{ended}.partial", place / "x.partial"]
    for path in gone + kept:
        path.write_bytes(b"")
    for path in gone[-2:]:
        os.utime(path, (old, old))
    monmdp.run_sweep([SWEEP], folder)
    assert [path for path in gone if path.exists()] == []
    assert [path for path in kept if not path.exists()] == []


def test_a_leftover_bears_its_writer(tmp_path, monkeypatch):
    """Host and process, so that it can be decided whether the writer still runs."""
    names = []

    def killed(path, target):
        names.append(Path(path).name)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path, create=True)
    assert store._PARTIAL.fullmatch(names[0])[1] == str(os.getpid())
    assert socket.gethostname()[:8] in names[0]
