"""Running again: finished runs are skipped, new ones added, and different settings never mixed."""

from __future__ import annotations

import dataclasses

import pytest
from sweeping import (
    SINGLE,
    TINY,
    TINY_WORDS,
    assert_same,
    damage,
    end,
    file_bytes,
    finished,
    output_of,
    runs_on_disk,
    start,
)

import monmdp


def test_the_same_sweep_again_does_nothing(undisturbed, capsys):
    before = {path: path.stat().st_mtime_ns for path in finished(undisturbed)}
    assert "has all runs (24)." in output_of(capsys, "reproduce", *TINY_WORDS, "--out", str(undisturbed))
    assert {path: path.stat().st_mtime_ns for path in finished(undisturbed)} == before


@pytest.mark.parametrize(
    "change",
    [{"steps": 301}, {"points": 11}, {"discount": 0.98}, {"evaluation": "none"}, {"agents": ["Naive(epsilon=0.5)"]}],
    ids=str,
)
def test_sweeps_that_differ_in_one_setting_share_nothing(tmp_path, change):
    monmdp.run_sweep([SINGLE], tmp_path)
    before = file_bytes(tmp_path)
    report = monmdp.run_sweep([dataclasses.replace(SINGLE, **change)], tmp_path)
    assert (report.runs, report.done, report.skipped) == (3, 3, 0)
    assert before.items() <= file_bytes(tmp_path).items()
    assert runs_on_disk(tmp_path) == 6


def test_more_seeds_add_only_the_new_ones(tmp_path):
    """Grown seed by seed, the data are those of one sweep."""
    for seeds in ([2], 3, 28):
        report = monmdp.run_sweep([dataclasses.replace(SINGLE, seeds=seeds)], tmp_path / "grown")
    assert (report.done, report.skipped) == (25, 3)
    monmdp.run_sweep([dataclasses.replace(SINGLE, seeds=28)], tmp_path / "at once")
    assert_same(tmp_path / "grown", tmp_path / "at once")


def test_only_the_runs_of_a_lost_file_are_repeated(tmp_path):
    monmdp.run_sweep([TINY], tmp_path)
    before = file_bytes(tmp_path)
    finished(tmp_path)[3].unlink()
    report = monmdp.run_sweep([TINY], tmp_path)
    assert (report.done, report.skipped) == (3, 21)
    assert file_bytes(tmp_path) == before


def test_runs_without_tables_are_repeated(tmp_path):
    monmdp.run_sweep([SINGLE], tmp_path)
    before = file_bytes(tmp_path)
    for path in (tmp_path / "tables").rglob("*.parquet"):
        path.unlink()
    monmdp.run_sweep([SINGLE], tmp_path)
    assert file_bytes(tmp_path) == before


def test_two_processes_at_once_on_the_same_folder(undisturbed, tmp_path):
    processes = [start("reproduce", *TINY_WORDS, "--out", str(tmp_path)) for _ in range(2)]
    for process in processes:
        code, _, err = end(process)
        assert (code, err) == (0, "")
    assert_same(tmp_path, undisturbed)
    assert damage(tmp_path) == []
    assert list(tmp_path.rglob("*.partial")) == []


def test_threads_do_not_change_a_byte(undisturbed, tmp_path):
    for threads in (1, 3):
        monmdp.run_sweep([TINY], tmp_path / str(threads), threads=threads)
        assert file_bytes(tmp_path / str(threads)) == file_bytes(undisturbed)
