"""Packages for tests of plug-ins: the example, really installed, and small broken ones written by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "examples" / "plugin"


def install_example(target: Path) -> Path:
    """The example plug-in, built and installed into a folder of its own."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run([*command, "--target", str(target), str(EXAMPLE)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def write_package(target: Path, package: str, code: str, **entries: str) -> Path:
    """A package with one module, its metadata and its entry points: environments="Name", agents="Name = module:X"."""
    module = package.replace("-", "_")
    target.mkdir(exist_ok=True)
    (target / f"{module}.py").write_text(code)
    described = target / f"{module}-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = []
    for kind, entry in entries.items():
        line = entry if "=" in entry else f"{entry} = {module}:{entry}"
        lines += [f"[monmdp.{kind}]", line]
    (described / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return target


def run_with(target: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with the packages of a folder."""
    path = os.pathsep.join([str(target), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {**os.environ, "PYTHONPATH": path, "COLUMNS": "300", **environment}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=300, env=variables)
