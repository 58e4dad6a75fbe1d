"""`monmdp results`: the list of runs, and the check of its files."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re

import pytest
from scipy.stats import t
from sweeping import SINGLE, TINY, end, error_of, finished, output_of, start

import monmdp


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    monmdp.run_sweep([TINY], folder)
    return folder


def test_as_a_table(folder, capsys):
    """Every agent in every problem with return, 95% interval and solved; steps and seeds, the same in all, once."""
    out = output_of(capsys, "results", str(folder))
    assert "24 runs" in " ".join(out.split())
    assert "steps 300, seeds 3" in " ".join(out.split())
    rows = [tuple(line.split()) for line in out.splitlines() if line.strip().startswith(("Loop", "Walk"))]
    expected = []
    for environment, monitor, agent in itertools.product(("Loop", "Walk"), ("Full", "Ask"), ("Directed", "Naive")):
        curves = monmdp.train(monmdp.make(environment, monitor), agent, 3, 300, 10)
        mean, half = curves.final_returns.mean(), t.ppf(0.975, 2) * curves.final_returns.std(ddof=1) / math.sqrt(3)
        outcome = (f"{mean:.3f}", "±", f"{half:.3f}", f"{curves.solved.mean():.0%}")
        expected.append((environment, monitor, agent, *outcome))
    assert rows == expected


def test_variants_are_listed_with_what_differs(tmp_path, capsys, monkeypatch):
    """Twenty variants at 80 columns: one line each, no environment or monitor, and full names in the CSV file."""
    monkeypatch.setenv("COLUMNS", "80")
    alphas, epsilons = (0.05, 0.1, 0.2, 0.5, 1.0), (0.05, 0.1, 0.2, 0.4)
    agents = monmdp.grid("Naive(initial_q=-1.0)", alpha=[*alphas], epsilon=[*epsilons])
    folder, table = tmp_path / "out", tmp_path / "table.csv"
    monmdp.run_sweep(monmdp.Sweep(["Loop"], ["Ask"], agents, seeds=[3], steps=40, points=2), folder)
    out = output_of(capsys, "results", str(folder), "--out", str(table))
    assert "environment Loop, monitor Ask, steps 40, seeds 1" in " ".join(out.split())
    lines = [line for line in out.splitlines() if "Naive" in line]
    pairs = [*itertools.product(alphas, epsilons)]
    assert [line.split("  ")[0].strip() for line in lines] == [f"Naive(alpha={a}, epsilon={e})" for a, e in pairs]
    rows = [*csv.DictReader(table.read_text().splitlines())]
    assert [(float(row["alpha"]), float(row["epsilon"])) for row in rows] == pairs
    assert {(row["environment"], row["monitor"], row["final_return_ci"]) for row in rows} == {("Loop", "Ask", "")}
    assert rows[0]["agent"] == "Naive(alpha=0.05, epsilon=0.05, initial_q=-1.0)"
    output_of(capsys, "results", str(folder), "--out", str(tmp_path / "table.md"))
    assert (tmp_path / "table.md").read_text().splitlines()[2].startswith("| Naive(alpha=0.05, epsilon=0.05) |")


def test_long_names_are_below_the_table(tmp_path, capsys, monkeypatch):
    """At 80 columns, one line per cell; two agents that differ in options only keep them."""
    long, variants = "Naive(alpha=0.05, epsilon=0.1, initial_q=-1.0)", ("Oracle(epsilon=0.1)", "Oracle(epsilon=0.2)")
    monmdp.run_sweep(monmdp.Sweep(["Loop"], ["Full"], [long, *variants], seeds=3, steps=40, points=2), tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    lines = [line.strip() for line in output_of(capsys, "results", str(tmp_path)).splitlines()]
    assert [line.split("  ")[0] for line in lines if "±" in line][1:] == ["Naive", *variants]
    assert lines[-1] == f"Naive: {long}"


def test_as_json(folder, capsys):
    listed = json.loads(output_of(capsys, "results", str(folder), "--json"))
    assert (listed["runs"], len(listed["cells"]), listed["damaged"]) == (24, 8, [])
    first = listed["cells"][0]
    assert (first["environment"], first["monitor"], first["agent"], first["steps"], first["runs"]) == (
        "Loop", "Full", "Directed", 300, 3,
    )  # fmt: skip
    assert listed["bytes"] == sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def test_verify_an_intact_folder(folder, capsys):
    assert "Every file is intact: 16 files." in output_of(capsys, "results", str(folder), "--verify")


def test_json_stays_json_when_verified(folder):
    """Standard output is one JSON object, also with --verify."""
    code, out, _ = end(start("results", str(folder), "--verify", "--json"))
    assert code == 0
    assert json.loads(out)["runs"] == 24


def test_verify_reports_damage_in_one_line(tmp_path):
    monmdp.run_sweep([SINGLE], tmp_path)
    victim = finished(tmp_path)[0]
    victim.write_bytes(victim.read_bytes()[:100])
    code, out, err = end(start("results", str(tmp_path), "--verify"))
    assert code == 2
    assert victim.name in out
    assert re.fullmatch(r"monmdp: Damaged: 1 of 2 files; .*\n", err)


def test_a_run_in_two_files_is_listed_once(tmp_path, capsys):
    """Two processes with the same folder may save a run twice."""
    for place, seeds in (("a", [0, 1]), ("b", [1, 2])):
        sweep = monmdp.Sweep(["Walk"], ["Full"], ["Naive"], seeds, steps=50, points=5)
        monmdp.run_sweep([sweep], tmp_path / place)
    for path in (tmp_path / "b").rglob("*.parquet"):
        path.rename(tmp_path / "a" / path.relative_to(tmp_path / "b"))
    assert json.loads(output_of(capsys, "results", str(tmp_path / "a"), "--json"))["runs"] == 3


def test_cells_that_differ_in_a_setting_are_listed_separately(tmp_path, capsys):
    """The same names with a different number of steps are a different cell."""
    for steps in (50, 60):
        monmdp.run_sweep([monmdp.Sweep(["Walk"], ["Full"], ["Naive"], 2, steps=steps, points=5)], tmp_path)
    listed = json.loads(output_of(capsys, "results", str(tmp_path), "--json"))
    assert [cell["runs"] for cell in listed["cells"]] == [2, 2]


@pytest.mark.parametrize("words", [(), ("--verify",), ("--json",), ("--compact",)])
def test_folders_that_hold_no_results(tmp_path, words, capsys):
    assert "is not a results folder" in error_of(capsys, "results", str(tmp_path), *words)
    assert "There is no results folder" in error_of(capsys, "results", str(tmp_path / "none"), *words)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_runs_yet(tmp_path, capsys):
    monmdp.study.store.Store(tmp_path, create=True)
    assert "0 runs" in output_of(capsys, "results", str(tmp_path))
    assert json.loads(output_of(capsys, "results", str(tmp_path), "--json"))["runs"] == 0
    with pytest.raises(monmdp.MonMDPError, match="has no results yet"):
        monmdp.load(tmp_path)
