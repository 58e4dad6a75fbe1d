"""Shards of a job array: run separately, together they are one run, byte for byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sweeping import error_of, file_bytes, output_of

import monmdp

#: Two batches a cell, so that a cell is shared between shards.
WORDS = (
    "--envs", "Loop,Walk,OneWay", "--monitors", "Full,Ask(cost=0.5)", "--agents", "Naive", "--seeds", "26",
    "--steps", "200", "--points", "10",
)  # fmt: skip
SCRIPT = Path(__file__).parents[2] / "examples" / "slurm.sh"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    sweep = monmdp.Sweep(["Loop", "Walk", "OneWay"], ["Full", "Ask(cost=0.5)"], ["Naive"], 26, steps=200, points=10)
    monmdp.run_sweep([sweep], folder)
    assert len(file_bytes(folder)) == 2 * 12 + 1
    return folder


def test_four_shards_into_one_folder(whole, tmp_path, capsys):
    sizes = []
    for shard in ("3/4", "1/4", "4/4", "2/4"):
        output_of(capsys, "reproduce", *WORDS, "--out", str(tmp_path), "--shard", shard)
        sizes.append(len(file_bytes(tmp_path)))
    assert sizes == sorted(set(sizes)), "every shard adds something"
    assert file_bytes(tmp_path) == file_bytes(whole)
    assert "has all runs (156)." in output_of(capsys, "reproduce", *WORDS, "--out", str(tmp_path))


def test_four_folders_merged_by_copying(whole, tmp_path, capsys):
    for shard in range(1, 5):
        output_of(capsys, "reproduce", *WORDS, "--out", str(tmp_path / str(shard)), "--shard", f"{shard}/4")
        shutil.copytree(tmp_path / str(shard), tmp_path / "merged", dirs_exist_ok=True)
    assert file_bytes(tmp_path / "merged") == file_bytes(whole)


def test_a_shard_done_twice_does_nothing(tmp_path, capsys):
    output_of(capsys, "reproduce", *WORDS, "--out", str(tmp_path), "--shard", "2/4")
    assert "Nothing to do" in output_of(capsys, "reproduce", *WORDS, "--out", str(tmp_path), "--shard", "2/4")


@pytest.mark.parametrize(
    "shard", ["5/4", "0/4", "1/0", "4", "1/2/3", "a/b", "-1/4", "1.5/4", "", "²/³", "٢/٤", "1/" + "9" * 5000]
)
def test_shards_that_do_not_exist(tmp_path, shard, capsys):
    assert "shard" in error_of(capsys, "reproduce", *WORDS, "--out", str(tmp_path / "r"), f"--shard={shard}")
    assert not (tmp_path / "r").exists()


def task(number: int, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """One task of a job array, as SLURM starts it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {
        **os.environ, "PATH": path, "SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_COUNT": "2",
        "PRESET": "paper", "OUT": str(folder), **environment,
    }  # fmt: skip
    return subprocess.Popen(
        ["bash", str(SCRIPT), *WORDS], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_the_slurm_script(whole, tmp_path):
    """Both tasks at once, as on a cluster with a shared disk."""
    for process in [task(number, tmp_path) for number in (1, 2)]:
        _, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
    assert file_bytes(tmp_path) == file_bytes(whole)


def test_the_slurm_script_passes_failure_on(tmp_path):
    """Otherwise SLURM would call a failed task completed."""
    process = task(1, tmp_path, PRESET="papr")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "'papr'" in err
    assert "#SBATCH --array=1-4\n" in SCRIPT.read_text()
