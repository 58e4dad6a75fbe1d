"""Run the tutorials and store their output: `python docs/tutorials/run.py`.

Executes every notebook in this folder, writes the output of the scripts in `SCRIPTS` into their pages, and their
figures into docs/images/tutorials. Needs the extra `test`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
EXAMPLES = HERE.parent.parent / "examples"
#: Page → its script, and the pictures that the page shows.
SCRIPTS = {
    HERE / "human-feedback.md": (EXAMPLES / "human_feedback.py", "*.png"),
    HERE / "compare-agents.md": (EXAMPLES / "study.py", "**/*.png"),
}
PICTURES = HERE.parent / "images" / "tutorials"
#: A block with the output of a command.
PRINTED = re.compile(r"(?<=^```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


def executed(path: Path, folder: Path) -> Any:
    """The notebook with new outputs, executed in a folder; raises the error of a failing cell."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
        coalesce_streams=True,
    )
    client.execute()
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def sections(printed: str) -> list[str]:
    """The output of the script, split at empty lines."""
    return [part.strip("\n") + "\n" for part in printed.strip("\n").split("\n\n")]


def main() -> None:
    """Update all notebooks and the page."""
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)
        print(path.name)
    for page, (script, pictures) in SCRIPTS.items():
        with tempfile.TemporaryDirectory() as folder:
            printed = subprocess.run(
                [sys.executable, script, folder], check=True, capture_output=True, text=True
            ).stdout
            outputs = iter(sections(printed))
            page.write_text(PRINTED.sub(lambda _, outputs=outputs: next(outputs), page.read_text()))
            for path in Path(folder).glob(pictures):
                shutil.copy(path, PICTURES / path.name)
        print(page.name)


if __name__ == "__main__":
    main()
