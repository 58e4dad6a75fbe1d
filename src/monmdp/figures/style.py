"""How figures look: sizes in inches, fonts in points, numbers as text, and a colour and line per agent.

Colours are those of Okabe and Ito, which are distinct for people with any common colour vision; every agent also has
its own line style, for print without colours; `agent_styles` assigns both. Settings of matplotlib are in
`monmdp.mplstyle`.
"""

import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import colormaps, rc_params_from_file, rcParams, style
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.ticker import MaxNLocator

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
OTHER_DASHES: tuple[Dashes, ...] = ("-", (0, (4, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (8, 1.5, 1, 1.5, 1, 1.5)))
#: Tones of one colour that can be told apart, and the brightness of the darkest and the lightest.
TONES, BRIGHTNESS = 6, (0.18, 0.72)
#: Weights of red, green and blue in the brightness of a colour.
LUMINANCE = (0.2126, 0.7152, 0.0722)


def agent_styles(agents: Sequence[str]) -> dict[str, AgentStyle]:
    """Agent → its style: fixed for the paper's agents, the next free one for each other agent.

    Variants of one class, such as `UCB(c=0.1)` and `UCB(c=1)`, have tones of its colour, from dark to light with their
    options, and line styles for further options. Variants of a single class have a wider range of colours.
    """
    free = cycle(AgentStyle(colour, dashes) for dashes in OTHER_DASHES for colour in OTHER_COLOURS)
    classes: dict[str, list[str]] = {}
    for agent in agents:
        classes.setdefault(re.split(r"[(\[]", agent, maxsplit=1)[0].strip(), []).append(agent)
    styles: dict[str, AgentStyle] = {}
    for name, members in classes.items():
        base = KNOWN.get(name) or next(free)
        variants = [member for member in members if len(members) > 1 and member != name]
        solid = name not in members  # else the plain class has the solid line
        styles |= dict.fromkeys(members, base) | _variant_styles(variants, base, solid, single=len(classes) == 1)
    return {agent: styles[agent] for agent in agents}


def _variant_styles(variants: Sequence[str], base: AgentStyle, solid: bool, single: bool) -> dict[str, AgentStyle]:
    """Variants of a class → their styles: the option with most values is the tone, all others are the dashes."""
    options = [dict(re.findall(r"(\w+)[= ]((?:[^,()\[\]]|\([^)]*\)|\[[^\]]*\])+)", text)) for text in variants]
    values = {name: {chosen.get(name, "") for chosen in options} for chosen in options for name in chosen}
    main = max(values, key=lambda name: len(values[name]), default="")
    tone_of = {value: i for i, value in enumerate(sorted(values.get(main, {""}), key=in_order))}
    rest = [tuple(sorted((name, v) for name, v in chosen.items() if name != main)) for chosen in options]
    dash_of = {others: i for i, others in enumerate(dict.fromkeys(rest))}
    places = [(tone_of[o.get(main, "")], dash_of[r]) for o, r in zip(options, rest, strict=True)]
    if len(tone_of) > TONES or len(dash_of) > len(OTHER_DASHES) or len({*places}) < len(places):
        count = min(len(variants), TONES)
        places = [(i % count, i // count) for i in range(len(variants))]
    elif len(dash_of) == 1:
        places = [(tone, tone + (not solid)) for tone, _ in places]
    tones = _tones(base.colour, 1 + max((tone for tone, _ in places), default=0), single)
    lines = [(tones[tone], OTHER_DASHES[dash % len(OTHER_DASHES)]) for tone, dash in places]
    return {variant: AgentStyle(*line) for variant, line in zip(variants, lines, strict=True)}


def in_order(value: str) -> tuple[int, float, str]:
    """Orders values of an option: numbers by size, then texts."""
    try:
        return 0, float(value), ""
    except ValueError:
        return 1, 0.0, value


def _tones(colour: str, count: int, single: bool) -> list[str]:
    """Tones of evenly spaced brightness from dark to light: of a colour or, for a single class, over many hues."""
    ends = ((0.0, 0.0, 0.0), to_rgb(colour), (1.0, 1.0, 1.0))
    ramp = (colormaps["viridis"] if single else LinearSegmentedColormap.from_list("", ends))(np.linspace(0, 1, 256))
    wanted = np.linspace(*BRIGHTNESS, count) if count > 1 else [sum(BRIGHTNESS) / 2]
    brightness = np.sqrt(ramp[:, :3] ** 2 @ LUMINANCE)
    return [to_hex(ramp[np.abs(brightness - value).argmin()]) for value in wanted]


@contextmanager
def styled(width: float | None = None) -> Iterator[None]:
    """A context in which figures look alike, independent of the user's own matplotlib settings.

    width: of the figures in inches, by default that of a paper's text.
    """
    settings: list[Any] = [Path(__file__).with_name("monmdp.mplstyle")]
    if width is not None:
        settings.append({"figure.figsize": (width, rc_params_from_file(settings[0])["figure.figsize"][1])})
    with warnings.catch_warnings(), style.context(settings, after_reset=True):
        # Characters of a name that the font lacks appear as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def page_size() -> tuple[float, float]:
    """Width of figures and their largest height in inches, inside `styled`."""
    width, height = rcParams["figure.figsize"]
    return width, height


def wrapped(name: str, width: float, lines: int = 2, size: float = LABEL, bold: bool = False) -> str:
    """A name broken into at most `lines` lines of about `width` inches; an ellipsis replaces what does not fit."""
    characters = max(int(width / (size * (BOLD_CHARACTER if bold else CHARACTER))), 4)
    wrapper = textwrap.TextWrapper(characters)
    clean = re.sub(r"[\x00-\x1f\x7f]", " ", name)
    for ends in (r" ,(_+\[-", r" ,(_+\[=-"):  # breaks names such as `Empty(rows=3)`, before values only if it must
        wrapper.wordsep_re = re.compile(rf"(?<=[{ends}])")
        if max(map(len, wrapper.wordsep_re.split(clean))) <= characters:
            break
    parts = [part.rstrip() for part in wrapper.wrap(clean)]
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
