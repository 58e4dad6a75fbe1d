"""A metric added in one place, `training/metrics.py`, appears in Curves, Parquet, CSV and the page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import monmdp

#: The lines that a new metric needs, and where they go.
ADDED = {
    "METRICS = (": '\n    Metric("dear", "dear", np.float64, "last price", "Twice the monitor reward, negated."),',
    "exploring: int = 0": "\n    dear: float = 0.0",
    "tally.exploring + exploring,": " tally.dear - 2 * transition.monitor_reward,",
    "record.visited[point] = tally.visited": "\n    record.dear[point] = tally.dear",
}
SCRIPT = """
import json
import monmdp
from monmdp.report import build_page
from monmdp.study.results import Results

problem = monmdp.make("Loop", "Ask")
curves = monmdp.train(problem, "Naive", seeds=2, steps=60, points=3)
monmdp.run_sweep(
    [monmdp.Sweep(environments=["Loop"], monitors=["Ask"], agents=["Naive"], seeds=2, steps=60, points=3)], "results"
)
table = monmdp.load("results")
print(json.dumps({
    "curves": curves.dear.tolist(),
    "observed": curves.observed.tolist(),
    "parquet": table.column("dear").to_pylist(),
    "page": build_page(Results("results"), replays=()),
}))
"""


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A folder with a copy of the package, changed in one file; a function that runs Python with that copy."""
    folder = tmp_path_factory.mktemp("metric")
    shutil.copytree(
        Path(monmdp.__file__).parent, folder / "src" / "monmdp", ignore=shutil.ignore_patterns("__pycache__")
    )
    file = folder / "src" / "monmdp" / "training" / "metrics.py"
    text = file.read_text()
    for line, added in ADDED.items():
        assert text.count(line) == 1, line
        text = text.replace(line, line + added)
    file.write_text(text)

    def run(*arguments: str) -> str:
        # interpreted kernels give the same numbers, and need not be compiled again
        environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "NUMBA_DISABLE_JIT": "1"}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.folder = folder
    run.result = json.loads(run("-c", SCRIPT))
    return run


def test_curves_and_parquet_have_the_metric(changed):
    """Ask costs 0.2 per observed reward, so that the price follows from another metric."""
    for dear, observed in zip(changed.result["curves"], changed.result["observed"], strict=True):
        assert dear == pytest.approx([0.4 * count for count in observed])
        assert observed[-1] > 0
    assert changed.result["parquet"] == pytest.approx([x for run in changed.result["curves"] for x in run])


def test_csv_has_the_metric(changed):
    command = ["-m", "monmdp", "train", "Loop", "Ask", "--agent", "Naive", "--steps", "60", "--points", "3"]
    changed(*command, "--seeds", "2", "--save", "curves.csv")
    header = (changed.folder / "curves.csv").read_text().splitlines()[0].split(",")
    assert "dear" in header


def test_the_page_has_the_metric(changed):
    assert "last price" in changed.result["page"]
    assert "Twice the monitor reward, negated." in changed.result["page"]
