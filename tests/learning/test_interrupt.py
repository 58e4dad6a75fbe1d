"""Progress is reported while seeds train, and an interrupt ends everything cleanly."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import monmdp
from monmdp.cli import main


def test_progress_reaches_the_last_step():
    seen = []
    monmdp.train(monmdp.make("Loop"), "Naive", 6, 50_000, threads=2, progress=lambda *steps: seen.append(steps))
    assert seen == sorted(seen)
    assert seen[-1] == (300_000, 300_000)
    assert all(total == 300_000 for _, total in seen)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_in_the_callback_ends_training(error):
    """Hundreds of seeds wait; all threads have ended when the exception is raised."""
    before, calls = threading.active_count(), []

    def stop(done, total) -> None:
        calls.append(done)
        raise error

    with pytest.raises(error):
        monmdp.train(monmdp.make("Corridor", "Level"), "Naive", 300, threads=2, progress=stop)
    assert len(calls) == 1
    assert threading.active_count() == before


def test_training_again_after_an_interrupt():
    """An interrupt does not affect the next run."""

    def stop(done, total) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        monmdp.train(monmdp.make("Corridor"), "Naive", 50, progress=stop)
    curves = monmdp.train(monmdp.make("Corridor"), "Naive", 1, steps=1000)
    assert curves.visit_counts.sum() == 1000
    assert np.isfinite(curves.returns).all()


SIGNALLED = """
import os, signal, monmdp
signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes ignore it
try:
    stop = lambda *steps: os.kill(os.getpid(), signal.SIGINT)
    monmdp.train(monmdp.make("Corridor", "Level"), "Naive", 400, progress=stop)
except KeyboardInterrupt:
    print("clean")
"""


def test_a_real_signal():
    done = subprocess.run([sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "clean", "")


def test_the_command_line_reports_an_interrupt(monkeypatch, capsys):
    def interrupted(*_, **__) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("monmdp.study.runner.train", interrupted)
    assert main(["train", "Loop"]) == 130
    assert capsys.readouterr().err == "monmdp: interrupted.\n"


NO_GPU_CODE = """
import sys, monmdp
monmdp.train(monmdp.make("Loop"), "Naive", 2, steps=50, points=5)
monmdp.run_sweep(monmdp.Sweep(["Loop"], ["Full"], ["Naive"], 2, steps=50, points=5), sys.argv[1])
print(sorted(name for name in sys.modules if name.startswith("monmdp.cuda") or name == "ray"))
"""


def test_training_on_the_cpu_imports_no_gpu_code(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", NO_GPU_CODE, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")
