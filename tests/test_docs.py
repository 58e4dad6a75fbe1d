"""Every code block of the README and the docs runs as written, every command is understood, and every example runs."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from pages import COMMAND_BLOCKS, PAGES, ROOT, fences, inline_code, name_of

from monmdp.cli import COMMANDS, main

FENCES = fences()
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
BLOCKS = [pytest.param(fence.body, id=fence.page) for fence in FENCES if fence.language == "python"]
LINES = [line for fence in FENCES if fence.language in COMMAND_BLOCKS for line in fence.body.splitlines()]
WRITTEN = sorted({re.split(r"\s{2,}|\s#", line)[0].strip() for line in LINES})
#: Commands in prose; … and COMMAND stand for many.
MENTIONED = sorted(
    {code for page in PAGES for code in inline_code(page) if re.match(r"monmdp (?!.*(…|COMMAND))", code)}
)
#: Files that commands of a page read: blocks that begin with their name.
FILES = {
    found[1]: fence.body
    for fence in FENCES
    if fence.language == "toml" and (found := re.match(r"# (\S+\.toml)\n", fence.body))
}
#: These would take long, need a terminal or need results, so they are read and not run.
ONLY_READ = ("watch", "bench", "results", "claims", "figure", "report", "export")


def starting_with(program: str) -> list[str]:
    """The commands of a program that stand in blocks."""
    return [line for line in WRITTEN if line.startswith(f"{program} ")]


def read_only(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A command with all its arguments is understood."""
    command = COMMANDS[words[0]]
    monkeypatch.setattr(command, "run", lambda self, console: None)
    assert main(words) == 0


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


@pytest.mark.parametrize("command", starting_with("monmdp"))
def test_command_runs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sweeps only the plan is made."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    words = shlex.split(command)[1:]
    if words[0] in ONLY_READ:
        read_only(words, monkeypatch)
    else:
        plan = ["--dry-run"] if words[0] == "reproduce" and "--dry-run" not in words else []
        assert main([*words, *plan]) == 0


@pytest.mark.parametrize("command", MENTIONED)
def test_command_in_prose_is_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command may be mentioned by its name only."""
    words = shlex.split(command)[1:]
    if len(words) == 1:
        assert words[0] in COMMANDS
    else:
        read_only(words, monkeypatch)


@pytest.mark.parametrize("command", starting_with("make"))
def test_make_target_exists(command: str) -> None:
    subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("command", [line for line in starting_with("python") if not line.startswith("python -")])
def test_script_exists(command: str) -> None:
    assert (ROOT / shlex.split(command)[1]).is_file()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_extras_exist(page: Path) -> None:
    """What `pip install` is told to install besides the library can be installed."""
    for named in re.findall(r"(?:monmdp|\.)\[([\w,]+)\]", page.read_text()):
        assert set(named.split(",")) <= set(EXTRAS)


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
