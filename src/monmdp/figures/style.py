"""How figures look: sizes in inches, fonts that stay readable in print, and a colour and line for every agent.

Colours are those of Okabe and Ito, which people with any common colour vision can tell apart; every agent has
its own line style too, for print without colours.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Width of a paper's text, and the most height that leaves room for a caption.
WIDTH, HEIGHT = 5.5, 8.3
#: Points: labels of rows, columns and axes; numbers at ticks and in cells; the smallest that is ever used.
LABEL, TICK, SMALLEST = 7.0, 6.0, 4.5

INK, FADED, PALE = "#222222", "#6e6e6e", "#ededed"

Dashes = str | tuple[float, tuple[float, ...]]


class AgentStyle(NamedTuple):
    """How an agent's curve is drawn."""

    colour: str
    dashes: Dashes
    width: float = 1.0


KNOWN: dict[str, AgentStyle] = {
    "Directed": AgentStyle("#0072B2", "-", 1.3),
    "Optimism": AgentStyle("#000000", (0, (1, 1))),
    "UCB": AgentStyle("#E69F00", (0, (5, 1))),
    "QCounts": AgentStyle("#CC79A7", (0, (4, 1, 1, 1))),
    "Intrinsic": AgentStyle("#009E73", (0, (2.5, 1))),
    "Naive": AgentStyle("#D55E00", (0, (6, 1, 1, 1, 1, 1))),
}
OTHER_COLOURS = ("#56B4E9", "#882255", "#999933", "#44AA99", "#332288", "#7F7F7F", "#AA4499", "#8B5A2B")
OTHER_DASHES: tuple[Dashes, ...] = ("-", (0, (4, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)))

RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that figures are the same everywhere
    "font.size": LABEL,
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.edgecolor": FADED,
    "axes.labelcolor": INK,
    "axes.labelsize": LABEL,
    "axes.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": TICK,
    "ytick.labelsize": TICK,
    "xtick.color": FADED,
    "ytick.color": FADED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 2.0,
    "ytick.major.size": 2.0,
    "xtick.major.width": 0.5,
    "ytick.major.width": 0.5,
    "xtick.major.pad": 1.5,
    "ytick.major.pad": 1.5,
    "lines.solid_capstyle": "butt",
    "pdf.fonttype": 42,
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
}


@contextmanager
def styled() -> Iterator[None]:
    """Figures made and saved in here look alike, whatever the user's own settings of matplotlib are."""
    import matplotlib

    with warnings.catch_warnings(), matplotlib.rc_context():
        # A name may hold signs that the font lacks; they appear as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams
        settings.update(RC)
        yield


def new_figure(width: float, height: float) -> Figure:
    """An empty page of so many inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def agent_styles(agents: Sequence[str]) -> dict[str, AgentStyle]:
    """Agent → its style: the paper's agents always the same, all others the next free ones, in order."""
    others = [agent for agent in agents if agent not in KNOWN]
    n = len(OTHER_COLOURS)
    given = {
        agent: AgentStyle(OTHER_COLOURS[i % n], OTHER_DASHES[i // n % len(OTHER_DASHES)])
        for i, agent in enumerate(others)
    }
    return {agent: KNOWN.get(agent) or given[agent] for agent in agents}
