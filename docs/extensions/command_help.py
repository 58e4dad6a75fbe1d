"""The page of the command line: what every command answers to --help, asked while the site is built."""

from __future__ import annotations

import os
import subprocess
import sys

from sphinx.application import Sphinx

from monmdp.cli import COMMANDS

PAGE = "reference/cli"


def ask_for_help(words: list[str]) -> str:
    """What `monmdp … --help` prints, without colours, at a width that suits a page."""
    plain = {**os.environ, "NO_COLOR": "1", "COLUMNS": "84", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    asked = [sys.executable, "-m", "monmdp", *words, "--help"]
    return subprocess.run(asked, env=plain, capture_output=True, check=True, encoding="utf-8").stdout.strip()


def tell_help(app: Sphinx, docname: str, source: list[str]) -> None:
    """Every command under its name."""
    if docname != PAGE:
        return
    for command in COMMANDS:
        source[0] += f"\n## monmdp {command}\n\n```text\n{ask_for_help([command])}\n```\n"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", tell_help)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
