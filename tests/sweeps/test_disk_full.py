"""A full disk: one sentence, no partial files, and with more space the sweep continues."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess

import pytest
from sweeping import TINY, TINY_WORDS, assert_same, damage, end, error_of, finished, start

import monmdp
from monmdp.study import store


@pytest.fixture
def small_disk(tmp_path):
    """A disk with room for some of the files."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    words = [mount, "-t", "tmpfs", "-o", "size=80k", "tmpfs", str(place)]
    if mount is None or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small tmpfs takes root and the right to mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_small_disk(undisturbed, small_disk):
    folder = small_disk / "results"
    command = ("reproduce", *TINY_WORDS, "--out", str(folder))
    code, _, err = end(start(*command))
    assert code == 2
    assert err.count("\n") == 1
    assert f"monmdp: {folder}" in err
    assert "cannot be written: No space left on device. Finished runs are saved" in err
    assert 0 < len(finished(folder)) < 8
    assert damage(folder) == []
    assert list(folder.rglob("*.partial")) == []
    assert end(start(*command))[0] == 2, "still full"
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    code, out, err = end(start(*command))
    assert (code, err) == (0, "")
    assert "from before" in out
    assert damage(folder) == []
    assert_same(folder, undisturbed)


@pytest.mark.parametrize("kind", ["curves", "tables"])
def test_no_space_for_one_of_the_files(undisturbed, tmp_path, kind, monkeypatch, capsys):
    """A batch is there with both of its files, or done again."""
    folder, original = tmp_path / "r", store.write_atomically

    def full(path, content):
        if path.relative_to(folder).parts[:3] == (kind, "Walk", "Ask"):
            raise store.WriteError("The disk is full.")
        original(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(store, "write_atomically", full)
        message = error_of(capsys, "reproduce", *TINY_WORDS, "--out", str(folder), "--threads", "1")
    assert "The disk is full. Finished runs are saved" in message
    assert not (folder / "curves" / "Walk" / "Ask").exists()
    monmdp.run_sweep([TINY], folder)
    assert_same(folder, undisturbed)


def test_a_broken_disk(tmp_path, monkeypatch, capsys):
    def broken(path, target):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monmdp.study.store.Store(tmp_path, create=True)
    monkeypatch.setattr(store.Path, "replace", broken)
    message = error_of(capsys, "reproduce", *TINY_WORDS, "--out", str(tmp_path))
    assert "cannot be written: Input/output error" in message
    assert list(tmp_path.rglob("*.partial")) == []
