"""Docstrings are prose with `code` in backticks; here they become the markup that autodoc expects."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(`[^`\n]+`)")
#: A line such as `seeds: how many, or which.` tells of an argument.
_ARGUMENT = re.compile(r"^([a-z_]\w*(?:, [a-z_]\w*)*): (?=\S)")


def to_markup(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Code stays code, everything else is text; arguments stand out."""
    told: list[str] = []
    for line in lines:
        text, indented = line.rstrip(), line.startswith("  ")
        argument = _ARGUMENT.match(text)
        if argument and told and told[-1]:
            told.append("")
        parts = _CODE.split(text[argument.end() :] if argument else text)
        marked = "".join(
            f"`{part}`" if _CODE.fullmatch(part) else re.sub(r"([*_|\\])", r"\\\1", part) for part in parts
        )
        if argument:
            names = ", ".join(f"**{one}**" for one in argument[1].split(", "))
            marked = f"{names}: {marked}"
        told.append(f"| {marked.strip()}" if indented and text else marked)
    lines[:] = told


def skip_fields(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Fields of named tuples stand in the signature already."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", to_markup)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
