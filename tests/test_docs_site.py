"""The site builds without warnings, its links work, and its reference is complete."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from pages import ROOT

import monmdp
from monmdp.cli import COMMANDS

API = (ROOT / "docs" / "reference" / "api.md").read_text()


@pytest.mark.parametrize("name", monmdp.__all__)
def test_api_has_every_public_name(name: str) -> None:
    assert re.search(rf"^\.\. (auto)?\w+:: (monmdp\.)?{name}$", API, re.MULTILINE)


class Page(HTMLParser):
    """The anchors and the link targets of a built page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value or "")
            elif name in ("href", "src") and value and not re.match(r"\w+:|//", value):
                self.targets.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built like `make docs` does."""
    pytest.importorskip("sphinx", reason="the extra docs is not installed; make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-q", "docs", str(folder)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_links_of_the_site(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    for path, page in pages.items():
        for link in page.targets:
            place, _, anchor = unquote(link).partition("#")
            target = (path.parent / place.split("?")[0]).resolve() if place else path
            assert target.exists(), f"{path.relative_to(site)}: {link} does not exist"
            if anchor and target in pages:
                assert anchor in pages[target].anchors, f"{path.relative_to(site)}: {link} has no such anchor"


@pytest.mark.slow
def test_command_line_of_the_site(site: Path) -> None:
    """The help of every command is included, without colour codes."""
    page = (site / "reference" / "cli.html").read_text()
    assert "\x1b" not in page
    for command in COMMANDS:
        assert f"usage: monmdp {command} " in page


@pytest.mark.slow
def test_catalogue_of_the_site(site: Path) -> None:
    """Every registered class has an anchor."""
    anchors = {anchor.rpartition(".")[2] for anchor in Page(site / "reference" / "catalogue.html").anchors}
    assert {*monmdp.ENVIRONMENTS, *monmdp.MONITORS, *monmdp.AGENTS} <= anchors


@pytest.mark.slow
def test_site_needs_no_network(site: Path) -> None:
    """Pages load no scripts, styles or fonts from other sites."""
    for path in site.rglob("*.html"):
        assert not re.search(r'<(script|link|img)[^>]+(src|href)="(https?:)?//', path.read_text()), path
