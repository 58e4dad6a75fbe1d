"""The disk cache of compiled kernels never stops the work: without it, or with damaged files, kernels are compiled."""

import subprocess
import sys
from pathlib import Path

#: Files larger than a limit cannot be written, as if the disk were full.
LIMIT = """
import resource, signal, sys, types
limit = int(sys.argv[1])
if limit:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
"""
#: Compiles a small kernel, for a memory of the library or of a module that later processes do not have; prints how
#: often it was loaded from the cache.
COMPILE = """
from monmdp.agents.base import no_beta
from monmdp.agents.q_learning import QMemory, extended_memory
memory = QMemory(*[0.0] * 7)
if sys.argv[2:]:
    sys.modules["mine"] = types.ModuleType("mine")
    sys.modules["mine"].Mine = extended_memory("mine", "Mine", patience=int)
    memory = sys.modules["mine"].Mine(*memory, 3)
assert str(no_beta(memory, 0)) == "nan"
print(sum(no_beta.stats.cache_hits.values()))
"""


def run(cache: Path, *words: str, largest_file: int = 0, script: str = COMPILE, **more: str) -> tuple[str, str]:
    """Run a script in a new process; returns its warnings and what it prints."""
    environment = {"PATH": "/usr/bin:/bin", "MONMDP_CACHE": str(cache), "PYTHONPATH": ":".join(sys.path), **more}
    command = [sys.executable, "-c", LIMIT + script, str(largest_file), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr, done.stdout.strip()


def test_damaged_files_are_replaced(tmp_path):
    """The index of a kernel, and its code."""
    assert run(tmp_path) == ("", "0")
    for kind in ("nbi", "nbc"):
        for path in tmp_path.rglob(f"*.{kind}"):
            path.write_bytes(path.read_bytes()[:20])
        warning, from_cache = run(tmp_path)
        assert from_cache == "0"
        assert f"KernelCacheWarning: The cache of compiled kernels in {tmp_path}" in warning
        assert "damaged files, which are replaced" in warning
        assert warning.count("Warning: ") == 1
    assert run(tmp_path) == ("", "1")


def test_a_full_disk(tmp_path):
    """There is one warning, and `monmdp doctor` reports it too."""
    warning, from_cache = run(tmp_path, largest_file=100)
    assert from_cache == "0"
    assert "cannot be written" in warning
    assert warning.count("Warning: ") == 1
    assert not list(tmp_path.rglob("*.tmp.*"))
    assert run(tmp_path)[0] == ""
    doctor = "from monmdp.cli import main; sys.exit(main(['doctor']))"
    _, report = run(tmp_path / "other", largest_file=100_000, script=doctor, NUMBA_DISABLE_JIT="1")
    assert "its disk is full" in " ".join(report.split()), report


def test_writing_a_trial_file_leaves_nothing(tmp_path):
    from monmdp.kernels.compile import can_be_written

    assert can_be_written(tmp_path, 1000)
    assert not list(tmp_path.iterdir())


def test_memories_of_users_are_not_stored(tmp_path):
    """Other scripts cannot import their classes, and would take the cache for damaged."""
    assert run(tmp_path, "own") == ("", "0")
    assert run(tmp_path) == ("", "0")
