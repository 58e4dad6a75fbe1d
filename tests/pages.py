"""Readers of the Markdown pages of the repository: code blocks, prose, links and headings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
]
#: Languages of code blocks that contain commands; others contain code or the output of programs.
COMMAND_BLOCKS = ("", "bash", "sh")

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Fence(NamedTuple):
    """A code block of a page."""

    page: str
    language: str
    body: str


def name_of(page: Path) -> str:
    """The path of a page in the repository, without its suffix."""
    return page.relative_to(ROOT).with_suffix("").as_posix()


def fences() -> list[Fence]:
    """All code blocks of all pages."""
    return [
        Fence(name_of(page), match["language"].strip(), match["body"])
        for page in PAGES
        for match in _FENCE.finditer(page.read_text())
    ]


def prose(page: Path) -> str:
    """The text of a page without its code blocks."""
    return _FENCE.sub("", page.read_text())


def inline_code(page: Path) -> list[str]:
    """The inline code of a page."""
    return _INLINE.findall(prose(page))


def links(page: Path) -> list[str]:
    """The targets of all links of a page."""
    return _LINK.findall(_INLINE.sub("", prose(page)))


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as code hosts generate them."""
    slugs: list[str] = []
    for heading in _HEADING.findall(prose(page)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        repeats = sum(other == slug for other in slugs)
        slugs.append(slug)
        if repeats:
            slugs.append(f"{slug}-{repeats}")
    return set(slugs)
