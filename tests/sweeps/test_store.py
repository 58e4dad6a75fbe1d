"""The store: files hold the values that `train` returns, and describe themselves."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import shutil
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest
from sweeping import SINGLE, TINY, finished, runs_on_disk, single_job

import monmdp
from monmdp.files import write_atomically
from monmdp.study.results import Results, compact
from monmdp.study.store import read_entry, write_parquet

COLUMNS = {
    "curves": ["environment", "monitor", "agent", "cell", "seed", "step", "return", "observed", "visited", "beta",
               "explored", "paid", "collected"],
    "tables": ["environment", "monitor", "agent", "cell", "seed", "optimal_return", "target_return",
               "final_return", "solved", "visit_counts", "q", "reward_model"],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    monmdp.run_sweep([TINY], folder)
    return folder


@pytest.mark.parametrize("agent", ["Naive", "Directed"])
def test_rows_equal_the_curves_of_training(folder, agent):
    """Value for value, NaN included: β of Naive, Q of states that cannot be reached."""
    curves = monmdp.train(monmdp.make("Loop", "Ask"), agent, 3, steps=300, points=10)
    rows = monmdp.load(folder).to_pandas()
    tables = monmdp.load(folder, kind="tables").to_pandas()
    for i, seed in enumerate(curves.seeds):
        where = f"environment == 'Loop' and monitor == 'Ask' and agent == {agent!r} and seed == {seed}"
        run = rows.query(where)
        assert list(run["step"]) == list(curves.steps) == [*range(0, 300, 30), 300]
        for column, values in {
            "return": curves.returns, "observed": curves.observed, "visited": curves.visited, "beta": curves.beta,
            "explored": curves.explored, "paid": curves.paid, "collected": curves.collected,
        }.items():  # fmt: skip
            assert np.array_equal(run[column], values[i], equal_nan=True), column
        (final,) = tables.query(where).to_dict("records")
        assert final["optimal_return"] == curves.optimal_return
        assert final["final_return"] == curves.returns[i, -1]
        assert final["solved"] == curves.solved[i]
        assert np.array_equal(final["visit_counts"], curves.visit_counts[i].ravel())
        assert np.array_equal(final["q"], curves.q[i].ravel(), equal_nan=True)
        assert np.array_equal(final["reward_model"], curves.reward_model[i])


def test_folders_of_earlier_versions_load_and_resume(folder, tmp_path):
    """Without the metrics that were added later, they are null, nothing runs again, and files merge with new ones."""
    shutil.copytree(folder, old := tmp_path / "old")
    for path in list(old.glob("curves/**/*.parquet")):
        entry, rows = read_entry(path, "curves"), pq.read_table(path)
        write_parquet(path.parent, rows.drop(["paid", "collected"]), "curves", entry.settings, entry.seeds)
        path.unlink()
    report = monmdp.run_sweep([TINY], old)
    assert (report.done, report.damaged) == (0, [])
    assert monmdp.run_sweep([dataclasses.replace(TINY, seeds=4)], old).done > 0
    compact(old)
    rows = monmdp.load(old).to_pandas()
    assert (rows["paid"].isna() == (rows["seed"] < 3)).all()
    assert (rows["collected"].isna() == (rows["seed"] < 3)).all()
    assert not rows["observed"].isna().any()
    cell = Results(old).cells["Loop", "Ask", "Naive"]
    assert cell.observed_until_solved.shape == cell.paid_until_solved.shape == (4,)


@pytest.mark.parametrize("kind", ["curves", "tables"])
def test_columns_are_those_of_the_documentation(folder, kind):
    table = monmdp.load(folder, kind=kind)
    assert table.column_names == COLUMNS[kind]
    assert len(table) == 24 * (11 if kind == "curves" else 1)
    assert all(column in monmdp.load.__doc__ for column in COLUMNS["curves"])


def test_some_columns(folder):
    table = monmdp.load(folder, columns=["step", "return"])
    assert sorted(table.column_names) == ["return", "step"]
    with pytest.raises(monmdp.MonMDPError, match="retrun"):
        monmdp.load(folder, columns=["retrun"])


def test_a_file_describes_itself(folder):
    """Settings, version, digest and seeds, readable with nothing but a Parquet reader."""
    for kind in ("curves", "tables"):
        (path,) = (folder / kind / "Walk" / "Ask" / "Directed").glob("*.parquet")
        described = json.loads(pq.read_schema(path).metadata[b"monmdp"])
        assert described["monmdp"] == monmdp.__version__
        assert described["seeds"] == [0, 1, 2]
        assert described["settings"] == single_job("Walk", "Ask", "Directed", steps=300, points=10).run_settings
        assert described["settings"]["problem"] == monmdp.make("Walk", "Ask").digest
        assert described["settings"]["agent_options"]["initial_q"] == -10.0
        assert pq.ParquetFile(path).metadata.row_group(0).column(6).compression == "ZSTD"


def test_a_run_in_two_files_counts_once(tmp_path):
    for seeds in ([0, 1], [1, 2]):
        monmdp.run_sweep([dataclasses.replace(SINGLE, seeds=seeds)], tmp_path / str(seeds))
    shutil.copytree(tmp_path / "[0, 1]", tmp_path / "both")
    shutil.copytree(tmp_path / "[1, 2]", tmp_path / "both", dirs_exist_ok=True)
    assert len(finished(tmp_path / "both")) == 2
    for columns in (None, ["return"]):
        assert len(monmdp.load(tmp_path / "both", columns=columns)) == 3 * 11
    assert sorted(monmdp.load(tmp_path / "both", kind="tables").column("seed").to_pylist()) == [0, 1, 2]


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, sign: str) -> None:
        self.sign = sign

    def __reduce__(self):
        return open, (self.sign, "w")


def test_reading_executes_nothing(tmp_path):
    monmdp.run_sweep([SINGLE], tmp_path / "r")
    sign = tmp_path / "executed"
    home = finished(tmp_path / "r")[0].parent
    for name in ("a.pkl", "b.pickle", "c.npy", "d.parquet"):
        (home / name).write_bytes(pickle.dumps(Bomb(str(sign))))
    for name in ("__init__.py", "conftest.py", "sitecustomize.py"):
        (home / name).write_text(f"open({str(sign)!r}, 'w')")
    with pytest.warns(UserWarning, match=r"d\.parquet"):
        assert len(monmdp.load(tmp_path / "r")) == 3 * 11
    report = monmdp.run_sweep([SINGLE], tmp_path / "r")
    assert (report.runs, len(report.damaged)) == (0, 1)
    assert runs_on_disk(tmp_path / "r") == 3
    assert not sign.exists()


def test_bytes_are_on_the_disk_before_a_file_has_its_name(tmp_path, monkeypatch):
    path, flushed = tmp_path / "file", []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        flushed.append((os.fstat(descriptor).st_size, path.exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_atomically(path, b"x" * 5000)
    assert flushed[0] == (5000, False)
    assert path.read_bytes() == b"x" * 5000


def test_two_writers_of_one_file(tmp_path):
    """Two processes may write the same file; two threads do so here."""
    wrong: list[BaseException] = []

    def write() -> None:
        try:
            for _ in range(100):
                write_atomically(tmp_path / "file", b"x" * 5000)
        except (OSError, monmdp.MonMDPError) as error:
            wrong.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
