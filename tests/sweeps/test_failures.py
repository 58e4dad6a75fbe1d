"""A failing run is reported with its description, and the other runs continue."""

from __future__ import annotations

import pytest
from sweeping import TINY, TINY_WORDS, assert_same, runs_on_disk

import monmdp
from monmdp.agents import Naive
from monmdp.cli import main


@pytest.fixture
def breaks(monkeypatch):
    """Naive fails for seed 1, in Ask's problems only (they have twice the actions)."""
    original = Naive.memory

    def breaks(message: str) -> None:
        def memory(self, world, steps, seed):
            if seed == 1 and world.n_actions == 10:
                raise RuntimeError(message)
            return original(self, world, steps, seed)

        monkeypatch.setattr(Naive, "memory", memory)

    return breaks


def test_other_runs_continue(breaks, tmp_path, monkeypatch):
    breaks("out of luck")
    report = monmdp.run_sweep([TINY], tmp_path / "r")
    assert sorted(report.failures) == [
        "Naive in Loop + Ask, seed 1: RuntimeError: out of luck",
        "Naive in Walk + Ask, seed 1: RuntimeError: out of luck",
    ]
    assert report.done == runs_on_disk(tmp_path / "r") == 22
    monkeypatch.undo()
    report = monmdp.run_sweep([TINY], tmp_path / "r")
    assert (report.done, report.skipped, report.failures) == (2, 22, [])
    monmdp.run_sweep([TINY], tmp_path / "undisturbed")
    assert_same(tmp_path / "r", tmp_path / "undisturbed")


@pytest.mark.parametrize("message", ["out of luck", "no table [/x] in [bold]", "two\nlines"])
def test_the_command_reports_failures(breaks, tmp_path, message, capsys, monkeypatch):
    """Brackets in an error message are not markup."""
    monkeypatch.setenv("COLUMNS", "300")
    breaks(message)
    assert main(["reproduce", *TINY_WORDS, "--out", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert f"Naive in Loop + Ask, seed 1: RuntimeError: {message}" in printed.out
    assert "22 runs in" in printed.out
    assert "2 runs failed" in printed.err
    assert "Traceback" not in printed.out + printed.err


def test_a_batch_in_which_everything_fails(breaks, tmp_path, monkeypatch):
    def memory(self, world, steps, seed):
        raise RuntimeError("never")

    monkeypatch.setattr(Naive, "memory", memory)
    report = monmdp.run_sweep([TINY], tmp_path)
    assert (report.done, len(report.failures)) == (12, 12)
    assert set(monmdp.load(tmp_path).column("agent").to_pylist()) == {"Directed"}
