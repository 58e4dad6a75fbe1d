"""What is built: the wheel has all that the package needs, and works where nothing else is."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import monmdp

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "monmdp"


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def test_the_wheel_has_every_file_of_the_package_and_no_other(dist):
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        inside = {name for name in wheel.namelist() if ".dist-info/" not in name}
    sources = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert inside == {str(path.relative_to(PACKAGE.parent)) for path in sources}
    assert {Path(name).suffix for name in inside} == {".py", ".js", ".css", ".html", ".mplstyle", ".typed"}


def test_the_wheel_says_what_it_is(dist):
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        told = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
    assert f"\nVersion: {monmdp.__version__}\n" in told["METADATA"]
    assert "MIT" in told["LICENSE"]
    scripts = configparser.ConfigParser()
    scripts.read_string(told["entry_points.txt"])
    assert dict(scripts["console_scripts"]) == {"monmdp": "monmdp.cli:main"}


def test_the_sdist_has_what_a_packager_needs(dist):
    with tarfile.open(only(dist, "*.tar.gz")) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ["README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "tests/test_packaging.py"]
    assert {*wanted, "examples/plugin/pyproject.toml", "docs/plugins.md"} <= inside
    assert not any(part in name.split("/") for name in inside for part in (".venv", "results", "dist", "__pycache__"))


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == monmdp.__version__
    assert cited["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
    assert re.search(rf"^## {re.escape(monmdp.__version__)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    (paper,) = cited["references"]
    assert paper["title"] in (ROOT / "README.md").read_text().replace("\n", " ")


@pytest.mark.slow
def test_the_wheel_alone_in_an_empty_environment(dist, tmp_path):
    """The README's Python blocks and `monmdp list`, with nothing of this checkout in reach."""
    home, python = tmp_path / "home", tmp_path / "empty" / "bin" / "python"
    home.mkdir()
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "MONMDP_CACHE", "XDG_CACHE_HOME")
    outside = {key: value for key, value in os.environ.items() if key not in hidden}

    def run(*command: str, **variables: str) -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, cwd=home, env={**outside, **variables}
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "venv", str(tmp_path / "empty"))
    run(str(python), "-m", "pip", "install", "--quiet", str(only(dist, "*.whl")))
    new = {"HOME": str(home)}
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for block in blocks:
        assert run(str(python), "-W", "error::UserWarning", "-c", block, **new)
    listed = run(str(python.with_name("monmdp")), "list", **new)
    for name in (*monmdp.ENVIRONMENTS, *monmdp.MONITORS, *monmdp.AGENTS):
        assert name in listed
