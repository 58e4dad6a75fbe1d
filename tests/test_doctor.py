"""`monmdp doctor`: what is installed, what works, and how to repair it; only a broken core is a failure."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path

import pytest
from plugin_packages import run_with, write_package

import monmdp
from monmdp.cli import main


def examine(target: Path, *words: str, code: int = 0, **environment: str) -> dict:
    done = run_with(target, "-m", "monmdp", "doctor", "--json", *words, **environment)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def states(findings: list[dict]) -> dict[str, str]:
    return {finding["name"]: finding["state"] for finding in findings}


def break_module(target: Path, name: str) -> Path:
    """A package that is installed and cannot be imported."""
    (target / f"{name}.py").write_text("raise ImportError('libsomething.so: cannot open shared object file')\n")
    return target


def test_everything_works(tmp_path):
    report = examine(tmp_path)
    assert report["core_works"] is True
    assert report["advice"] == []
    assert set(states(report["core"]).values()) == {"works"}
    assert report["versions"]["monmdp"] == monmdp.__version__
    assert report["versions"]["Python"].startswith(platform.python_version())
    assert report["versions"]["numba"] == version("numba")
    assert states(report["extras"])["test"] == "works"
    assert "compiled kernels" in report["cache"][0]["message"]
    assert "rm -r" in report["cache"][0]["message"]


def test_printed_tables(capsys):
    assert main(["doctor"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for part in ("versions", "machine", "core", "extras", "cores", "memory", "GPU", "cache", version("pyarrow")):
        assert part in printed.out
    assert printed.out.splitlines()[-1].startswith("Everything works.")


def test_a_cache_folder_that_cannot_be_written(tmp_path):
    """No user can write below a file, not even root; everything still works, only slower."""
    (tmp_path / "file").touch()
    place = str(tmp_path / "file" / "cache")
    report = examine(tmp_path, MONMDP_CACHE=place, NUMBA_DISABLE_JIT="1")
    assert report["core_works"] is True
    assert states(report["cache"]) == {"cache": "broken"}
    assert report["advice"] == [f"set MONMDP_CACHE to a folder that can be written, not {place}/monmdp"]


def test_plugins_found_and_broken_and_a_broken_extra(tmp_path):
    """Neither is a failure."""
    pytest.importorskip("pygame", reason="the extra human is not installed")
    code = "from monmdp import Environment\nclass Pond(Environment):\n    'A pond.'\n"
    target = write_package(tmp_path / "t", "fine-pond", code, environments="Pond")
    write_package(target, "sad-lake", "import no_such_module\n", monitors="Lake", agents="Heron")
    page = run_with(break_module(target, "pygame"), "-m", "monmdp", "doctor")
    assert page.returncode == 0
    assert "environment of fine-pond 1.0" in page.stdout
    for kind, name in (("monitor", "Lake"), ("agent", "Heron")):
        sentence = f"The {kind} '{name}' of the package sad-lake 1.0 cannot be used: ModuleNotFoundError"
        assert sentence in page.stdout
    repair = page.stdout.splitlines()[-1]
    assert repair.startswith("To do: ")
    assert "update or remove the package sad-lake" in repair
    assert "human: reinstall with pip install 'monmdp[human]'" in repair


def test_a_broken_core_is_a_failure(tmp_path):
    report = examine(break_module(tmp_path, "pyarrow"), code=2)
    assert states(report["core"])["results"] == "broken"
    assert states(report["core"])["exact solutions"] == "works"
    assert "libsomething" in next(part["message"] for part in report["core"] if part["name"] == "results")
    assert report["advice"][0].startswith("results: reinstall monmdp")


def test_a_broken_compiler_is_a_failure_in_one_line(tmp_path):
    done = run_with(break_module(tmp_path, "numba"), "-m", "monmdp", "doctor")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "The core does not work: exact solutions: reinstall monmdp" in done.stderr
    assert "numba" in done.stdout
