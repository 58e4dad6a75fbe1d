"""Summaries of a folder, compared with the same values computed from its rows."""

from __future__ import annotations

import math
import shutil
import statistics

import pytest
from sweeping import output_of

import monmdp
from monmdp.study.results import Results
from monmdp.study.sweep import requested

#: Some seeds solve it and some do not; two files a cell.
SWEEP = monmdp.Sweep(["Walk"], ["Full", "Ask"], ["Naive", "Directed"], seeds=30, steps=220, points=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    monmdp.run_sweep([SWEEP], folder)
    return folder


def rows(folder) -> dict[str, dict[int, list[float]]]:
    """Cell → step → returns of its seeds."""
    returns: dict[str, dict[int, list[float]]] = {}
    for row in monmdp.load(folder).to_pylist():
        returns.setdefault(row["cell"], {}).setdefault(row["step"], []).append(row["return"])
    return returns


def by_hand(folder) -> dict[str, tuple[int, int]]:
    """A seed is solved when its last return is no more than 1e-6 below the optimum."""
    finals = {identity: steps[220] for identity, steps in rows(folder).items()}
    best = {request.identity: monmdp.solve(request.job.problem).optimal_return for request in requested(SWEEP)}
    return {key: (sum(value >= best[key] - 1e-6 for value in finals[key]), len(finals[key])) for key in best}


def solved(folder) -> dict[str, tuple[int, int]]:
    """Cell → number of solved seeds and of all seeds."""
    return {cell.identity: (int(cell.solved.sum()), len(cell.seeds)) for cell in Results(folder).cells.values()}


def test_solved_seeds(folder):
    expected = by_hand(folder)
    assert solved(folder) == expected
    assert len({n_solved for n_solved, _ in expected.values()}) > 2, "cells must differ"


def test_the_command_prints_the_same_numbers(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    out = output_of(capsys, "results", str(folder))
    printed = [line.split() for line in out.splitlines() if line.strip().startswith(("Full", "Ask"))]
    assert "environment Walk, steps 220, seeds 30" in " ".join(out.split())
    expected = by_hand(folder)
    assert len(printed) == 4
    for request in requested(SWEEP):
        names = [request.job.problem.monitor.name, request.job.agent_name]
        share = expected[request.identity][0] / 30
        (line,) = (line for line in printed if line[:2] == names)
        assert line[-1] == f"{share:.0%}"
        assert float(line[2]) == round(statistics.mean(rows(folder)[request.identity][220]), 3)


def test_mean_curves(folder):
    curves = monmdp.mean_curves(folder)
    expected = rows(folder)
    assert curves.keys() == expected.keys()
    for identity, curve in curves.items():
        assert list(curve["steps"]) == sorted(expected[identity]) == [k * 220 // 8 for k in range(9)]
        for place, step in enumerate(curve["steps"]):
            returns = expected[identity][step]
            assert len(returns) == 30
            assert curve["mean"][place] == pytest.approx(statistics.fmean(returns), abs=1e-12)
            error = statistics.stdev(returns) / math.sqrt(30)
            assert curve["standard_error"][place] == pytest.approx(error, abs=1e-12)


def test_a_single_seed_has_no_standard_error(tmp_path):
    monmdp.run_sweep([monmdp.Sweep(["Walk"], ["Full"], ["Naive"], 1, steps=100, points=4)], tmp_path)
    (curve,) = monmdp.mean_curves(tmp_path).values()
    curves = monmdp.train(monmdp.make("Walk", "Full"), "Naive", 1, steps=100, points=4)
    assert list(curve["mean"]) == list(curves.returns[0])
    assert all(math.isnan(value) for value in curve["standard_error"])


def test_a_run_in_two_files_counts_once(folder, tmp_path):
    """As after two sweeps that did overlapping seeds at once."""
    monmdp.run_sweep([monmdp.Sweep(["Walk"], ["Full"], ["Naive"], [0, 7], steps=220, points=8)], tmp_path)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert len(list(tmp_path.rglob("*.parquet"))) > len(list(folder.rglob("*.parquet")))
    expected = by_hand(folder)
    assert solved(tmp_path) == expected
    for identity, curve in monmdp.mean_curves(tmp_path).items():
        assert curve["mean"] == pytest.approx(monmdp.mean_curves(folder)[identity]["mean"], abs=1e-12)
