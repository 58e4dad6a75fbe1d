"""The page put together: data, styles and scripts in one file that may not load anything else."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from monmdp import __version__
from monmdp.errors import MonMDPError
from monmdp.figures.style import agent_styles
from monmdp.paper.claims import check_claims
from monmdp.report.colours import colours
from monmdp.report.inspection import FLAGSHIPS, Flagship, inspector_data
from monmdp.report.overview import overview_data
from monmdp.report.packing import script_json
from monmdp.study.results import Results
from monmdp.study.store import write_aside

#: The page's styles, later ones over earlier ones.
STYLES = ("base.css", "overview.css", "cell.css", "claims.css", "inspector.css", "tiles.css", "narrow.css")
#: The page's scripts, in the order in which they need each other.
SCRIPTS = (
    "elements.js",
    "data.js",
    "chart.js",
    "tiles.js",
    "overview.js",
    "cell.js",
    "claims.js",
    "grids.js",
    "world.js",
    "inspector.js",
    "main.js",
)

#: Told what is being done, and how many of all parts are.
Progress = Callable[[str, int, int], None]


def write_page(folder: Path | str, out: Path | None = None, progress: Progress | None = None) -> Path:
    """Write the page of a results folder, by default into it, and say where it is."""
    results = Results(folder)
    place = results.folder / "report.html" if out is None else out
    if not place.absolute().parent.is_dir():
        raise MonMDPError(f"The folder of {place} does not exist.")
    if place.is_dir():
        raise MonMDPError(f"{place} is a folder; name a file.")
    page = build_page(results, progress=progress)
    try:
        write_aside(place, page.encode())
    except OSError as error:
        raise MonMDPError(f"{place} cannot be written: {error.strerror}.") from None
    return place


def build_page(results: Results, flagships: Sequence[Flagship] = FLAGSHIPS, progress: Progress | None = None) -> str:
    """The whole page as text."""
    return assemble(page_data(results, flagships, progress), results.folder.absolute().name)


def page_data(results: Results, flagships: Sequence[Flagship], progress: Progress | None) -> dict[str, Any]:
    """Everything the scripts read, as plain values."""
    total = len(results.cells) + sum(len(flagship.agents) for flagship in flagships)
    done = 0

    def tell(what: str, more: int = 1) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(what, done, total)

    tell("reading curves", 0)
    overview = overview_data(results, partial(tell, "reading curves"))
    tell("checking claims", 0)
    claims = [asdict(claim) for claim in check_claims(results)]
    tell("training runs to look into", 0)
    return {
        "version": __version__,
        "folder": results.folder.absolute().name,
        "agents": [{"name": agent, **colours(style)} for agent, style in agent_styles(results.agents).items()],
        "damaged": results.damaged,
        **overview,
        "claims": claims,
        "inspector": inspector_data(flagships, partial(tell, "training runs to look into")),
    }


def assemble(data: dict[str, Any], title: str) -> str:
    """The page around its data; its policy forbids every request, and every script and style but its own."""
    script = "(() => {\n'use strict';\n" + "\n".join(_text(name) for name in SCRIPTS) + "\n})();\n"
    style = "".join(_text(name) for name in STYLES)
    slots = {
        "title": html.escape(title),
        "policy": f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'",
        "style": style,
        "data": script_json(data),
        "script": script,
    }
    first, *parts = _text("page.html").split("{{")  # slots are filled in one pass, so that no value is read as one
    return first + "".join(slots[part.split("}}", 1)[0]] + part.split("}}", 1)[1] for part in parts)


def _text(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
