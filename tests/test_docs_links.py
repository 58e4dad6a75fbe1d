"""Links between pages work on a code host. test_docs_site.py checks the links of the site."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import PAGES, anchors, links, name_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_link_targets_exist(page: Path) -> None:
    for link in links(page):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} does not exist"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link} has no such heading"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_images_have_alternative_text(page: Path) -> None:
    assert "![](" not in page.read_text()
