"""Statistics over runs: scores [runs, problems], or values [runs, ...] for means; plain NumPy, seeded.

Interquartile mean, profiles, probability of improvement, optimality gap and the bootstrap stratified by
problem follow Agarwal et al., "Deep RL at the Edge of the Statistical Precipice" (NeurIPS 2021). A metric is
a plain number; `bootstrap(scores, metric)` puts an interval around it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.problem import Floats
from monmdp.training.curves import SOLVED_WITHIN

#: Resamples of a bootstrap interval.
REPEATS = 2_000
#: Sign flips of a paired comparison; where there are no more patterns than this, all of them are tried.
SIGN_FLIPS = 10_000


class Interval(NamedTuple):
    """An estimate and the bounds of its confidence interval: numbers, or arrays of one shape."""

    estimate: Any
    low: Any
    high: Any


class PairedDifference(NamedTuple):
    """Mean of first − second, its interval, and the chance of a difference as large if signs were coin flips."""

    estimate: float
    low: float
    high: float
    p_value: float


def mean_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Mean along axis 0 ± Student's t · s / √runs; values [runs, ...]. A single run has NaN bounds."""
    found = _finite(values, "The values")
    if found.ndim == 0 or len(found) == 0:
        raise MonMDPError("A mean needs values [runs, ...] of at least one run.")
    _check_level(level)
    runs = len(found)
    mean = found.mean(0)
    if runs == 1:
        unknown = np.full_like(mean, np.nan)
        return Interval(mean[()], unknown[()], unknown[()])
    half = student_quantile(level, runs - 1) * found.std(0, ddof=1) / np.sqrt(runs)
    return Interval(mean[()], (mean - half)[()], (mean + half)[()])


@lru_cache
def student_quantile(level: float, freedom: int) -> float:
    """The t for which a Student variable of `freedom` degrees lies in [−t, t] with probability `level`.

    The probability is a finite series (Abramowitz & Stegun 26.7.3 and 26.7.4), inverted by bisection.
    """
    _check_level(level)
    check.whole(freedom, 1, "The degrees of freedom")
    powers = np.arange(2, freedom - 1, 2) if freedom % 2 == 0 else np.arange(3, freedom - 1, 2)
    terms = np.cumprod(np.concatenate([[1.0], (powers - 1) / powers]))
    low, high = 0.0, np.pi / 2
    for _ in range(80):
        middle = (low + high) / 2
        below = _central_probability(middle, freedom, terms) < level
        low, high = (middle, high) if below else (low, middle)
    return float(np.sqrt(freedom) * np.tan((low + high) / 2))


def _central_probability(angle: float, freedom: int, terms: Floats) -> float:
    """P(|T| < √freedom · tan(angle)); terms: coefficients of cos^0, cos², … (even), of cos, cos³, … (odd)."""
    sine, cosine = np.sin(angle), np.cos(angle)
    series = float(sine * (terms * cosine ** (2 * np.arange(len(terms)))).sum())
    if freedom % 2 == 0:
        return series
    return 2.0 / np.pi * (angle + (cosine * series if freedom > 1 else 0.0))


def interquartile_mean(scores: npt.ArrayLike) -> float:
    """Mean of the middle half of all scores [runs, problems]; a quarter of them is cut off at either end."""
    found = np.sort(_scores(scores), axis=None)
    cut = len(found) // 4
    return float(found[cut : len(found) - cut].mean())


def bootstrap(
    scores: npt.ArrayLike,
    statistic: Callable[[Floats], Any],
    level: float = 0.95,
    repeats: int = REPEATS,
    seed: int = 0,
) -> Interval:
    """Percentile interval of a statistic of scores [runs, problems], runs resampled within each problem."""
    found = _scores(scores)
    random = _random(level, repeats, seed)
    drawn = [
        statistic(np.take_along_axis(found, random.integers(len(found), size=found.shape), axis=0))
        for _ in range(repeats)
    ]
    return _percentiles(statistic(found), np.asarray(drawn, np.float64), level)


def performance_profile(scores: npt.ArrayLike, thresholds: npt.ArrayLike) -> Floats:
    """Fraction of all scores [runs, problems] above each threshold, [thresholds]."""
    found = np.sort(_scores(scores), axis=None)
    return 1.0 - np.searchsorted(found, _finite(thresholds, "The thresholds"), side="right") / len(found)


