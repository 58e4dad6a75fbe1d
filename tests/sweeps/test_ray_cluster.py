"""A real Ray cluster of a head and two workers: the same data as here, also when a node dies during the sweep."""

from __future__ import annotations

import select
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from sweeping import assert_same, damage, end, file_bytes, finished, runs_on_disk, start, until

import monmdp

if find_spec("ray") is None:
    pytest.skip("Ray is an extra", allow_module_level=True)

#: Eight batches of a second or so.
SWEEP = monmdp.Sweep(["Hazard", "Loop"], ["Experts", "Ask"], ["UCB", "Naive"], 25, steps=150_000, points=50)
WORDS = (
    "--envs", "Hazard,Loop", "--monitors", "Experts,Ask", "--agents", "UCB,Naive", "--seeds", "25",
    "--steps", "150000", "--points", "50",
)  # fmt: skip
SMALL = (
    "--envs", "Walk", "--monitors", "Full", "--agents", "Naive", "--seeds", "2", "--steps", "200", "--points", "5",
)  # fmt: skip
QUIET = {"RAY_DEDUP_LOGS": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}


class Nodes:
    """The cluster, in a process of its own."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("ray_nodes.py")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(script)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.address = self.answer()
        assert self.address, "the cluster did not start"

    def answer(self) -> str:
        """The next line it prints, or an empty string after a minute."""
        heard, _, _ = select.select([self.process.stdout], [], [], 60)
        return self.process.stdout.readline().strip() if heard else ""

    def kill_a_worker(self) -> None:
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        assert self.answer() == "killed"

    def close(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(timeout=60)
        finally:
            self.process.kill()
            self.process.stdout.close()


@pytest.fixture(scope="module")
def nodes():
    nodes = Nodes()
    yield nodes
    nodes.close()


@pytest.mark.slow
def test_a_node_that_dies_and_an_interrupt(nodes, undisturbed, tmp_path):
    """First Ctrl-C in the middle, then the same command again while a worker node is killed."""
    command = ("reproduce", *WORDS, "--out", str(tmp_path / "r"), "--on", f"ray:{nodes.address}")
    process = start(*command, **QUIET)
    assert until(lambda: finished(tmp_path / "r"), process)
    process.send_signal(signal.SIGINT)
    code, out, err = end(process, deadline=300)
    assert code == 130, err
    assert "The same command continues from there" in out
    there = runs_on_disk(tmp_path / "r")
    assert 0 < there < 200
    assert damage(tmp_path / "r") == []

    process, before = start(*command, **QUIET), len(finished(tmp_path / "r"))
    assert until(lambda: len(finished(tmp_path / "r")) > before, process)
    nodes.kill_a_worker()
    assert process.poll() is None, "the node must die in the middle"
    code, out, err = end(process)
    assert code == 0, out + err
    assert f"{200 - there} runs in" in out
    assert damage(tmp_path / "r") == []
    assert_same(tmp_path / "r", undisturbed)
    assert file_bytes(tmp_path / "r") == file_bytes(undisturbed)


def test_a_full_disk(nodes, tmp_path):
    script = (
        "import sys; from monmdp.cli import main; from monmdp.study import store\n"
        "def full(path, content): raise store.WriteError('The disk is full.')\n"
        "store.Store(sys.argv[-1], create=True); store.write_atomically = full; sys.exit(main())"
    )
    words = ("reproduce", *SMALL, "--on", f"ray:{nodes.address}", "--out", str(tmp_path))
    code, _, err = end(start(*words, script=script, **QUIET))
    assert code == 2, err
    assert "The disk is full. Finished runs are saved" in err
    assert "Traceback" not in err


def test_a_batch_that_no_node_can_hold(nodes, tmp_path):
    """A table of 12,500² numbers on nodes of 500 MiB: an error, instead of waiting for a larger node."""
    large = ("--envs", "Empty(rows=50, columns=50)", "--monitors", "Full", "--agents", "Directed", "--seeds", "2")
    words = ("reproduce", *large, "--steps", "200", "--points", "5", "--on", f"ray:{nodes.address}")
    code, _, err = end(start(*words, "--out", str(tmp_path), **QUIET), deadline=300)
    assert code == 2, err
    assert "memory" in err
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_cluster_on_this_machine(nodes, tmp_path):
    """`--on ray` starts its own cluster, whatever else runs here, and ends it."""
    sweep = monmdp.Sweep(["Walk", "Loop"], ["Ask(cost=0.5)"], ["Naive", "Directed"], 26, steps=200, points=10)
    monmdp.run_sweep([sweep], tmp_path / "here")
    words = ("--envs", "Walk,Loop", "--monitors", "Ask(cost=0.5)", "--agents", "Naive,Directed", "--seeds", "26")
    command = ("reproduce", *words, "--steps", "200", "--points", "10", "--on", "ray", "--out", str(tmp_path / "ray"))
    code, out, err = end(start(*command, **QUIET))
    assert code == 0, out + err
    assert "104 runs in" in out
    assert file_bytes(tmp_path / "ray") == file_bytes(tmp_path / "here")
