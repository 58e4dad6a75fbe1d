"""The disk cache of compiled kernels never stops the work: without it, or with damaged files, kernels are compiled."""

import subprocess
import sys
from pathlib import Path

#: Solves a problem and prints the number of kernels that were loaded from the cache.
SCRIPT = """
import resource, signal, sys
limit = int(sys.argv[1])
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from monmdp.cli import main
from monmdp.kernels.bellman import value_iteration
code = main(["solve", "Loop", "Ask", "--json"])
print(sum(value_iteration.stats.cache_hits.values()))
sys.exit(code)
"""


def solve(cache: Path, largest_file: int = 0) -> tuple[str, int]:
    """Solve in a new process; returns the warnings and the number of kernels from the cache."""
    environment = {"PATH": "/usr/bin:/bin", "MONMDP_CACHE": str(cache), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(largest_file)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert '"optimal_return": 0.96059601' in done.stdout
    return done.stderr, int(done.stdout.split()[-1])


def test_damaged_files_are_replaced(tmp_path):
    """The index of a kernel, and its code."""
    assert solve(tmp_path) == ("", 0)
    for kind in ("nbi", "nbc"):
        for path in tmp_path.rglob(f"*.{kind}"):
            path.write_bytes(path.read_bytes()[:20])
        warning, from_cache = solve(tmp_path)
        assert from_cache == 0
        assert warning.startswith(f"Warning: The cache of compiled kernels in {tmp_path}")
        assert "damaged files, which are replaced" in warning
        assert warning.count("Warning") == 1
    assert solve(tmp_path) == ("", 1)


def test_a_full_disk(tmp_path):
    warning, from_cache = solve(tmp_path, largest_file=100)
    assert from_cache == 0
    assert "cannot be written" in warning
    assert warning.count("Warning") == 1
    assert not list(tmp_path.rglob("*.tmp.*"))
    assert solve(tmp_path)[0] == ""


def test_doctor_sees_that_the_disk_is_full(tmp_path):
    from monmdp.kernels.compile import can_be_written

    assert can_be_written(tmp_path, 1000)
    assert not list(tmp_path.iterdir())
    script = SCRIPT.replace('["solve", "Loop", "Ask", "--json"]', '["doctor"]')
    environment = {"PATH": "/usr/bin:/bin", "MONMDP_CACHE": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", script, "100000"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "its disk is full" in " ".join(done.stdout.split()), done.stdout


#: Compiles one kernel of the library for a memory of a module that later processes do not have, or for QMemory.
OWN = """
import sys, types
from monmdp.agents.base import no_beta
from monmdp.agents.q_learning import QMemory, extended_memory
numbers = QMemory(*[0.0] * 7)
if sys.argv[1] == "own":
    sys.modules["mine"] = types.ModuleType("mine")
    sys.modules["mine"].Mine = extended_memory("mine", "Mine", patience=int)
    numbers = sys.modules["mine"].Mine(*numbers, 3)
no_beta(numbers, 0)
print(sum(no_beta.stats.cache_hits.values()))
"""


def test_memories_of_users_are_not_stored(tmp_path):
    """Other scripts cannot import their classes, and would take the cache for damaged."""
    environment = {"PATH": "/usr/bin:/bin", "MONMDP_CACHE": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    for kind, from_cache in (("own", "0"), ("library", "0")):
        done = subprocess.run([sys.executable, "-c", OWN, kind], env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stderr, done.stdout.strip()) == (0, "", from_cache)
