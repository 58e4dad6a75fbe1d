"""Convert docstrings, which are plain text with `code` in backticks, to the markup that autodoc expects."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(`[^`\n]+`)")
#: A line such as `seeds: number of seeds.` describes an argument and begins a paragraph.
_ARGUMENT = re.compile(r"^([a-z_]\w*(?:, [a-z_]\w*)*): \S")
#: A possible name: a word before a colon or a shape, or one with an underscore.
_NAME = re.compile(r"(?<![`\w.])[a-z]\w*(?=: | \[)|(?<![`\w.])[a-z]+_\w+(?![`\w])")


def to_markup(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Format code, and names of arguments and fields, as code; escape everything else."""
    names = _own_names(obj)
    markup: list[str] = []
    for line in lines:
        text = line.rstrip()
        if _ARGUMENT.match(text) and markup and markup[-1]:
            markup.append("")
        parts = _CODE.split(_as_code(text.strip(), names))
        marked = "".join(f"`{part}`" if _CODE.fullmatch(part) else _escaped(part) for part in parts)
        markup.append(f"| {marked}" if text.startswith("  ") else marked)  # indented lines are formulas, one per line
    lines[:] = markup


def _escaped(text: str) -> str:
    """Escape characters that have a meaning in reStructuredText."""
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
    """Mark names that are explained, that have a shape, or that cannot be mistaken for a word."""

    def mark(match: re.Match[str]) -> str:
        return f"`{match[0]}`" if match[0] in names else match[0]

    argument = _ARGUMENT.match(text)
    explained = argument.end(1) if argument else 0
    plain = [part if _CODE.fullmatch(part) else _NAME.sub(mark, part) for part in _CODE.split(text[explained:])]
    return re.sub(r"\w+", mark, text[:explained]) + "".join(plain)


def name_aliases(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Make signatures readable for Sphinx, with our names of array types inside unions."""

    def readable(text: str) -> str:
        return re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text).replace("<factory>", "...")

    return signature and readable(signature), returns and readable(returns)


def skip_fields(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip fields of named tuples, which are in the signature already."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", to_markup)
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
