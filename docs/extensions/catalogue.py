"""Fill the catalogue page with every registered environment, monitor and agent."""

from __future__ import annotations

import dataclasses

from sphinx.application import Sphinx

import monmdp

PAGE = "reference/catalogue"
#: Heading → registry, and the base class whose options are omitted.
SECTIONS = {
    "Environments": (monmdp.ENVIRONMENTS, monmdp.Environment),
    "Monitors": (monmdp.MONITORS, monmdp.Monitor),
    "Agents": (monmdp.AGENTS, monmdp.Agent),
}


def list_classes(app: Sphinx, docname: str, source: list[str]) -> None:
    """Add one section per registry, and one entry per class with its own options."""
    if docname != PAGE:
        return
    for title, (registry, base) in SECTIONS.items():
        entries = "".join(f".. autoclass:: {_call(registry.find(name), base)}\n" for name in registry)
        source[0] += f"\n## {title}\n\n```{{eval-rst}}\n{entries}```\n"


def _call(kind: type, base: type) -> str:
    """A class with its options and their defaults, as Python code."""
    common = {field.name for field in dataclasses.fields(base)}
    own = [field for field in dataclasses.fields(kind) if field.init and field.name not in common]
    options = ", ".join(f"{field.name}={field.default!r}" for field in own)
    return f"{kind.__module__}.{kind.__qualname__}({options})"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", list_classes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
