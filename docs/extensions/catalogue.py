"""The page of the catalogue: every registered environment, monitor and agent, asked while the site is built."""

from __future__ import annotations

from sphinx.application import Sphinx

import monmdp

PAGE = "reference/catalogue"


def list_classes(app: Sphinx, docname: str, source: list[str]) -> None:
    """One section a registry, one entry a class."""
    if docname != PAGE:
        return
    for title, registry in (
        ("Environments", monmdp.ENVIRONMENTS),
        ("Monitors", monmdp.MONITORS),
        ("Agents", monmdp.AGENTS),
    ):
        classes = [registry.find(name) for name in registry]
        entries = "".join(f".. autoclass:: {kind.__module__}.{kind.__qualname__}\n" for kind in classes)
        source[0] += f"\n## {title}\n\n```{{eval-rst}}\n{entries}```\n"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", list_classes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
