"""Ctrl-C: the command ends soon, finished runs are saved, and the same command continues from there."""

from __future__ import annotations

import signal

from sweeping import assert_same, damage, end, finished, runs_on_disk, start, until

import monmdp

#: Two cells side by side, one of them far from its end when the other is finished.
LONG = monmdp.Sweep(["OneWay"], ["Ask"], ["Naive"], 25, steps=400_000, points=100)
SHORT = monmdp.Sweep(["Walk"], ["Ask"], ["Naive"], 25, steps=50_000, points=100)
TOML = """
[[sweep]]
environments = ["OneWay"]
monitors = ["Ask"]
agents = ["Naive"]
seeds = {seeds}
steps = {steps}
points = {points}

[[sweep]]
environments = ["Walk"]
monitors = ["Ask"]
agents = ["Naive"]
seeds = 25
steps = 50_000
points = 100
"""


def interrupted(tmp_path, **long: int) -> tuple[int, str, str]:
    """Start both cells, press Ctrl-C when the short one is there, and see the end."""
    (tmp_path / "sweep.toml").write_text(TOML.format(**long))
    folder = tmp_path / "stopped"
    process = start("reproduce", "--sweep", str(tmp_path / "sweep.toml"), "--out", str(folder), "--threads", "2")
    assert until(lambda: finished(folder), process)
    process.send_signal(signal.SIGINT)
    return end(process, deadline=10)


def test_ctrl_c_saves_finished_runs(tmp_path):
    code, out, err = interrupted(tmp_path, seeds=25, steps=400_000, points=100)
    folder = tmp_path / "stopped"
    assert code == 130
    assert "The same command continues from there" in out
    assert err == "monmdp: interrupted.\n"
    assert damage(folder) == []
    assert 25 < runs_on_disk(folder) < 50, "finished seeds of the unfinished batch are saved too"
    report = monmdp.run_sweep([LONG, SHORT], folder)
    assert 25 < report.skipped < 50
    monmdp.run_sweep([LONG, SHORT], tmp_path / "undisturbed")
    assert_same(folder, tmp_path / "undisturbed")


def test_ctrl_c_does_not_wait_for_a_distant_point(tmp_path):
    """A run with few recording points stops between them."""
    code, _, _ = interrupted(tmp_path, seeds=1, steps=20_000_000, points=1)
    assert code == 130
    assert damage(tmp_path / "stopped") == []
    assert runs_on_disk(tmp_path / "stopped") == 25


def test_ctrl_c_while_the_sweep_is_resolved(tmp_path):
    """One line and no stack trace, before the first run as well."""
    process = start("reproduce", "--preset", "paper", "--out", str(tmp_path))
    assert until(lambda: _mapped(process, "llvmlite"), process)
    process.send_signal(signal.SIGINT)
    code, _, err = end(process, deadline=20)
    assert (code, err) == (130, "monmdp: interrupted.\n")


def _mapped(process, library: str) -> bool:
    """Whether a process has loaded a library, so that it is past its start."""
    with open(f"/proc/{process.pid}/maps") as maps:
        return library in maps.read()
