"""Imports and help are fast because they do not import heavy packages."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numba", "llvmlite", "matplotlib", "pyarrow", "pandas", "PIL", "ray")


@pytest.mark.parametrize(
    "code", ["import monmdp", "import monmdp.cli", "from monmdp.cli import main; main(['--help'])"]
)
def test_heavy_packages_are_not_imported(code: str) -> None:
    ends = f"import atexit, sys; atexit.register(lambda: sys.stderr.write(str(set({HEAVY}) & sys.modules.keys())))"
    ran = subprocess.run([sys.executable, "-c", f"{ends}; {code}"], capture_output=True, text=True, check=True)
    assert ran.stderr == "set()"
