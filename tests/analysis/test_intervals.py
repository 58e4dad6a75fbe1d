"""One 95% interval of the final return everywhere: train, results, figures and the page."""

from __future__ import annotations

import csv
import json

import pytest
from scipy.stats import t

import monmdp
from monmdp.cli import main
from monmdp.figures import draw_figure
from monmdp.report.data import cell_data
from monmdp.study.results import Results

PROBLEM, STEPS, SEEDS, POINTS = ("Loop", "Ask"), 3_000, 6, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    monmdp.run_sweep(monmdp.Sweep(*([name] for name in PROBLEM), ["Naive"], SEEDS, STEPS, points=POINTS), folder)
    return folder


@pytest.fixture
def expected(folder):
    """Mean and half width of Student's interval by SciPy, from the returns as they are on disk."""
    returns = monmdp.load(folder, ["final_return"], kind="tables")["final_return"].to_numpy()
    low, high = t.interval(0.95, SEEDS - 1, returns.mean(), returns.std(ddof=1) / SEEDS**0.5)
    assert high - low > 0.01, "an interval without width would make this test empty"
    return pytest.approx((returns.mean(), (high - low) / 2), rel=1e-9)


def output(capsys, *words: str) -> dict:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_train(expected, capsys):
    words = "--agent", "Naive", "--seeds", str(SEEDS), "--steps", str(STEPS), "--points", str(POINTS)
    result = output(capsys, "train", *PROBLEM, *words)
    assert (result["final_return"], result["final_return_ci"]) == expected


def test_results(folder, expected, capsys):
    (cell,) = output(capsys, "results", str(folder))["cells"]
    assert (cell["final_return"], cell["final_return_ci"]) == expected


def test_page(folder, expected):
    (cell,) = Results(folder).cells.values()
    mean, half = cell_data(cell)["curves"]["return"]["final"]
    assert (mean, half) == pytest.approx(expected.expected, rel=1e-3), "the page rounds its numbers"


def test_figure(folder, expected, tmp_path):
    """Figures cut an interval above the optimum, so that its lower half is compared."""
    files = draw_figure("returns", folder, tmp_path)
    lines = next(file for file in files if file.suffix == ".csv").read_text().splitlines()
    last = [row for row in csv.DictReader(lines) if row["agent"] == "Naive"][-1]
    mean, low = float(last["mean"]), float(last["low"])
    assert (mean, mean - low) == expected
