"""pandas, Polars and DuckDB read a folder in one line, with the same result."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sweeping import SINGLE, finished

import monmdp

#: Names with options have "=" in them, which readers of partitioned folders take for a column.
SWEEP = monmdp.Sweep(
    ["Walk", "Loop(step_limit=40)"], ["Full", "Ask(cost=0.5)"], ["Naive", "Naive(epsilon=0.1)"], 2, steps=200, points=5
)
KEYS = ["cell", "seed", "step"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    monmdp.run_sweep([SWEEP], folder)
    return folder


def tidy(frame: pd.DataFrame) -> pd.DataFrame:
    labels = dict.fromkeys(("environment", "monitor", "agent", "cell"), "str")
    return frame.astype(labels).sort_values(KEYS, ignore_index=True)


def reads(folder):
    return {
        "pandas": lambda: pd.read_parquet(folder / "curves"),
        "polars": lambda: pl.read_parquet(folder / "curves/**/*.parquet"),
        "duckdb": lambda: duckdb.sql(f"SELECT * FROM '{folder}/curves/**/*.parquet'"),
    }


def as_pandas(frame) -> pd.DataFrame:
    if isinstance(frame, pd.DataFrame):
        return tidy(frame)
    if isinstance(frame, pl.DataFrame):
        return tidy(pd.DataFrame(frame.to_dict(as_series=False)))
    return tidy(pd.DataFrame(dict(zip(frame.columns, zip(*frame.fetchall(), strict=True), strict=True))))


@pytest.mark.parametrize("reader", ["pandas", "polars", "duckdb"])
def test_one_line_reads_all(folder, reader):
    expected = tidy(monmdp.load(folder).to_pandas().drop(columns="epsilon"))  # an option that differs, not in the files
    read = as_pandas(reads(folder)[reader]())
    assert list(read.columns) == list(expected.columns)
    assert len(read) == len(expected) == 16 * 6
    for name in expected.columns:
        if expected[name].dtype.kind == "f":
            assert np.array_equal(read[name].astype(float), expected[name], equal_nan=True), name
        else:
            assert list(read[name]) == list(expected[name]), name


@pytest.mark.parametrize("reader", ["pandas", "polars", "duckdb"])
def test_readers_ignore_quarantined_files(tmp_path, reader):
    monmdp.run_sweep([SINGLE], tmp_path)
    finished(tmp_path)[0].write_bytes(b"")
    assert len(monmdp.run_sweep([SINGLE], tmp_path).damaged) == 1
    assert len(as_pandas(reads(tmp_path)[reader]())) == 3 * 11
