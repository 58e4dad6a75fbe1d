"""Shared by the sweep tests: a tiny sweep, comparison of folders bit for bit, and commands as real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import monmdp
from monmdp.cli import main
from monmdp.study.results import Results
from monmdp.training.job import Job

#: 2 × 2 × 2 cells; the same as a sweep and as words on the command line.
TINY = monmdp.Sweep(["Loop", "Walk"], ["Full", "Ask"], ["Naive", "Directed"], seeds=3, steps=300, points=10)
TINY_WORDS = (
    "--envs", "Loop,Walk", "--monitors", "Full,Ask", "--agents", "Naive,Directed",
    "--seeds", "3", "--steps", "300", "--points", "10",
)  # fmt: skip
#: One cell.
SINGLE = monmdp.Sweep(["Walk"], ["Ask"], ["Naive"], seeds=3, steps=300, points=10)


def contents(folder: Path) -> dict[str, dict[str, Any]]:
    """The content of a folder, kind → column → bits, in an order that does not depend on its files."""
    columns = {}
    for kind in ("curves", "tables"):
        table = monmdp.load(folder, kind=kind)
        labels = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
        for name in labels:
            table = table.set_column(table.column_names.index(name), name, table.column(name).cast(pa.string()))
        keys = [name for name in ("cell", "seed", "step") if name in table.column_names]
        table = table.sort_by([(key, "ascending") for key in keys]).combine_chunks()
        columns[kind] = {name: _bits(table.column(name)) for name in table.column_names}
    return columns


def _bits(column: pa.ChunkedArray) -> Any:
    if pa.types.is_list(column.type):
        lists = column.combine_chunks()
        return pa.compute.list_value_length(lists).to_pylist(), _bits(pa.chunked_array([lists.flatten()]))
    if pa.types.is_floating(column.type):
        return column.to_numpy().astype(np.float64).view(np.int64).tolist()  # NaN is equal to NaN
    return column.to_pylist()


def assert_same(left: Path, right: Path) -> None:
    """The same runs with the same data, value for value, whatever the names of the files."""
    one, other = contents(left), contents(right)
    for kind in one:
        assert list(one[kind]) == list(other[kind])
        different = [name for name in one[kind] if one[kind][name] != other[kind][name]]
        assert different == [], f"{kind} differ in {different}"


def file_bytes(folder: Path) -> dict[str, bytes]:
    """Every file by its path in the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def finished(folder: Path) -> list[Path]:
    """Curves files with their final name."""
    return sorted((folder / "curves").rglob("*.parquet"))


def damage(folder: Path) -> list[str]:
    """One message per damaged file."""
    return Results(folder, required=False).damaged


def single_job(environment: Any, monitor: Any, agent: Any, **fields: Any) -> Job:
    """The job of a sweep with one environment, monitor and agent."""
    (job,) = monmdp.Sweep([environment], [monitor], [agent], **fields).jobs()
    return job


def runs_on_disk(folder: Path) -> int:
    """The number of distinct runs, counted from rows."""
    rows = monmdp.load(folder, columns=["cell", "seed"])
    return len(set(zip(rows.column("cell").to_pylist(), rows.column("seed").to_pylist(), strict=True)))


def output_of(capsys: Any, *words: str) -> str:
    """The output of a command, which must succeed."""
    assert main(list(words)) == 0
    return capsys.readouterr().out


def error_of(capsys: Any, *words: str) -> str:
    """The one line that a failing command prints, with exit code 2."""
    try:
        code = main(list(words))
    except SystemExit as stop:
        code = stop.code
    printed = capsys.readouterr()
    assert code == 2
    assert printed.err.count("\n") == 1, printed.err
    assert "Traceback" not in printed.err
    return printed.err


#: A process started in the background by a shell would ignore Ctrl-C.
_HEAR = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
_MAIN = "import sys; from monmdp.cli import main; sys.exit(main())"


_STARTED: list[subprocess.Popen[str]] = []


def start(*words: str, script: str = _MAIN, **environment: str) -> subprocess.Popen[str]:
    """Start `monmdp WORDS`, or a Python script, as a process that can be interrupted and killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HEAR + script, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200", **environment},
    )
    _STARTED.append(process)
    return process


def stop_all() -> None:
    """End all processes that still run."""
    while _STARTED:
        process = _STARTED.pop()
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            pipe.close()


def end(process: subprocess.Popen[str], deadline: float = 500) -> tuple[int, str, str]:
    """Wait for a process to end; returns its exit code, output and error output."""
    try:
        out, err = process.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"still running after {deadline} s") from None
    return process.returncode, out, err


def until(condition: Callable[[], Any], process: subprocess.Popen[str], deadline: float = 500) -> bool:
    """Wait until a condition holds; returns False if the process ended before."""
    last = time.monotonic() + deadline
    while not condition():
        if process.poll() is not None:
            return False
        assert time.monotonic() < last, "the condition did not become true"
        time.sleep(0.01)
    return True
