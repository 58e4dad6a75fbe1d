"""Links between pages lead somewhere on a code host; what the site makes of them is checked when it is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import PAGES, anchors, links, name_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links(page):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link} has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pictures_have_words(page: Path) -> None:
    """For those who cannot see them."""
    assert "![](" not in page.read_text()
