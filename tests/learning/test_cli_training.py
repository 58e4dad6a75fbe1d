"""`monmdp train`: what it prints, saves and plots, and its errors."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from comparing import CURVES, TABLES, same

import monmdp
from monmdp.cli import main
from monmdp.training.metrics import METRICS

FIELDS = [
    "environment", "monitor", "agent", "seeds", "steps", "optimal_return", "final_return",
    "final_return_ci", "solved", "observed", "paid", "collected",
    "seconds",
]  # fmt: skip


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")


def train(capsys, *words: str) -> str:
    assert main(["train", *words]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def test_json(capsys):
    result = json.loads(train(capsys, "empty", "ask", "--agent", "directed", "--seeds", "3", "--json"))
    assert set(FIELDS) <= set(result)
    assert (result["environment"], result["monitor"], result["agent"]) == ("Empty", "Ask", "Directed")
    assert (result["seeds"], result["steps"]) == (3, 15_000)
    assert result["optimal_return"] == pytest.approx(0.99**10)
    curves = monmdp.train(monmdp.make("Empty", "Ask"), "Directed", 3)
    assert result["final_return"] == curves.final_returns.mean()
    assert result["final_return_ci"] == curves.final_return_ci
    assert result["solved"] == curves.solved.mean()
    assert result["observed"] == curves.observed[:, -1].mean()
    assert result["seconds"] > 0


def test_options_reach_training(capsys):
    words = ("Walk", "Ask(cost=0.1)", "--agent", "Naive(epsilon=0.3)", "--seeds", "2", "--steps", "900")
    result = json.loads(train(capsys, *words, "--points", "9", "--discount", "0.9", "--threads", "1", "--json"))
    curves = monmdp.train(monmdp.make("Walk", "Ask(cost=0.1)", discount=0.9), "Naive(epsilon=0.3)", 2, 900, 9)
    assert result["agent"] == "Naive(epsilon=0.3)"
    assert result["final_return"] == curves.final_returns.mean()
    assert result["optimal_return"] == pytest.approx(0.9**5)
    one = json.loads(train(capsys, "RiverSwim", "--seeds", "1", "--steps", "50", "--evaluation", "sampled", "--json"))
    assert one["final_return_ci"] is None
    exact, sampled = (
        monmdp.train(monmdp.make("RiverSwim", "Full"), "Directed", 1, 50, evaluation=how).final_returns.mean()
        for how in ("exact", "sampled")
    )
    assert one["final_return"] == sampled != exact


def test_the_table(capsys):
    shown = train(capsys, "Loop", "Full", "--seeds", "4")
    for words in ("Directed in Loop + Full", "4 × 5,000", "0.9606", "± 0.0000", "4 of 4 seeds", "5,000", "100.0%"):
        assert words in shown
    assert "45 of 45" in shown


def test_rewards_that_can_never_be_observed_are_reported(capsys):
    """The cautious policy earns less than the optimal one; a reward that was given up has a reason."""
    words = ("Hazard", "Ask(never_observable=[(1, 0)])", "--agent", "DirectedModel", "--steps", "4000", "--points", "4")
    out = train(capsys, *words)
    exact = monmdp.solve(monmdp.make(*words[:2]))
    assert f"cautious return {exact.cautious_return:.4f}" in " ".join(out.split())
    assert exact.cautious_return < exact.optimal_return
    assert "should have been seen" in out
    assert "cautious return" not in train(capsys, "Loop", "Ask", "--agent", "Naive", "--steps", "100")


def test_save_everything(capsys, tmp_path):
    path = tmp_path / "run.npz"
    assert str(path) in train(capsys, "Loop", "Ask", "--seeds", "2", "--steps", "600", "--save", str(path))
    curves = monmdp.train(monmdp.make("Loop", "Ask"), "Directed", 2, steps=600)
    with np.load(path) as saved:
        for name in (*CURVES, *TABLES, "steps"):
            assert same(saved[name], getattr(curves, name)), name
        assert saved["seeds"].tolist() == [0, 1]
        summary = json.loads(str(saved["summary"]))
    assert summary["digest"] == curves.problem.digest
    assert summary["final_return"] == curves.final_returns.mean()


def test_save_the_curves(capsys, tmp_path):
    path = tmp_path / "run.csv"
    train(capsys, "Loop", "Ask", "--seeds", "2", "--steps", "600", "--points", "10", "--save", str(path))
    curves = monmdp.train(monmdp.make("Loop", "Ask"), "Directed", 2, steps=600, points=10)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["environment", "monitor", "agent", "seed", "step", *(metric.column for metric in METRICS)]
    assert [int(row["seed"]) for row in rows] == [0] * 11 + [1] * 11
    assert [int(row["step"]) for row in rows[:11]] == curves.steps.tolist()
    assert same(np.array([float(row["return"]) for row in rows]), curves.returns.ravel())
    assert same(np.array([float(row["beta"]) for row in rows]), curves.beta.ravel())
    assert same(np.array([int(row["observed"]) for row in rows]), curves.observed.ravel())


@pytest.mark.parametrize(("name", "magic"), [("run.png", b"\x89PNG"), ("run.pdf", b"%PDF"), ("run.svg", b"<?xml")])
def test_plot(capsys, tmp_path, name, magic):
    path = tmp_path / name
    train(capsys, "Loop", "--seeds", "2", "--steps", "300", "--plot", str(path))
    assert path.read_bytes().startswith(magic)
    assert path.stat().st_size > 2000


@pytest.mark.parametrize(
    ("words", "culprit", "hint"),
    [
        (("Loop", "--agent", "Directd"), "'Directd'", "'Directed'"),
        (("Loop", "--agent", "Naive(alhpa=1)"), "'alhpa'", "'alpha'"),
        (("Loop", "--agent", "Naive(alpha=nan)"), "alpha", "between 0 and 1"),
        (("Lopp",), "'Lopp'", "'Loop'"),
        (("Loop", "--seeds", "0"), "0", "seeds"),
        (("Loop", "--steps", "0"), "0", "steps"),
        (("Loop", "--steps", "10", "--points", "11"), "11", "points"),
        (("Loop", "--points", "0"), "0", "points"),
        (("Loop", "--threads", "0"), "0", "threads"),
        (("Loop", "--save", "run.txt"), "run.txt", ".npz"),
        (("Loop", "--plot", "run.bmp"), "run.bmp", ".png"),
        (("Loop", "--save", "/no/such/folder/run.npz"), "/no/such/folder", "exist"),
        (("Loop", "--plot", "/no/such/folder/run.png"), "/no/such/folder", "exist"),
        (("Walk",), "Walk + Full", "steps"),
        (("Empty", "Ask(cost=0.5)"), "Ask(cost=0.5)", "steps"),
    ],
)
def test_bad_values_print_one_line(capsys, words, culprit, hint):
    assert main(["train", *words]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("monmdp: ")
    assert culprit in printed.err
    assert hint in printed.err


def test_too_little_memory_prints_one_line(capsys, monkeypatch):
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: 10_000)
    assert main(["train", "Hazard", "Button"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "KiB" in said
    assert "choose a smaller" in said


@pytest.mark.parametrize("option", ["--save", "--plot"])
def test_a_folder_where_a_file_should_be(capsys, tmp_path, option):
    """Files are checked before training."""
    folder = tmp_path / ("taken.npz" if option == "--save" else "taken.png")
    folder.mkdir()
    assert main(["train", "Loop", "--seeds", "1", "--steps", "20", option, str(folder)]) == 2
    assert "taken" in capsys.readouterr().err


def test_another_process_gets_the_same_numbers(tmp_path):
    """The same seed in a new interpreter, with its own hash seed and threads; no files are written."""
    words = [sys.executable, "-m", "monmdp", "train", "Hazard", "Button", "--seeds", "3", "--steps", "3000", "--json"]
    done = subprocess.run([*words, "--threads", "1"], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    curves = monmdp.train(monmdp.make("Hazard", "Button"), "Directed", 3, steps=3000)
    for name, value in curves.summary().items():
        assert name == "seconds" or result[name] == value
    assert not list(tmp_path.iterdir())


def test_saved_files_are_complete(capsys, tmp_path):
    path = tmp_path / "run.npz"
    train(capsys, "Loop", "--seeds", "1", "--steps", "50", "--save", str(path), "--json")
    assert zipfile.ZipFile(path).testzip() is None
