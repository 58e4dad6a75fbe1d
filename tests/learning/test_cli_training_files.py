"""`monmdp train --save` and `--plot`: no training for a place that cannot be written, and no result is lost."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from monmdp.cli import main
from monmdp.study import runner

WORDS = ("train", "Loop", "Ask", "--agent", "Naive", "--seeds", "2", "--steps", "200", "--points", "5")
FILES = [("--save", "a.csv"), ("--save", "a.npz"), ("--plot", "a.png"), ("--plot", "a.svg"), ("--plot", "a.pdf")]


def listed(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def refused(capsys, monkeypatch, *words: str) -> str:
    """The one line of a command that trains nothing."""

    def never(*arguments):
        raise AssertionError("training began")

    monkeypatch.setattr(runner, "train", never)
    assert main([*WORDS, *words]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    return printed.err


@pytest.mark.parametrize(("option", "name"), FILES)
def test_places_that_cannot_be_written(option, name, tmp_path, monkeypatch, capsys):
    assert "does not exist" in refused(capsys, monkeypatch, option, str(tmp_path / "none" / name))
    (tmp_path / "file").write_text("")
    assert "does not exist" in refused(capsys, monkeypatch, option, str(tmp_path / "file" / name))
    assert "too long" in refused(capsys, monkeypatch, option, str(tmp_path / ("x" * 300 + name)))
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # as on a read-only disk
    assert "cannot be written; choose another place" in refused(capsys, monkeypatch, option, str(tmp_path / name))
    assert listed(tmp_path) == ["file"]


@pytest.mark.parametrize("json_words", [(), ("--json",)])
@pytest.mark.parametrize(("option", "name"), FILES)
def test_a_disk_that_is_full_at_the_end(option, name, json_words, tmp_path, monkeypatch, capsys):
    """The result is printed, the file is in the temporary folder, and nothing is left where it should be."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home, elsewhere):
        folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    (home / name).write_text("earlier")
    original = os.replace

    def full(source, target):
        if Path(target).parent == home:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(source, target)

    monkeypatch.setattr(os, "replace", full)
    assert main([*WORDS, option, str(home / name), *json_words]) == 2
    printed = capsys.readouterr()
    assert "final return" in printed.out or json.loads(printed.out)["seeds"] == 2
    assert "written to" not in printed.out
    (saved,) = listed(elsewhere)
    expected = f"{home / name} cannot be written: No space left on device. It is saved as {elsewhere / saved} instead."
    assert printed.err.split("monmdp: ")[1] == f"{expected}\n"
    assert Path(saved).name == name
    assert listed(home) == [name]
    assert (home / name).read_text() == "earlier"
    monkeypatch.undo()
    assert main([*WORDS, option, str(home / name)]) == 0
    if name == "a.csv":
        assert (home / name).read_bytes() == (elsewhere / saved).read_bytes()
    if name == "a.npz":
        assert np.array_equal(np.load(home / name)["q"], np.load(elsewhere / saved)["q"], equal_nan=True)


def test_no_place_at_all(tmp_path):
    """Files of more than 2,000 bytes fail everywhere in this process: the result is printed, and no file is left."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "COLUMNS": "200"}
    words = [*WORDS[:-1], "100", "--save", str(tmp_path / "a.csv"), "--plot", str(tmp_path / "a.png")]
    done = subprocess.run(
        [sys.executable, "-m", "monmdp", *words], capture_output=True, text=True, env=environment, preexec_fn=limited,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "final return" in done.stdout
    assert done.stderr.count("cannot be written: File too large.") == 2
    assert "Traceback" not in done.stderr
    assert listed(tmp_path) == []


def test_a_link_is_followed(tmp_path, capsys):
    (tmp_path / "there").mkdir()
    (tmp_path / "a.csv").symlink_to(tmp_path / "there" / "b.csv")
    assert main([*WORDS, "--save", str(tmp_path / "a.csv")]) == 0
    assert (tmp_path / "a.csv").is_symlink()
    assert (tmp_path / "there" / "b.csv").read_text().startswith("environment,monitor,agent,seed,step")


def test_brackets(tmp_path, capsys):
    path = tmp_path / "[bold]a[1]*.csv"
    assert main([*WORDS, "--save", str(path)]) == 0
    assert path.name in capsys.readouterr().out
    assert path.exists()
