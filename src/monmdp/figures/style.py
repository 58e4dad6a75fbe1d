"""How figures look: sizes in inches, fonts in points, numbers as text, and a colour and line per agent.

Colours are those of Okabe and Ito, which are distinct for people with any common colour vision; every agent also has
its own line style, for print without colours. Settings of matplotlib are in `monmdp.mplstyle`.
"""

import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib import style
from matplotlib.axis import Axis
from matplotlib.ticker import MaxNLocator

#: Width of a paper's text, and the largest height that leaves space for a caption.
WIDTH, HEIGHT = 5.5, 8.3
#: Font sizes: labels of rows, columns and axes; numbers at ticks and in cells; remarks.
LABEL, TICK, SMALL = 7.0, 6.0, 5.0
#: Average width of a character in inches per point of font size, normal and bold.
CHARACTER, BOLD_CHARACTER = 0.0085, 0.0098

INK, FADED, PALE = "#222222", "#6e6e6e", "#ededed"

Dashes = str | tuple[float, tuple[float, ...]]


class AgentStyle(NamedTuple):
    """How an agent's curve is drawn."""

    colour: str
    dashes: Dashes
    width: float = 1.0

    @property
    def line(self) -> dict[str, Any]:
        """Properties of a matplotlib line."""
        return {"color": self.colour, "linestyle": self.dashes, "linewidth": self.width}


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


def agent_styles(agents: Sequence[str]) -> dict[str, AgentStyle]:
    """Agent → its style: fixed for the paper's agents, the next free one for each other agent."""
    free = cycle(AgentStyle(colour, dashes) for dashes in OTHER_DASHES for colour in OTHER_COLOURS)
    return {agent: KNOWN.get(agent) or next(free) for agent in agents}


@contextmanager
def styled() -> Iterator[None]:
    """A context in which figures look alike, independent of the user's own matplotlib settings."""
    with warnings.catch_warnings(), style.context(Path(__file__).with_name("monmdp.mplstyle"), after_reset=True):
        # Characters of a name that the font lacks appear as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def wrapped(name: str, width: float, lines: int = 2, size: float = LABEL, bold: bool = False) -> str:
    """A name broken into at most `lines` lines of about `width` inches; an ellipsis replaces what does not fit."""
    characters = max(int(width / (size * (BOLD_CHARACTER if bold else CHARACTER))), 4)
    wrapper = textwrap.TextWrapper(characters)
    wrapper.wordsep_re = re.compile(r"(?<=[ ,(_+\[=-])")  # breaks names such as `Empty(rows=3)`
    parts = [part.rstrip() for part in wrapper.wrap(re.sub(r"[\x00-\x1f\x7f]", " ", name))]
    if len(parts) > lines:
        parts[lines - 1 :] = [parts[lines - 1][: characters - 1] + "…"]
    return "\n".join(parts)


def fitting_size(longest: int, width: float, size: float = TICK) -> float:
    """The largest font size up to `size` in which a text of `longest` characters takes at most `width` inches."""
    return min(size, width / (max(longest, 1) * CHARACTER))


def number(value: float) -> str:
    """A number as plain text: −0.5, 0, 2.5, 1,200."""
    text = f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return text.replace("-", "−")


def few_ticks(axis: Axis, most: int, scale: float = 1.0) -> None:
    """At most `most` intervals between round numbers on an axis, which are shown divided by `scale`."""
    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2))
    axis.set_major_formatter(lambda value, _: number(round(value / scale, 12)))
