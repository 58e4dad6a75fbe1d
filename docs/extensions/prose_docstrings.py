"""Docstrings are prose with `code` in backticks; here they become the markup that autodoc expects."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(`[^`\n]+`)")
#: A line such as `seeds: how many, or which.` tells of an argument and begins a paragraph.
_ARGUMENT = re.compile(r"^([a-z_]\w*(?:, [a-z_]\w*)*): \S")
#: What may be a name: a word before a colon or a shape, or one with an underscore.
_NAME = re.compile(r"(?<![`\w.])[a-z]\w*(?=: | \[)|(?<![`\w.])[a-z]+_\w+(?![`\w])")


def to_markup(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Code stays code, names of arguments and fields become code, everything else is text."""
    names = _own_names(obj)
    told: list[str] = []
    for line in lines:
        text = line.rstrip()
        if _ARGUMENT.match(text) and told and told[-1]:
            told.append("")
        parts = _CODE.split(_as_code(text.strip(), names))
        marked = "".join(f"`{part}`" if _CODE.fullmatch(part) else _escaped(part) for part in parts)
        told.append(f"| {marked}" if text.startswith("  ") else marked)  # indented lines are formulas, one a line
    lines[:] = told


def _escaped(text: str) -> str:
    """Signs that mean nothing in prose mean nothing in markup."""
    return re.sub(r"([*_|\\])", r"\\\1", text)


def _own_names(obj: Any) -> set[str]:
    """The arguments of a function, or the fields of a class."""
    if dataclasses.is_dataclass(obj):
        return {field.name for field in dataclasses.fields(obj)}
    fields = getattr(obj, "_fields", None)
    if fields is not None:
        return set(fields)
    try:
        return set(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        return set()


def _as_code(text: str, names: set[str]) -> str:
    """Names are marked where they are explained or have a shape, and where they cannot be taken for a word."""

    def mark(found: re.Match[str]) -> str:
        return f"`{found[0]}`" if found[0] in names else found[0]

    argument = _ARGUMENT.match(text)
    explained = argument.end(1) if argument else 0
    plain = [part if _CODE.fullmatch(part) else _NAME.sub(mark, part) for part in _CODE.split(text[explained:])]
    return re.sub(r"\w+", mark, text[:explained]) + "".join(plain)


def name_aliases(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Signatures that Sphinx can read, with our names of arrays also where they are one of several types."""

    def readable(text: str) -> str:
        return re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text).replace("<factory>", "...")

    return signature and readable(signature), returns and readable(returns)


def skip_fields(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Fields of named tuples stand in the signature already."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", to_markup)
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
