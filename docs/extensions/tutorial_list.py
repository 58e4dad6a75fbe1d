"""The tutorials that there are, in order: in the navigation, and on the page for newcomers."""

from __future__ import annotations

import json
from pathlib import Path

from sphinx.application import Sphinx

FOLDER = Path(__file__).resolve().parents[1] / "tutorials"
ORDER = ("why-optimism-fails", "reproduce-the-paper", "your-own", "human-feedback")
#: The page with the navigation, and the entry after which tutorials come.
NAVIGATION = ("index", "\nstart\n")
PAGE = "start"


def list_tutorials(app: Sphinx, docname: str, source: list[str]) -> None:
    """One line a tutorial, under its own title."""
    files = sorted((*FOLDER.glob("*.ipynb"), *FOLDER.glob("*.md")), key=_place)
    if docname == NAVIGATION[0]:
        entries = "".join(f"tutorials/{file.stem}\n" for file in files)
        source[0] = source[0].replace(NAVIGATION[1], NAVIGATION[1] + entries, 1)
    elif docname == PAGE:
        source[0] += "\n" + "".join(f"- [{_title(file)}](tutorials/{file.name})\n" for file in files)


def _place(file: Path) -> tuple[int, str]:
    return ORDER.index(file.stem) if file.stem in ORDER else len(ORDER), file.stem


def _title(file: Path) -> str:
    """The first heading of a page or notebook."""
    text = file.read_text()
    if file.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return next((line[2:] for line in text.splitlines() if line.startswith("# ")), file.stem)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", list_tutorials)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
