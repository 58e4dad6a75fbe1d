"""Every code block of the README and the docs runs as written, and so does every example."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

from monmdp.cli import main

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]
FENCES = [fence for page in PAGES for fence in re.findall(r"```\n(.*?)```", page.read_text(), re.DOTALL)]
COMMANDS = sorted(
    {re.split(r"\s{2,}", line)[0] for fence in FENCES for line in re.findall(r"^monmdp .*$", fence, re.M)}
)


@pytest.mark.parametrize("block", BLOCKS)
def test_python_block_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    if words[0] in ("watch", "bench", "results"):
        with pytest.raises(SystemExit) as end:
            main([*words, "--help"])
        assert end.value.code == 0
    else:
        assert main(words) == 0


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_examples_stand_in_the_docs() -> None:
    """What the docs show is the script itself."""
    shown = (ROOT / "docs" / "agents.md").read_text()
    code = (ROOT / "examples" / "own_agent.py").read_text().split('"""\n\n', 1)[1]
    assert code in shown
