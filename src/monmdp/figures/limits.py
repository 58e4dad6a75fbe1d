"""Limits of an axis of returns that let curves near the optimum be told apart, whatever a few others do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Curves that end at most so many times the typical gap below the optimum are on the scale.
REACH = 2.0
#: Room above and below, as a part of the range.
ROOM = 0.08


def return_limits(optima: Sequence[float], curves: Sequence[np.ndarray]) -> tuple[float, float]:
    """Lowest and highest return shown for curves [point] that end at or below one of the optima.

    The typical gap is the distance from the best optimum to earning nothing, or the median of the gaps at the
    end if that is larger. Curves start anywhere, and those that end much further down are left out.
    """
    best = max(optima)
    gaps = best - np.array([curve[-1] for curve in curves])
    typical = max(best, float(np.quantile(gaps, 0.5, method="lower")))
    if typical < 1e-9:  # nothing can be earned, and everybody knows it: show where curves come from
        typical = max(float(np.max(best - np.concatenate(curves))), abs(best), 1.0)
    reached = gaps[gaps <= REACH * typical]
    gap = max(typical, float(reached.max(initial=0.0)))
    return best - (1.0 + ROOM) * gap, best + ROOM * gap
