"""Render formulas as inline SVG with Matplotlib, so that pages need no scripts and no fonts."""

from __future__ import annotations

from html import escape

import numpy as np
from docutils import nodes
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import MathTextParser
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

#: SVG units per em of the surrounding text, and the scale of formulas relative to it.
EM, SCALE = 100.0, 1.08
FONT = FontProperties(family="STIXGeneral", size=EM, math_fontfamily="stix")
LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


def drawn(formula: str) -> str:
    """A LaTeX formula as SVG, aligned with the baseline of the text."""
    tex = f"${' '.join(formula.split())}$"
    width, height, depth, _, _ = MathTextParser("path").parse(tex, dpi=72, prop=FONT)
    steps = []
    for points, code in TextPath((0, 0), tex, prop=FONT).iter_segments(curves=True, simplify=False):
        place = "" if code == Path.CLOSEPOLY else " ".join(f"{x:.0f} {-y:.0f}" for x, y in np.reshape(points, (-1, 2)))
        steps.append(LETTERS[code] + place)
    wide, high, low = (f"{size / EM * SCALE:.3f}em" for size in (width, height, -depth))
    return (
        f'<svg class="formula" role="img" aria-label="{escape(formula, quote=True)}" '
        f'style="width:{wide};height:{high};vertical-align:{low}" '
        f'viewBox="0 {depth - height:.0f} {width:.0f} {height:.0f}">'
        f'<path fill="currentColor" d="{"".join(steps)}"/></svg>'
    )


def inline(translator: HTML5Translator, node: nodes.Element) -> None:
    """An inline formula."""
    translator.body.append(drawn(node.astext()))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.Element) -> None:
    """A display formula, with large fractions; it scrolls if it is wider than the page."""
    shown = drawn(node.astext().replace(r"\frac", r"\dfrac"))
    translator.body.append(f'<div class="formula-block">{shown}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("drawn", (inline, None), (block, None))
    app.config.html_math_renderer = "drawn"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
