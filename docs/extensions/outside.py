"""Files beside docs/ as pages of the site, under links that also work on a code host.

Pages link to files by their paths in the repository. Where such a file has a page, the link leads to the page, and
the page shows the file. Any other file can be downloaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
#: Page → the file that it shows, both relative to the repository.
PAGES = {
    "docs/speed.md": "benchmarks/README.md",
    "docs/speed/cpu.md": "benchmarks/latest.md",
    "docs/speed/gpu.md": "benchmarks/gpu.md",
    "docs/reference/changelog.md": "CHANGELOG.md",
    "docs/reference/contributing.md": "CONTRIBUTING.md",
}
#: Files that are told by a page of their own kind.
ALIASES = {"README.md": "docs/index.md", "examples": "docs/examples.md"}
#: Page → pages that hang below it in the navigation.
CHILDREN = {"docs/agents.md": ("agents/*.md",), "docs/speed.md": ("speed/*.md",)}
EXAMPLES = "docs/examples.md"
LANGUAGES = {".py": "python", ".sh": "bash"}

_CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def show_files(app: Sphinx, docname: str, source: list[str]) -> None:
    """Fill the pages that show files, and lead the links of all pages to where the site has their targets."""
    page = f"docs/{app.env.doc2path(docname, base=False)}"
    origin = PAGES.get(page, page)
    if page == EXAMPLES:
        source[0] += _examples(app)
    elif origin != page:
        source[0] = (ROOT / origin).read_text()
        app.env.note_dependency(str(ROOT / origin))
        if not source[0].startswith("# "):
            source[0] = (ROOT / page).read_text().split("\n", 1)[0] + "\n\n" + source[0]
    source[0] += _hanging(page)
    source[0] = _outside_code(source[0], lambda text: _LINK.sub(lambda link: _led(link, origin, page), text))


def _led(link: re.Match[str], origin: str, page: str) -> str:
    """A link of a file, as the page that shows it needs it."""
    path, anchor = link[1], link[2] or ""
    wanted = os.path.normpath(os.path.join(os.path.dirname(origin), path))
    shown = {file: page for page, file in PAGES.items()} | ALIASES
    if wanted.startswith("examples/") and (ROOT / wanted).is_file():
        shown[wanted], anchor = EXAMPLES, f"#{_slug(Path(wanted).name)}"
    return os.path.relpath(shown.get(wanted, wanted), os.path.dirname(page)) + anchor


def _hanging(page: str) -> str:
    """The pages below a page, for the navigation only."""
    docs = ROOT / "docs"
    found = [file for pattern in CHILDREN.get(page, ()) for file in sorted(docs.glob(pattern))]
    entries = "\n".join(file.relative_to(docs).with_suffix("").as_posix() for file in found)
    return f"\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n" if found else ""


def _examples(app: Sphinx) -> str:
    """Every script under its name."""
    told = ""
    for script in sorted((ROOT / "examples").iterdir()):
        if script.suffix in LANGUAGES:
            app.env.note_dependency(str(script))
            told += f"\n## {script.name}\n\n````{LANGUAGES[script.suffix]}\n{script.read_text()}````\n"
    return told


def _slug(title: str) -> str:
    """The anchor of a heading, as code hosts and MyST make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with everything changed that is not code."""
    parts, last = [], 0
    for code in _CODE.finditer(text):
        parts += [change(text[last : code.start()]), code[0]]
        last = code.end()
    return "".join([*parts, change(text[last:])])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", show_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
