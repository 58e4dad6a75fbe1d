"""The figures' colours on a screen, which may be dark."""

from __future__ import annotations

from monmdp.figures.style import AgentStyle

#: Relative luminance from which on a colour stands out from the page's dark ground by at least 4.5 : 1.
BRIGHT = 0.26


def colours(style: AgentStyle) -> dict[str, str]:
    """An agent's colour on light and on dark ground."""
    return {"colour": style.colour, "dark": on_dark(style.colour)}


def on_dark(colour: str) -> str:
    """The same hue, mixed with as little white as dark ground needs: `#0072B2` → a lighter blue."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    for share in range(0, 101, 2):
        mixed = [part + (255 - part) * share / 100 for part in (red, green, blue)]
        if luminance(mixed) >= BRIGHT:
            break
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def luminance(parts: list[float]) -> float:
    """Relative luminance of red, green and blue in 0 … 255 (WCAG 2)."""
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in (part / 255 for part in parts)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
