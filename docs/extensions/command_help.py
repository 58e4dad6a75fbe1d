"""Fill the page of the command line with the help text of every command."""

from __future__ import annotations

import os
import subprocess
import sys

from sphinx.application import Sphinx

from monmdp.cli import COMMANDS

PAGE = "reference/cli"


def help_text(words: list[str]) -> str:
    """The output of `monmdp … --help`, without colours, in a width for the page."""
    plain = {**os.environ, "NO_COLOR": "1", "COLUMNS": "84", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "monmdp", *words, "--help"]
    return subprocess.run(command, env=plain, capture_output=True, check=True, encoding="utf-8").stdout.strip()


def add_help(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add one section per command."""
    if docname != PAGE:
        return
    for command in COMMANDS:
        source[0] += f"\n## monmdp {command}\n\n```text\n{help_text([command])}\n```\n"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", add_help)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
