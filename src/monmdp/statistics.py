"""Statistics over runs: scores [runs, problems], or values [runs, ...] for means; seeded where they draw.

Interquartile mean, profiles, probability of improvement, optimality gap and the bootstrap stratified by
problem follow Agarwal et al., "Deep RL at the Edge of the Statistical Precipice" (NeurIPS 2021). A metric is
a plain number; `bootstrap(scores, metric)` computes its interval. SciPy is imported on first use.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from monmdp import check
from monmdp.errors import MonMDPError
from monmdp.problem import Floats
from monmdp.training.curves import SOLVED_WITHIN, half_width, solved_points

#: Resamples of a bootstrap interval.
REPEATS = 2_000
#: Sign patterns of a paired comparison; all 2^runs patterns where there are no more than this.
SIGN_FLIPS = 10_000


class Interval(NamedTuple):
    """An estimate and the bounds of its confidence interval: numbers, or arrays of one shape."""

    estimate: Any
    low: Any
    high: Any


class PairedDifference(NamedTuple):
    """Mean of first − second, its interval, and the two-sided p-value of a sign-flip test."""

    estimate: float
    low: float
    high: float
    p_value: float


def mean_interval(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Mean along axis 0 ± Student's t · s / √runs; values [runs, ...]. A single run has NaN bounds."""
    sample = _array(values, "The values", "runs", "...")
    _check_level(level)
    mean, half = sample.mean(0), half_width(sample, level)
    return Interval(mean[()], (mean - half)[()], (mean + half)[()])


#: Statistics of a curve over seeds: name → function of values [runs, ...] to its interval along axis 0; from 500
#: resamples, enough for a band in a figure.
STATISTICS: dict[str, Callable[[npt.ArrayLike], Interval]] = {
    "mean": mean_interval,
    "median": lambda values: bootstrap(values, partial(np.median, axis=0), repeats=500),
    "iqm": lambda values: bootstrap(values, _interquartile_means, repeats=500),
}


def _interquartile_means(values: Floats) -> Floats:
    """Mean of the middle half along axis 0."""
    from scipy.stats import trim_mean

    means: Floats = trim_mean(values, 0.25, axis=0)
    return means


def wilson(successes: npt.ArrayLike, runs: npt.ArrayLike, level: float = 0.95) -> Interval:
    """Fraction of successes with Wilson's score interval (1927); integers, or arrays that broadcast."""
    from scipy.special import ndtri

    wins, n = _array(successes, "The successes"), _array(runs, "The runs")
    _check_level(level)
    if np.any(n < 1) or np.any(wins < 0) or np.any(wins > n):
        raise MonMDPError("A fraction needs at least one run, and between none and all of the runs as successes.")
    fraction, z = wins / n, ndtri(0.5 + 0.5 * level)
    scale = 2 * (n + z**2)
    centre, half = (2 * n * fraction + z**2) / scale, z / scale * np.sqrt(4 * n * fraction * (1 - fraction) + z**2)
    low, high = np.where(wins == 0, 0.0, centre - half), np.where(wins == n, 1.0, centre + half)
    return Interval(fraction[()], low[()], high[()])


def interquartile_mean(scores: npt.ArrayLike) -> float:
    """Mean of the middle half of all scores [runs, problems]; the lowest and highest quarter are left out."""
    from scipy.stats import trim_mean

    return float(trim_mean(_scores(scores), 0.25, axis=None))


def optimality_gap(scores: npt.ArrayLike, target: float = 1.0) -> float:
    """Mean of max(target − score, 0) over scores [runs, problems]."""
    return float(np.maximum(target - _scores(scores), 0.0).mean())


def performance_profile(scores: npt.ArrayLike, thresholds: npt.ArrayLike) -> Floats:
    """Fraction of all scores [runs, problems] above each threshold, [thresholds]."""
    ordered = np.sort(_scores(scores), axis=None)
    return 1.0 - np.searchsorted(ordered, _array(thresholds, "The thresholds"), side="right") / len(ordered)


