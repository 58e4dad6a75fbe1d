"""Every code block of the README and the docs runs as written, and so does every example."""

from __future__ import annotations

import re
import runpy
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from monmdp.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCES = [
    (page.stem, language, body)
    for page in PAGES
    for language, body in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
]
BLOCKS = [pytest.param(body, id=page) for page, language, body in FENCES if language == "python"]
LINES = [line for _, language, body in FENCES if not language for line in body.splitlines()]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
COMMANDS = sorted({re.split(r"\s{2,}", line)[0] for line in LINES if line.startswith("monmdp ")})


def skip_without_extras(code: str) -> None:
    """A script that needs an extra says so: monmdp[extra] in a comment."""
    for extra in re.findall(r"monmdp\[(\w+)\]", code):
        for requirement in EXTRAS[extra]:
            try:
                version(re.match(r"[\w-]+", requirement)[0])
            except PackageNotFoundError:
                pytest.skip(f"{requirement} is not installed; it comes with the extra {extra}")


@pytest.mark.parametrize("block", BLOCKS)
def test_python_block_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without_extras(block)
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "block.py"
    script.write_text(block)
    runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("command", COMMANDS)
def test_command_is_understood(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that take long are asked for their help or their plan only."""
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command, comments=True)[1:]
    if words[0] == "reproduce":
        words.append("--dry-run")
    if words[0] in ("watch", "bench", "results", "claims", "figure", "report", "export"):
        with pytest.raises(SystemExit) as end:
            main([*words, "--help"])
        assert end.value.code == 0
    else:
        assert main(words) == 0


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skip_without_extras(script.read_text())
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_examples_stand_in_the_docs() -> None:
    """What the docs show is the script itself."""
    shown = (ROOT / "docs" / "agents.md").read_text()
    code = (ROOT / "examples" / "own_agent.py").read_text().split('"""\n\n', 1)[1]
    assert code in shown
