"""Progress of a sweep: a bar on a terminal, plain lines elsewhere, and correct numbers."""

from __future__ import annotations

import dataclasses
import os
import pty
import re
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import pytest
from sweeping import TINY, TINY_WORDS, output_of

import monmdp
import monmdp.progress


def test_lines_where_there_is_no_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(monmdp.progress, "LOG_EVERY", 0.0)
    out = output_of(capsys, "reproduce", *TINY_WORDS, "--threads", "1", "--out", str(tmp_path))
    reports = re.findall(r"^(\d+) of 24 runs, [^,]+, \d+%(?:, about \d+ s left)?$", out, re.MULTILINE)
    assert reports
    assert [int(runs) for runs in reports] == sorted(int(runs) for runs in reports)
    assert "\x1b" not in out


def test_a_bar_on_a_terminal(tmp_path):
    here, there = pty.openpty()
    words = ("reproduce", *TINY_WORDS, "--out", str(tmp_path))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    command = [sys.executable, "-m", "monmdp", *words]
    with subprocess.Popen(command, stdout=there, stderr=there, env=environment) as process:
        os.close(there)
        shown = b""
        while True:
            try:
                part = os.read(here, 4096)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(timeout=120) == 0
    os.close(here)
    text = shown.decode()
    assert re.search(r"\d+ of 24 runs", text)
    assert "24 runs in " in text


def test_the_last_report_is_complete(tmp_path):
    seen = []
    report = monmdp.run_sweep([TINY], tmp_path, watcher=lambda report, steps: seen.append((report.done, steps)))
    assert seen == sorted(seen)
    assert seen[-1] == (24, 24 * 300)
    assert (report.runs, report.steps, report.done) == (24, 24 * 300, 24)


def test_runs_from_before_count_as_done(tmp_path, monkeypatch, capsys):
    """A third of the runs is there: the bar begins at 33% and at 8 of 24 runs."""
    monkeypatch.setattr(monmdp.progress, "LOG_EVERY", 0.0)
    monmdp.run_sweep([dataclasses.replace(TINY, seeds=1)], tmp_path)
    monmdp.run_sweep([TINY], tmp_path, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "8 of 24 runs, compiling kernels, 33%"
    assert lines[-1].startswith("24 of 24 runs, ")
    assert ", 100%" in lines[-1]


class Stepping(monmdp.Agent):
    """Always takes the first action."""

    @staticmethod
    def act(memory, state, draws):
        return 0, False

    @staticmethod
    def update(memory, transition):
        pass

    def memory(self, world, steps, seed):
        return SteppingMemory(
            np.zeros((world.n_states, world.n_actions)), np.zeros(world.n_states * world.n_actions, np.int64)
        )


class SteppingMemory(NamedTuple):
    q: np.ndarray
    visits: np.ndarray


def test_compilation_is_announced_once_and_not_part_of_the_seconds(capsys, monkeypatch):
    monkeypatch.setattr(monmdp.progress, "LOG_EVERY", 0.0)
    problem, started = monmdp.make("Loop", "Ask"), time.perf_counter()
    curves = monmdp.train(problem, Stepping(), steps=100, points=2, progress=True)
    seconds = time.perf_counter() - started
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Compiling Stepping (once per process) …"
    assert lines[-1].startswith("Stepping in Loop + Ask, 100%")
    assert curves.seconds < 0.2 * seconds
    monmdp.train(problem, Stepping(), steps=100, points=2, progress=True)
    assert "Compiling" not in capsys.readouterr().err
    monmdp.train(problem, Stepping(), steps=100, points=2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_watcher_that_stops_the_sweep(tmp_path, error):
    """Finished runs are saved; the next sweep does the rest."""

    def stop(report, steps):
        if report.done:
            raise error

    with pytest.raises(error):
        monmdp.run_sweep([TINY], tmp_path, watcher=stop, threads=1)
    report = monmdp.run_sweep([TINY], tmp_path)
    assert report.skipped > 0
    assert report.skipped + report.done == 24
