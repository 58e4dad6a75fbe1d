"""Run the tutorials and store their output: `python docs/tutorials/run.py`.

Executes every notebook in this folder, writes the output of examples/human_feedback.py into human-feedback.md, and its
figures into docs/images/tutorials. Needs the extra `test`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
NOTEBOOKS = sorted(HERE.glob("*.ipynb"))
PAGE = HERE / "human-feedback.md"
SCRIPT = HERE.parent.parent / "examples" / "human_feedback.py"
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
    command = [sys.executable, str(SCRIPT), "--pictures", str(PICTURES)]
    outputs = iter(sections(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    PAGE.write_text(PRINTED.sub(lambda _: next(outputs), PAGE.read_text()))
    print(PAGE.name)


if __name__ == "__main__":
    main()