def profile_interval(
    scores: npt.ArrayLike, thresholds: npt.ArrayLike, level: float = 0.95, repeats: int = REPEATS, seed: int = 0
) -> Interval:
    """A performance profile with pointwise bootstrap intervals, arrays [thresholds]."""
    return bootstrap(scores, partial(performance_profile, thresholds=thresholds), level, repeats, seed)


def optimality_gap(scores: npt.ArrayLike, target: float = 1.0) -> float:
    """By how much scores [runs, problems] fall short of the target on average: mean of max(target − score, 0)."""
    return float(np.maximum(target - _scores(scores), 0.0).mean())


def normalised(returns: npt.ArrayLike, optimal: npt.ArrayLike, random: npt.ArrayLike) -> Floats:
    """Returns on a scale on which 0 is acting uniformly at random and 1 is optimal.

    returns [runs, problems]; optimal and random [problems], or numbers.
    """
    found, best, worst = (_finite(values, "Returns") for values in (returns, optimal, random))
    try:
        best, worst = np.broadcast_to(best, found.shape), np.broadcast_to(worst, found.shape)
    except ValueError:
        raise MonMDPError(
            f"Optimal {np.shape(optimal)} and random returns {np.shape(random)} must have one value a problem, "
            f"as the returns {found.shape} have columns."
        ) from None
    if np.any(best - worst <= 1e-12):
        raise MonMDPError("A problem in which acting at random is as good as optimal has no normalised score.")
    scores: Floats = (found - worst) / (best - worst)
    return scores