def bootstrap(
    scores: npt.ArrayLike, statistic: Callable[..., Any], level: float = 0.95, repeats: int = REPEATS, seed: int = 0
) -> Interval:
    """Percentile interval of a statistic of scores [runs, problems], runs resampled within each problem.

    A single run has NaN bounds.
    """
    sample = _scores(scores)
    random = _random(level, repeats, seed)
    resampled = [
        statistic(np.take_along_axis(sample, random.integers(len(sample), size=sample.shape), axis=0))
        for _ in range(repeats)
    ]
    return _percentiles(statistic(sample), np.asarray(resampled, np.float64), level, len(sample))


def profile_interval(scores: npt.ArrayLike, thresholds: npt.ArrayLike, **options: Any) -> Interval:
    """A performance profile with pointwise intervals, arrays [thresholds]; options: those of `bootstrap`."""
    return bootstrap(scores, partial(performance_profile, thresholds=thresholds), **options)


def normalised(returns: npt.ArrayLike, optimal: npt.ArrayLike, random: npt.ArrayLike) -> Floats:
    """Returns on a scale on which 0 is acting uniformly at random and 1 is optimal.

    returns [runs, problems]; optimal and random [problems], or numbers.
    """
    earned, best, worst = (_array(values, "Returns") for values in (returns, optimal, random))
    if not {best.shape, worst.shape} <= {(), earned.shape[1:]}:
        raise MonMDPError(
            f"Optimal {best.shape} and random returns {worst.shape} must have one value per problem, "
            f"that is per column of the returns {earned.shape}."
        )
    if np.any(best - worst <= 1e-12):
        raise MonMDPError("A problem in which acting at random is as good as optimal has no normalised score.")
    scores: Floats = (earned - worst) / (best - worst)
    return scores


