"""Progress of a sweep: a bar on a terminal, plain lines elsewhere, and correct numbers."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest
from sweeping import TINY, TINY_WORDS, output_of

import monmdp
from monmdp.cli import reproduce


def test_lines_where_there_is_no_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reproduce, "LOG_EVERY", 0.0)
    out = output_of(capsys, "reproduce", *TINY_WORDS, "--threads", "1", "--out", str(tmp_path))
    reports = re.findall(r"^(\d+) of 24 runs, [\d.]+ million steps/s, about \d+ s left$", out, re.MULTILINE)
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
    assert re.search(r"\d+/24 runs", text)
    assert "steps/s" in text
    assert "24 runs in " in text


def test_the_last_report_is_complete(tmp_path):
    seen = []
    report = monmdp.run_sweep([TINY], tmp_path, watcher=lambda report, steps: seen.append((report.done, steps)))
    assert seen == sorted(seen)
    assert seen[-1] == (24, 24 * 300)
    assert (report.runs, report.steps, report.done) == (24, 24 * 300, 24)


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
