"""Notebooks run and print their stored output, and pages show the output of their scripts."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "tutorials"
RUN = runpy.run_path(str(FOLDER / "run.py"))
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
PAGES = sorted(FOLDER.glob("*.md"))
BLOCKS = [
    pytest.param(body, id=page.stem)
    for page in PAGES
    for body in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
]
#: An absolute path of a file system.
ABSOLUTE = re.compile(r"""(?<![\w.<:/])(/(home|root|tmp|work|var|usr|opt|mnt|Users)/|[A-Z]:\\)""")
#: Links and images in Markdown.
LINK = re.compile(r"\]\(([^)\s#]+)")

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def printed(notebook: Any) -> list[str]:
    """The output of each code cell."""
    return [
        "".join(output.text for output in cell.outputs if output.output_type == "stream" and output.name == "stdout")
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@each_notebook
def test_notebook_prints_its_stored_output(path: Path, tmp_path: Path) -> None:
    """Update intended changes with python docs/tutorials/run.py."""
    assert printed(RUN["executed"](path, tmp_path)) == printed(nbformat.read(path, as_version=4))


@each_notebook
def test_stored_outputs_are_clean(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in code for output in cell.outputs]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output for output in outputs if output.output_type == "stream" and output.name == "stderr"]
    texts = [str(value) for output in outputs for kind, value in output.get("data", {}).items() if "image" not in kind]
    assert not [text for text in texts + printed(notebook) if ABSOLUTE.search(text)]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert path.stat().st_size < 500_000


@each_notebook
def test_notebook_begins_with_its_only_title(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert re.match(r"# \S", cells[0].source)
    assert (
        sum(len(re.findall(r"^# ", cell.source, re.MULTILINE)) for cell in cells if cell.cell_type == "markdown") == 1
    )


@pytest.mark.parametrize("path", [*NOTEBOOKS, *PAGES], ids=lambda path: path.stem)
def test_link_targets_exist(path: Path) -> None:
    text = path.read_text()
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for link in LINK.findall(text):
        assert link.startswith("http") or (FOLDER / link).exists(), link


@pytest.mark.parametrize("page", RUN["SCRIPTS"], ids=lambda page: page.stem)
def test_page_shows_output_of_script(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Update intended changes with python docs/tutorials/run.py."""
    script, pictures = RUN["SCRIPTS"][page]
    monkeypatch.setattr("sys.argv", [str(script), str(tmp_path)])
    runpy.run_path(str(script), run_name="__main__")
    assert RUN["sections"](capsys.readouterr().out) == RUN["PRINTED"].findall(page.read_text())
    shown = re.findall(r"images/tutorials/([\w-]+\.png)", page.read_text())
    assert {*shown} <= {path.name for path in tmp_path.glob(pictures)}


def test_a_study_is_short() -> None:
    """A whole study: own agent with an option, own monitor, comparison, grid, table, heat map and report."""
    assert len((ROOT / "examples" / "study.py").read_text().splitlines()) < 60


@pytest.mark.parametrize("block", BLOCKS)
def test_python_block_runs(block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "block.py"
    script.write_text(block)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out
