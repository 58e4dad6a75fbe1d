"""Compaction: fewer files, the same data; at no moment is a run missing or counted twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sweeping import assert_same, damage, error_of, file_bytes, finished, output_of

import monmdp
from monmdp.study import store
from monmdp.study.results import compact

SWEEP = monmdp.Sweep(["Walk"], ["Full", "Ask"], ["Naive"], seeds=60, steps=100, points=5)
WORDS = (
    "reproduce", "--envs", "Walk", "--monitors", "Full,Ask", "--agents", "Naive", "--seeds", "60", "--steps", "100",
    "--points", "5", "--out",
)  # fmt: skip


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Two cells of three files each, with seeds out of order."""
    folder = tmp_path_factory.mktemp("many")
    monmdp.run_sweep([monmdp.Sweep(["Walk"], ["Ask"], ["Naive"], [40, 3], steps=100, points=5)], folder)
    monmdp.run_sweep([SWEEP], folder)
    assert len(finished(folder)) == 3 + 4
    return folder


@pytest.fixture
def folder(many, tmp_path):
    return Path(shutil.copytree(many, tmp_path / "folder"))


def test_fewer_files_same_data(many, folder, capsys):
    assert "Merged 14 files into 4." in output_of(capsys, "results", str(folder), "--compact")
    assert [len(list((folder / kind).rglob("*.parquet"))) for kind in ("curves", "tables")] == [2, 2]
    assert_same(folder, many)
    assert damage(folder) == []
    for identity, curve in monmdp.mean_curves(many).items():
        assert monmdp.mean_curves(folder)[identity]["mean"] == pytest.approx(curve["mean"], abs=1e-12)
    assert "has all runs (120)." in output_of(capsys, *WORDS, str(folder))
    before = file_bytes(folder)
    assert "Merged 4 files into 4." in output_of(capsys, "results", str(folder), "--compact")
    assert file_bytes(folder) == before


def test_a_compacted_folder_grows(many, folder, tmp_path):
    compact(folder)
    more = monmdp.Sweep(["Walk"], ["Full", "Ask"], ["Naive"], seeds=70, steps=100, points=5)
    report = monmdp.run_sweep([more], folder)
    assert (report.done, report.skipped) == (20, 120)
    compact(folder)
    monmdp.run_sweep([more], tmp_path / "at once")
    assert_same(folder, tmp_path / "at once")


def test_interrupted_before_the_parts_are_removed(many, folder, capsys):
    """The merged files and some or all of their parts are there: every run counts once."""
    compact(folder)
    for part in finished(many)[::2]:
        shutil.copy(part, folder / part.relative_to(many))
    assert len(finished(folder)) > 2
    assert_same(folder, many)
    for identity, curve in monmdp.mean_curves(many).items():
        assert monmdp.mean_curves(folder)[identity]["mean"] == pytest.approx(curve["mean"], abs=1e-12)
    assert "has all runs (120)." in output_of(capsys, *WORDS, str(folder))
    output_of(capsys, "results", str(folder), "--compact")
    assert len(finished(folder)) == 2
    assert_same(folder, many)


@pytest.mark.parametrize("kind", ["curves", "tables"])
def test_interrupted_between_curves_and_tables(many, folder, kind, capsys):
    """One kind is merged and the other is not yet: nothing is lost, and nothing is trained again."""
    compact(folder)
    shutil.rmtree(folder / kind)
    shutil.copytree(many / kind, folder / kind)
    assert_same(folder, many)
    assert "has all runs (120)." in output_of(capsys, *WORDS, str(folder))
    output_of(capsys, "results", str(folder), "--compact")
    assert len(list(folder.rglob("*.parquet"))) == 4
    assert_same(folder, many)


def test_killed_while_writing_the_merged_file(many, folder, monkeypatch):
    """Nothing is removed before the merged file is there."""

    def power_cut(path, content):
        raise KeyboardInterrupt

    before = file_bytes(folder)
    monkeypatch.setattr(store, "write_atomically", power_cut)
    with pytest.raises(KeyboardInterrupt):
        compact(folder)
    assert file_bytes(folder) == before


@pytest.mark.parametrize("kind", ["curves", "tables"])
def test_damaged_files_are_left_alone(folder, kind, capsys):
    """A damaged footer or damaged data: the other cells are merged, and the damage stays to be found."""
    victims = sorted((folder / kind / "Walk" / "Full").rglob("*.parquet"))
    broken = b"PAR1" + bytes(100)
    victims[0].write_bytes(broken)
    flipped = bytearray(victims[1].read_bytes())
    flipped[len(flipped) // 4] ^= 1
    victims[1].write_bytes(flipped)
    output_of(capsys, "results", str(folder), "--compact")
    assert victims[0].read_bytes() == broken
    assert victims[1].read_bytes() == flipped
    assert len(list((folder / kind / "Walk" / "Ask").rglob("*.parquet"))) == 1


def test_a_folder_without_results(tmp_path, capsys):
    assert "not a results folder" in error_of(capsys, "results", str(tmp_path), "--compact")
