"""A results folder as one HTML page that works offline: overview, curves, claims and a run inspector.

The page contains its data, styles and scripts, and a policy that forbids it to load anything else. The charts are a few
hundred lines of SVG drawn by plain JavaScript; a plotting library would add several megabytes.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

from monmdp import __version__
from monmdp.files import write_atomically
from monmdp.paper.claims import check_claims
from monmdp.render.tiles import BUTTON, TILES, agent_shapes
from monmdp.report.data import Replay, inspector_data, overview_data, replays_of, sensitivity_data
from monmdp.study.results import Results

__all__ = ["Replay", "build_page", "write_page"]

#: The scripts in the order in which they are concatenated.
SCRIPTS = ("elements.js", "data.js", "chart.js", "grid.js", "overview.js", "curves.js", "sensitivity.js", "claims.js",
           "snapshots.js", "inspector.js", "main.js")  # fmt: skip

#: Receives the current stage, the number of parts that are done and the number of all parts.
Progress = Callable[[str, int, int], None]


def write_page(folder: Path | str, out: Path | None = None, progress: Progress | None = None) -> Path:
    """Write the page of a results folder, by default as report.html inside it, and return its path."""
    results = Results(folder)
    path = out or results.folder / "report.html"
    page = build_page(results, progress=progress)
    write_atomically(path, page.encode())
    return path


def build_page(results: Results, replays: Sequence[Replay] | None = None, progress: Progress | None = None) -> str:
    """The whole page as text; replays: the runs to look into, by default some of the folder's."""
    return assemble(page_data(results, replays, progress))


def page_data(results: Results, replays: Sequence[Replay] | None, progress: Progress | None) -> dict[str, Any]:
    """Everything the scripts read, as plain values."""
    replays = replays_of(results) if replays is None else replays
    done, total = count(1), len(results.cells) + sum(len(replay.agents) for replay in replays)

    def advance(stage: str) -> None:
        if progress is not None:
            progress(stage, next(done), total)

    return {
        "version": __version__,
        "folder": results.folder.absolute().name,
        "notes": _notes(results),
        "tiles": TILES,
        "marks": {"agent": agent_shapes(None), "button": BUTTON},
        **overview_data(results, partial(advance, "reading curves")),
        "sensitivity": sensitivity_data(results),
        **_claims(results),
        "inspector": inspector_data(replays, partial(advance, "training runs for the inspector"), results.agents),
    }


def _claims(results: Results) -> dict[str, Any]:
    """The claims about which the folder has data, and the number of the others."""
    claims = check_claims(results)
    checked = [asdict(claim) for claim in claims if any(one.verdict != "not enough data" for one in claim.details)]
    return {"claims": checked, "unchecked": len(claims) - len(checked)}


def _notes(results: Results) -> list[str]:
    """What is missing in the folder."""
    total, present = len(results.problems) * len(results.agents), len(results.cells)
    single = sum(len(cell.seeds) == 1 for cell in results.cells.values())
    notes = (
        (total - present, f"of {total} combinations of problem and agent have no runs; they are hatched."),
        (single, f"of {present} cells have a single seed and therefore no intervals."),
        (len(results.damaged), f"damaged files were ignored: {' '.join(results.damaged)}"),
    )
    return [f"{cases} {text}" for cases, text in notes if cases]


def assemble(data: dict[str, Any]) -> str:
    """The page around its data; its policy forbids every request, and every script and style except its own."""
    script = "(() => {\n'use strict';\n" + "\n".join(_text(name) for name in SCRIPTS) + "\n})();\n"
    style = _text("page.css")
    slots = {
        "title": html.escape(data["folder"]),
        "policy": f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'",
        "style": style,
        "data": script_json(data),
        "script": script,
    }
    return re.sub(r"{{(\w+)}}", lambda slot: slots[slot[1]], _text("page.html"))  # values are not searched for slots


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element, which a name that contains < could end."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _text(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