def probability_of_improvement(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Mean over problems of P(X > Y) + ½ P(X = Y), X a run of the first, Y of the second; [runs, problems] each."""
    one, other = _scores(first), _scores(second)
    if one.shape[1] != other.shape[1]:
        raise MonMDPError(f"Both sides need the same problems, not {one.shape[1]} and {other.shape[1]} of them.")
    return float(_superiority(one, other).mean())


def improvement_interval(
    first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95, repeats: int = REPEATS, seed: int = 0
) -> Interval:
    """The probability of improvement, runs of either side resampled within each problem; NaN bounds for single runs."""
    random, estimate = _random(level, repeats, seed), probability_of_improvement(first, second)
    one, other = _scores(first), _scores(second)
    resampled = np.zeros(repeats)
    for column in zip(one.T, other.T, strict=True):
        samples = [values[random.integers(len(values), size=(repeats, len(values)))] for values in column]
        resampled += _superiority(samples[0].T, samples[1].T) / one.shape[1]
    return _percentiles(estimate, resampled, level, min(len(one), len(other)))


def _superiority(first: Floats, second: Floats) -> Floats:
    """P(X > Y) + ½ P(X = Y) along axis 0, from the Mann-Whitney statistic."""
    from scipy.stats import mannwhitneyu

    u_statistic: Floats = mannwhitneyu(first, second, axis=0, method="asymptotic").statistic
    return u_statistic / (len(first) * len(second))


def paired_difference(
    first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95, repeats: int = REPEATS, seed: int = 0
) -> PairedDifference:
    """Mean difference of two agents run with the same seeds, [runs, ...] each.

    The interval resamples pairs, that is seeds; the two-sided p-value flips the signs of their differences
    (Fisher's randomisation test: all sign patterns if at most SIGN_FLIPS, else random ones and the observed one).
    """
    one, other = (_array(values, "The values", "runs", "...") for values in (first, second))
    if one.shape != other.shape:
        raise MonMDPError(f"A paired comparison needs two arrays of one shape, not {one.shape} and {other.shape}.")
    random = _random(level, repeats, seed)
    differences = (one - other).reshape(len(one), -1).mean(1)
    resampled = differences[random.integers(len(differences), size=(repeats, len(differences)))].mean(1)
    interval = _percentiles(float(differences.mean()), resampled, level, len(differences))
    return PairedDifference(*interval, p_value=_sign_flip_p_value(differences, random))


def _sign_flip_p_value(differences: Floats, random: np.random.Generator) -> float:
    runs = len(differences)
    if 2**runs <= SIGN_FLIPS:
        signs = 1.0 - 2.0 * (np.arange(2**runs)[:, None] >> np.arange(runs) & 1)
    else:
        signs = 1.0 - 2.0 * random.integers(2, size=(SIGN_FLIPS, runs))
        signs[0] = 1.0  # the observed pattern is one of the possible ones
    sums = np.abs(signs @ differences)
    return float(np.mean(sums >= np.abs(differences.sum()) - 1e-12 * np.abs(differences).sum()))


def steps_until_solved(
    steps: npt.ArrayLike, returns: npt.ArrayLike, optimal: float, within: float = SOLVED_WITHIN
) -> Floats:
    """First recorded step from which a run stays solved until its end; infinite if it does not end solved, [seed].

    steps [point], returns [seed, point].
    """
    points, curves = _curves(steps, returns)
    return np.append(points, np.inf)[solved_points(curves, optimal - within)]


def area_under_curve(steps: npt.ArrayLike, returns: npt.ArrayLike) -> Floats:
    """Area under each run's curve by trapezoids, divided by its length, in units of return, [seed].

    steps [point], returns [seed, point].
    """
    points, curves = _curves(steps, returns)
    if len(points) < 2:
        raise MonMDPError("The area under a curve needs at least two points.")
    area: Floats = np.trapezoid(curves, points, axis=1) / (points[-1] - points[0])
    return area


def _array(values: npt.ArrayLike, what: str, *axes: str) -> Floats:
    """The values as an array of finite numbers, with these axes if any are given; "..." is any number of axes."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise MonMDPError(f"{what} must be an array of numbers.") from None
    if not np.isfinite(array).all():
        raise MonMDPError(f"{what} must be finite numbers, without NaN; leave such runs out or replace the value.")
    named = [axis for axis in axes if axis != "..."]
    if axes and (array.size == 0 or array.ndim < len(named) or (array.ndim > len(named) and named == list(axes))):
        expected = f"an array [{', '.join(axes)}] with at least one run"
        raise MonMDPError(f"{what} must be {expected}, not one of shape {array.shape}.")
    return array


def _scores(scores: npt.ArrayLike) -> Floats:
    return _array(scores, "Scores", "runs", "problems")


def _curves(steps: npt.ArrayLike, returns: npt.ArrayLike) -> tuple[Floats, Floats]:
    points, curves = _array(steps, "Steps", "point"), _array(returns, "Returns", "seed", "point")
    if curves.shape[1] != len(points) or np.any(np.diff(points) <= 0):
        raise MonMDPError(f"Steps must increase, one per point of the returns [seed, point] {curves.shape}.")
    return points, curves


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise MonMDPError(f"A confidence level must be between 0 and 1, such as 0.95, not {level!r}.")


def _random(level: float, repeats: int, seed: int) -> np.random.Generator:
    _check_level(level)
    check.whole(repeats, 1, "The number of repeats")
    return np.random.default_rng(check.whole(seed, 0, "The seed"))


def _percentiles(estimate: Any, resampled: Floats, level: float, runs: int) -> Interval:
    """The percentile interval of resampled statistics [repeats, ...]; NaN for a single run."""
    low, high = np.quantile(resampled, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return Interval(estimate, low, high) if runs > 1 else Interval(estimate, low * np.nan, high * np.nan)
