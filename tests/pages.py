"""The Markdown pages of the repository, taken apart."""

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
#: Languages of blocks that hold commands; those of other languages are code, or what a program prints.
COMMAND_BLOCKS = ("", "bash", "sh")

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


class Fence(NamedTuple):
    """A block of code on a page."""

    page: str
    language: str
    body: str


def name_of(page: Path) -> str:
    """A page by its path in the repository, without its ending."""
    return page.relative_to(ROOT).with_suffix("").as_posix()


def fences() -> list[Fence]:
    """All blocks of all pages."""
    return [
        Fence(name_of(page), found["language"].strip(), found["body"])
        for page in PAGES
        for found in _FENCE.finditer(page.read_text())
    ]


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return _FENCE.sub("", page.read_text())


def inline_code(page: Path) -> list[str]:
    """What stands between backticks in the prose of a page."""
    return _INLINE.findall(prose(page))


def links(page: Path) -> list[str]:
    """The targets of all links of a page."""
    return _LINK.findall(_INLINE.sub("", prose(page)))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    found: list[str] = []
    for heading in _HEADING.findall(prose(page)):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        times = sum(other == slug for other in found)
        found.append(slug)
        if times:
            found.append(f"{slug}-{times}")
    return set(found)
