"""Code blocks of the README and the docs run, their commands are valid, and the examples run."""

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

from monmdp import ENVIRONMENTS, MONITORS
from monmdp.cli import COMMANDS, main
from monmdp.study.sweep import live_world

FENCES = fences()
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
#: What pages show of examples; it runs with the example.
SHOWN = {path.read_text().split('"""\n\n', 1)[-1] for path in EXAMPLES}
BLOCKS = [
    pytest.param(fence.body, id=fence.page)
    for fence in FENCES
    if fence.language == "python" and fence.body not in SHOWN
]
LINES = [line for fence in FENCES if fence.language in COMMAND_BLOCKS for line in fence.body.splitlines()]
COMMAND_LINES = sorted({re.split(r"\s{2,}|\s#", line)[0].strip() for line in LINES})
#: Commands in inline code; … and COMMAND are placeholders.
INLINE_COMMANDS = sorted(
    {code for page in PAGES for code in inline_code(page) if re.match(r"monmdp (?!.*(…|COMMAND))", code)}
)
#: Input files of commands: TOML blocks that begin with a file name.
FILES = {
    match[1]: fence.body
    for fence in FENCES
    if fence.language == "toml" and (match := re.match(r"# (\S+\.toml)\n", fence.body))
}
#: Examples that `test_tutorials.py` runs.
TUTORIALS = {script for script, _ in runpy.run_path(str(ROOT / "docs" / "tutorials" / "run.py"))["SCRIPTS"].values()}
#: Commands that are slow, need a terminal or need results; only their arguments are parsed.
ONLY_PARSED = ("watch", "bench", "results", "claims", "figure", "report", "export")
#: Presets that tests of sweeps plan; the arguments of these are parsed only, too, if nothing else is chosen.
PLANNED = ("ablation", "agents", "followup", "paper", "quick", "tenth", "theorem", "unsolvable")


def command_lines(program: str) -> list[str]:
    """The command lines of a program in code blocks."""
    return [line for line in COMMAND_LINES if line.startswith(f"{program} ")]


def parse_only(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a command and its arguments are valid, without running it."""
    command = COMMANDS[words[0]]
    monkeypatch.setattr(command, "run", lambda self, console: None)
    assert main(words) == 0


def skip_without_extras(code: str) -> None:
    """Skip code with a comment monmdp[extra] if that extra is not installed."""
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


@pytest.mark.parametrize("command", command_lines("monmdp"))
def test_command_runs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps run with --dry-run."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    words = shlex.split(command)[1:]
    whole = words[1:2] == ["--preset"] and not {"--agents", "--envs", "--monitors"} & set(words)
    if words[0] in ONLY_PARSED or (whole and words[2] in PLANNED):
        parse_only(words, monkeypatch)
    else:
        dry_run = ["--dry-run"] if words[0] == "reproduce" and "--dry-run" not in words else []
        assert main([*words, *dry_run]) == 0


@pytest.mark.parametrize("command", INLINE_COMMANDS)
def test_inline_command_is_valid(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a command alone is also valid."""
    words = shlex.split(command)[1:]
    if len(words) == 1:
        assert words[0] in COMMANDS
    else:
        parse_only(words, monkeypatch)


@pytest.mark.parametrize("command", command_lines("make"))
def test_make_target_exists(command: str) -> None:
    subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("command", [line for line in command_lines("python") if not line.startswith("python -")])
def test_script_exists(command: str) -> None:
    assert (ROOT / shlex.split(command)[1]).is_file()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_extras_exist(page: Path) -> None:
    """The extras in `pip install` commands exist."""
    for extras in re.findall(r"(?:monmdp|\.)\[([\w,]+)\]", page.read_text()):
        assert set(extras.split(",")) <= set(EXTRAS)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_problems_in_tables_exist(page: Path) -> None:
    """A row such as `| Empty + Ask(cost=0.5) | …` names an environment and a monitor with options that they have."""
    name = r"([A-Z]\w*(?:\([^|]*\))?)"
    problems = set(re.findall(rf"^\| {name} \+ {name} \|", page.read_text(), re.MULTILINE))
    assert problems or page.stem != "comparison"
    for environment, monitor in problems:
        assert live_world(environment) or ENVIRONMENTS.build(environment)
        assert MONITORS.build(monitor)


@pytest.mark.parametrize("script", [path for path in EXAMPLES if path not in TUTORIALS], ids=lambda path: path.stem)
def test_example_runs(
    script: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_extras(script.read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(script)])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_docs_contain_the_example_agent() -> None:
    page = (ROOT / "docs" / "agents.md").read_text()
    code = (ROOT / "examples" / "own_agent.py").read_text().split('"""\n\n', 1)[1]
    assert code in page