def probability_of_improvement(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Mean over problems of P(X > Y) + ½ P(X = Y), X a run of the first, Y of the second; [runs, problems] each."""
    return float(np.mean([_wins(one, other).mean() for one, other in _columns(first, second)]))


def improvement_interval(
    first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95, repeats: int = REPEATS, seed: int = 0
) -> Interval:
    """The probability of improvement, runs of either side resampled within each problem."""
    random = _random(level, repeats, seed)
    drawn = np.zeros(repeats)
    columns = _columns(first, second)
    for one, other in columns:
        counts, other_counts = _times_drawn(random, repeats, len(one)), _times_drawn(random, repeats, len(other))
        drawn += ((counts @ _wins(one, other)) * other_counts).sum(1) / (len(one) * len(other))
    return _percentiles(probability_of_improvement(first, second), drawn / len(columns), level)


def _times_drawn(random: np.random.Generator, repeats: int, runs: int) -> Floats:
    """How often each run is drawn when as many are drawn with replacement, [repeats, runs]."""
    drawn = random.integers(runs, size=(repeats, runs)) + runs * np.arange(repeats)[:, None]
    return np.bincount(drawn.ravel(), minlength=repeats * runs).reshape(repeats, runs).astype(np.float64)


def paired_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    level: float = 0.95,
    repeats: int = REPEATS,
    seed: int = 0,
) -> PairedDifference:
    """Mean difference of two agents run with the same seeds, [runs] or [runs, problems] each.

    The interval resamples pairs, that is seeds; the two-sided p-value flips the signs of their differences
    (Fisher's randomisation test: all patterns where there are few, else random ones, the observed included).
    """
    one, other = _finite(first, "The first values"), _finite(second, "The second values")
    if one.shape != other.shape or one.ndim not in (1, 2) or one.size == 0:
        raise MonMDPError(
            f"A paired comparison needs two arrays [runs] or [runs, problems] of one shape, not {one.shape} and "
            f"{other.shape}."
        )
    random = _random(level, repeats, seed)
    differences = (one - other).reshape(len(one), -1).mean(1)
    drawn = differences[random.integers(len(differences), size=(repeats, len(differences)))].mean(1)
    between = _percentiles(float(differences.mean()), drawn, level)
    return PairedDifference(*between, p_value=_sign_flip_p_value(differences, random))


def _sign_flip_p_value(differences: Floats, random: np.random.Generator) -> float:
    runs = len(differences)
    if 2**runs <= SIGN_FLIPS:
        signs = 1.0 - 2.0 * (np.arange(2**runs)[:, None] >> np.arange(runs) & 1)
    else:
        signs = 1.0 - 2.0 * random.integers(2, size=(SIGN_FLIPS, runs))
        signs[0] = 1.0  # what was observed is one of the possible patterns
    sums = np.abs(signs @ differences)
    return float(np.mean(sums >= np.abs(differences.sum()) - 1e-12 * np.abs(differences).sum()))


def wilson(successes: npt.ArrayLike, runs: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Fraction of successes with Wilson's score interval (1927); numbers, or arrays that broadcast."""
    wins, n = _finite(successes, "The successes"), _finite(runs, "The runs")
    _check_level(level)
    if np.any(n < 1) or np.any(wins < 0) or np.any(wins > n):
        raise MonMDPError("A fraction needs at least one run, and between none and all of the runs as successes.")
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    fraction = wins / n
    centre = (fraction + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(fraction * (1 - fraction) / n + z**2 / (4 * n**2))
    low = np.where(wins == 0, 0.0, centre - half)
    high = np.where(wins == n, 1.0, centre + half)
    return Interval(fraction[()], low[()], high[()])


def steps_until_solved(
    steps: npt.ArrayLike, returns: npt.ArrayLike, optimal: float, within: float = SOLVED_WITHIN
) -> Floats:
    """First recorded step from which on a run stays solved to its end, infinite if it does not end so, [seed].

    steps [point], returns [seed, point].
    """
    places, found = _curves(steps, returns)
    unsolved = found < optimal - within
    solved_tail = np.argmax(unsolved[:, ::-1], axis=1)  # points after the last unsolved one, if there is any
    first = np.where(unsolved.any(1), len(places) - solved_tail, 0)
    return np.append(places, np.inf)[first]


def area_under_curve(steps: npt.ArrayLike, returns: npt.ArrayLike) -> Floats:
    """Trapezoids under each run's curve divided by its length, so in units of return, [seed].

    steps [point], returns [seed, point].
    """
    places, found = _curves(steps, returns)
    if len(places) < 2:
        raise MonMDPError("The area under a curve needs at least two points.")
    area: Floats = np.trapezoid(found, places, axis=1) / (places[-1] - places[0])
    return area


def _finite(values: npt.ArrayLike, what: str) -> Floats:
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise MonMDPError(f"{what} must be an array of numbers.") from None
    if not np.isfinite(found).all():
        raise MonMDPError(f"{what} must be finite numbers, without NaN; leave such runs out, or give them a value.")
    return found


def _scores(scores: npt.ArrayLike) -> Floats:
    found = _finite(scores, "Scores")
    if found.ndim != 2 or found.size == 0:
        raise MonMDPError(
            f"Scores are an array [runs, problems] with at least one run, not one of shape {found.shape}."
        )
    return found


def _columns(first: npt.ArrayLike, second: npt.ArrayLike) -> list[tuple[Floats, Floats]]:
    """The runs of both sides, problem by problem."""
    one, other = _scores(first), _scores(second)
    if one.shape[1] != other.shape[1]:
        raise MonMDPError(f"Both sides need the same problems, not {one.shape[1]} and {other.shape[1]} of them.")
    return list(zip(one.T, other.T, strict=True))


def _wins(one: Floats, other: Floats) -> Floats:
    """1 where a run of the first is better, ½ where both are equal, [runs, runs]."""
    wins: Floats = np.where(one[:, None] == other, 0.5, one[:, None] > other)
    return wins


def _curves(steps: npt.ArrayLike, returns: npt.ArrayLike) -> tuple[Floats, Floats]:
    places, found = _finite(steps, "Steps"), _finite(returns, "Returns")
    if places.ndim != 1 or found.ndim != 2 or found.shape[1] != len(places) or found.size == 0:
        raise MonMDPError(
            f"Curves are steps [point] and returns [seed, point], not arrays of shape {places.shape} and {found.shape}."
        )
    if np.any(np.diff(places) <= 0):
        raise MonMDPError("The steps of a curve must increase.")
    return places, found


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise MonMDPError(f"A confidence level lies between 0 and 1, such as 0.95; it cannot be {level!r}.")


def _random(level: float, repeats: int, seed: int) -> np.random.Generator:
    _check_level(level)
    check.whole(repeats, 1, "The number of repeats")
    return np.random.default_rng(check.whole(seed, 0, "The seed"))


def _percentiles(estimate: Any, drawn: Floats, level: float) -> Interval:
    """The percentile interval of resampled statistics [repeats, ...]."""
    low, high = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return Interval(estimate, low, high)
