"""SIGKILL at random moments, many times: a resumed sweep gives the data of an undisturbed one."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from sweeping import assert_same, damage, end, finished, runs_on_disk, start, until

import monmdp

SWEEP = monmdp.Sweep(
    ["Loop", "Walk", "OneWay"], ["Full", "Ask", "Button"], ["Naive", "UCB"], 25, steps=20_000, points=20
)
WORDS = (
    "--envs", "Loop,Walk,OneWay", "--monitors", "Full,Ask,Button", "--agents", "Naive,UCB",
    "--seeds", "25", "--steps", "20000", "--points", "20",
)  # fmt: skip
RUNS = 18 * 25
#: Four processes in turn, which run a sweep and kill themselves when the n-th file was opened for writing, before the
#: n-th rename or after it. Forks, since starting Python takes longer than the sweep. Prints how each of them ended.
CRASH = """
import os, pathlib, sys, monmdp
folder, what = sys.argv[1:]
sweep = monmdp.Sweep(["Walk"], ["Full", "Ask"], ["Naive"], 30, steps=200, points=10)
monmdp.run_sweep([sweep], f"{folder}-undisturbed", threads=1)
place, name = (pathlib.Path, "open") if what == "write" else (os, "replace")
original, calls = getattr(place, name), []
def fatal(*words, **options):
    result = None if what == "rename" else original(*words, **options)
    if what != "write" or "wb" in words:
        calls.append(1)
    if len(calls) == moment:
        os.kill(os.getpid(), 9)
    return original(*words, **options) if what == "rename" else result
setattr(place, name, fatal)
for moment in (1, 2, 3, 4):
    process = os.fork()
    if process == 0:
        monmdp.run_sweep([sweep], folder, threads=1)
        os._exit(0)
    status = os.waitpid(process, 0)[1]
    damaged = os.path.exists(f"{folder}/monmdp.json") and monmdp.study.results.Results(folder, required=False).damaged
    print(os.waitstatus_to_exitcode(status), damaged or "intact")
"""


@pytest.mark.slow
def test_killed_many_times(tmp_path):
    monmdp.run_sweep([SWEEP], tmp_path / "undisturbed")
    folder, rng, middle = tmp_path / "killed", random.Random(20240607), 0
    for _ in range(8):
        process, before = start("reproduce", *WORDS, "--out", str(folder)), len(finished(folder))
        if until(lambda before=before: len(finished(folder)) > before, process):
            try:
                process.wait(rng.uniform(0.0, 0.4))
            except subprocess.TimeoutExpired:
                process.kill()
        process.communicate()
        assert damage(folder) == []
        if process.returncode == 0:
            break
        assert process.returncode == -9
        middle += 0 < runs_on_disk(folder) < RUNS
    assert middle >= 2, "the kills came too early or too late to mean anything"
    code, _, err = end(start("reproduce", *WORDS, "--out", str(folder)))
    assert (code, err) == (0, "")
    assert_same(folder, tmp_path / "undisturbed")
    code, out, _ = end(start("results", str(folder), "--verify"))
    assert code == 0
    assert "intact" in out


@pytest.mark.parametrize("what", ["write", "rename", "renamed"])
def test_killed_at_every_moment_of_saving(tmp_path, what):
    """While writing, before the rename and after it: of tables, of curves and of the format file."""
    folder = tmp_path / "crashed"
    code, out, err = end(start(str(folder), what, script=CRASH))
    assert (code, out.splitlines()) == (0, ["-9 intact"] * 4), err
    monmdp.run_sweep(monmdp.Sweep(["Walk"], ["Full", "Ask"], ["Naive"], 30, steps=200, points=10), folder)
    assert damage(folder) == []
    assert_same(folder, tmp_path / "crashed-undisturbed")


@pytest.mark.slow
def test_two_hundred_kills(tmp_path):
    """At seeded random moments of sweeps and of merging; see kills.py."""
    script = Path(__file__).with_name("kills.py")
    words = [sys.executable, str(script), str(tmp_path), "200", "20261116"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kills, middle, finished = map(int, done.stdout.split())
    assert kills == 200
    assert middle >= 50, "the kills came too early or too late to mean anything"
    assert finished >= 2
