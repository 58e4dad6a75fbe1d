"""Statistics against numbers computed by hand, against SciPy, and against their coverage."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

import monmdp
from monmdp.errors import MonMDPError
from monmdp.statistics import (
    STATISTICS,
    area_under_curve,
    bootstrap,
    improvement_interval,
    interquartile_mean,
    mean_interval,
    normalised,
    optimality_gap,
    paired_difference,
    performance_profile,
    probability_of_improvement,
    profile_interval,
    steps_until_solved,
    wilson,
)

#: Four runs in two problems.
SCORES = np.array([[0.0, 1.0], [0.2, 0.8], [0.4, 0.6], [1.0, 1.2]])


def draws(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize(("level", "bounds"), [(0.95, [0.025, 0.975]), (0.8, [0.1, 0.9])])
def test_the_bounds_are_percentiles_of_the_resamples(level, bounds):
    seen = []

    def mean(scores):
        seen.append(scores.mean())
        return seen[-1]

    interval = bootstrap(np.random.default_rng(1).random((9, 2)), mean, level)
    *resampled, estimate = seen
    assert len(resampled) == 2_000
    assert interval == (estimate, *np.quantile(resampled, bounds))


def test_mean_interval_by_hand():
    """Mean 2, s = 1, so half a width of 4.303 / √3."""
    result = mean_interval([1, 2, 3])
    assert result.estimate == 2.0
    assert result.high - 2.0 == pytest.approx(4.302653 / math.sqrt(3), abs=1e-5)
    assert 2.0 - result.low == pytest.approx(result.high - 2.0)


def test_mean_interval_along_runs():
    values = draws(1, 7, 3, 2) + np.arange(2)
    result = mean_interval(values, level=0.8)
    assert result.low.shape == result.high.shape == (3, 2)
    expected = stats.ttest_1samp(values, 0.0, axis=0).confidence_interval(0.8)
    assert result.low == pytest.approx(expected.low)
    assert result.high == pytest.approx(expected.high)
    assert result.estimate == pytest.approx(values.mean(0))


def test_half_width_of_curves_is_that_of_the_mean_interval():
    curves = monmdp.train(monmdp.make("Walk", "Full"), "Naive", 5, steps=220, points=8)
    half = stats.t.ppf(0.975, 4) * stats.sem(curves.final_returns)
    assert half > 0
    assert curves.final_return_ci == pytest.approx(half)
    single = monmdp.train(monmdp.make("Walk", "Full"), "Naive", 1, steps=220, points=8)
    assert math.isnan(single.final_return_ci)


def test_a_single_run_has_a_mean_and_no_bounds():
    result = mean_interval([[3.0, 4.0]])
    assert list(result.estimate) == [3.0, 4.0]
    assert np.isnan(result.low).all()
    assert np.isnan(result.high).all()


def test_interquartile_mean():
    """Of eight sorted scores 0 .2 .4 .6 .8 1 1 1.2 the middle four are .4 .6 .8 1."""
    assert interquartile_mean(SCORES) == pytest.approx(0.7)
    for runs, problems in [(1, 1), (3, 1), (5, 3), (10, 7)]:
        scores = draws(runs, runs, problems)
        assert interquartile_mean(scores) == pytest.approx(stats.trim_mean(scores, 0.25, axis=None))


def test_performance_profile():
    assert performance_profile(SCORES, [-1.0, 0.0, 0.5, 1.0, 1.2]) == pytest.approx([1.0, 7 / 8, 5 / 8, 1 / 8, 0.0])


def test_optimality_gap():
    """Shortfalls 1 .8 .6 0 and 0 .2 .4 0; what is above the target does not make up for it."""
    assert optimality_gap(SCORES) == pytest.approx(3.0 / 8)
    assert optimality_gap(SCORES, target=0.5) == pytest.approx((0.5 + 0.3 + 0.1) / 8)


def test_normalised():
    returns = [[-1.0, 10.0], [0.0, 5.0], [1.0, 0.0]]
    assert normalised(returns, optimal=[1.0, 10.0], random=[-1.0, 5.0]).tolist() == [[0, 1], [0.5, 0], [1, -1]]


def test_normalised_with_exact_ends():
    """Optimal play scores 1 and random play 0, both as the library computes them."""
    problem = monmdp.make("Walk", "Ask")
    best = monmdp.solve(problem).optimal_return
    random = monmdp.policy_return(problem, np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions))
    assert random < best
    assert normalised([[best], [random]], best, random).tolist() == [[1.0], [0.0]]


def test_probability_of_improvement_by_hand():
    """First problem: 2 beats 1, ties with 2, loses to 3; 3 beats two and ties with one: 4 of 6. Second: none."""
    first, second = [[2.0, 0.0], [3.0, 0.0]], [[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]]
    assert probability_of_improvement(first, second) == pytest.approx((4 / 6 + 0) / 2)
    assert probability_of_improvement(second, first) == pytest.approx((2 / 6 + 1) / 2)
    assert probability_of_improvement(SCORES, SCORES) == 0.5


def test_probability_of_improvement_is_the_mann_whitney_statistic():
    first, second = np.round(draws(1, 12, 3), 1), np.round(draws(2, 9, 3) - 0.3, 1)
    expected = [stats.mannwhitneyu(first[:, k], second[:, k]).statistic / (12 * 9) for k in range(3)]
    assert probability_of_improvement(first, second) == pytest.approx(np.mean(expected))


@pytest.mark.parametrize(("successes", "runs"), [(0, 10), (10, 10), (66, 100), (1, 1), (3, 7)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_wilson(successes, runs, level):
    expected = stats.binomtest(successes, runs).proportion_ci(level, "wilson")
    assert wilson(successes, runs, level) == pytest.approx((successes / runs, expected.low, expected.high), abs=1e-12)


def test_wilson_of_many():
    result = wilson([0, 5, 10], 10)
    assert result.estimate.tolist() == [0.0, 0.5, 1.0]
    assert result.low[0] == 0.0
    assert result.high[2] == 1.0
    assert result.low[1] == pytest.approx(0.2366, abs=1e-4)  # Newcombe 1998 gives 0.2366 and 0.7634 for 5 of 10
    assert result.high[1] == pytest.approx(0.7634, abs=1e-4)


def test_steps_until_solved():
    steps = [0, 10, 20, 30]
    returns = [[1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 0], [0, 1 - 1e-7, 1, 1]]
    assert steps_until_solved(steps, returns, 1.0).tolist() == [0, 20, 30, math.inf, math.inf, 10]
    assert steps_until_solved(steps, returns, 1.0, within=1.0).tolist() == [0] * 6


def test_solved_at_the_end_agrees_with_curves():
    curves = monmdp.train(monmdp.make("Walk", "Full"), "Naive", 20, steps=220, points=8)
    result = steps_until_solved(curves.steps, curves.returns, curves.optimal_return)
    assert np.isfinite(result).tolist() == curves.solved.tolist()
    assert 0 < curves.solved.sum() < 20


def test_area_under_curve():
    """From 0 to 1 along 10 steps, then 1 along 30: (5 + 30) / 40."""
    assert area_under_curve([0, 10, 40], [[0, 1, 1], [2, 2, 2]]) == pytest.approx([35 / 40, 2.0])
    assert area_under_curve([0, 10], [[0, 1]]) == pytest.approx([0.5])


def test_paired_difference_by_hand():
    """All eight patterns of signs of 1 2 3: two have a sum of ±6 or more."""
    result = paired_difference([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert result.estimate == pytest.approx(2.0)
    assert result.p_value == pytest.approx(2 / 8)
    assert 1.0 <= result.low < 2.0 < result.high <= 3.0
    assert paired_difference([1.0, 2.0], [1.0, 2.0]) == (0.0, 0.0, 0.0, 1.0)


def test_paired_difference_uses_the_pairs():
    """A small steady difference is seen although runs differ far more among themselves."""
    base = 100.0 * draws(3, 30, 2)
    ahead = base + 0.1 + 0.05 * draws(4, 30, 2)
    result = paired_difference(ahead, base)
    assert result.low > 0.05
    assert result.high < 0.15
    assert result.p_value == pytest.approx(1e-4)
    shuffled = paired_difference(ahead, np.random.default_rng(0).permutation(base))
    assert shuffled.low < 0 < shuffled.high
    assert shuffled.p_value > 0.05


def test_p_values_like_scipys():
    first, second = draws(5, 12), draws(6, 12) - 1.2
    expected = stats.permutation_test(
        (first - second,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    ).pvalue
    assert 0.01 < expected < 0.5
    assert paired_difference(first, second).p_value == pytest.approx(expected)  # 2¹² patterns, all of them
    longer, other = np.concatenate([first, first]), np.concatenate([second, second + 0.7])
    random = paired_difference(longer, other).p_value
    expected = stats.permutation_test(
        (longer - other,), np.mean, permutation_type="samples", n_resamples=50_000, rng=np.random.default_rng(1)
    ).pvalue
    assert random == pytest.approx(expected, abs=4 * math.sqrt(0.25 * (1 / 10_000 + 1 / 50_000)))


def test_p_values_are_uniform_without_a_difference():
    """A p-value of at most 0.1 comes one time in ten: 3.5 standard deviations of 600 such experiments."""
    data = draws(7, 600, 2, 20)
    small = np.mean([paired_difference(*pair, repeats=1).p_value <= 0.1 for pair in data])
    assert abs(small - 0.1) < 3.5 * math.sqrt(0.1 * 0.9 / 600)


def test_t_intervals_cover_at_their_rate():
    """Of 4,000 intervals of 6 runs, exactly 90% in expectation; normal quantiles would cover 84%."""
    result = mean_interval(draws(8, 6, 4_000) + 3.0, level=0.9)
    covered = np.mean((result.low <= 3.0) & (result.high >= 3.0))
    assert abs(covered - 0.9) < 3.5 * math.sqrt(0.9 * 0.1 / 4_000)


#: Metric, its true value for standard normal scores in three problems shifted by 0, 1 and 5.
SHIFTS = np.array([0.0, 1.0, 5.0])


@pytest.mark.parametrize(
    ("metric", "truth"),
    [
        (np.mean, 2.0),
        (partial(performance_profile, thresholds=[1.0]), (stats.norm.sf(1.0) + 0.5 + stats.norm.cdf(4.0)) / 3),
    ],
)
def test_bootstrap_intervals_cover_at_their_rate(metric, truth):
    """Percentile intervals of 40 runs in each of 3 problems: 90%, give or take 3.5 standard deviations of 400 trials.

    Their known small-sample shortfall, a factor √(39/40) in width, costs less than half a percent here.
    """
    covered = 0
    for trial in range(400):
        low, high = bootstrap(draws(1000 + trial, 40, 3) + SHIFTS, metric, level=0.9, repeats=200, seed=trial)[1:]
        covered += bool(np.all((low <= truth) & (truth <= high)))
    assert abs(covered / 400 - 0.9) < 3.5 * math.sqrt(0.9 * 0.1 / 400)


def test_bootstrap_resamples_within_problems():
    """Problems far apart do not widen the interval of a mean, as resampling all scores together would."""
    scores = draws(9, 50, 2) * 0.01 + [0.0, 100.0]
    low, high = bootstrap(scores, np.mean)[1:]
    assert high - low < 0.01
    error = np.sqrt((scores.var(0) / 50).sum()) / 2
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1.0, abs=0.1)


def test_improvement_intervals_are_probabilities_around_the_estimate():
    estimate, low, high = improvement_interval(draws(1, 9, 3), draws(2, 8, 3))
    assert 0.0 <= low < estimate < high <= 1.0
    assert high - low == pytest.approx(0.35, abs=0.1)


def test_improvement_intervals_cover_at_their_rate():
    """P(X > Y) of normal variables 0.5 apart is Φ(0.5 / √2) in either problem."""
    truth = stats.norm.cdf(0.5 / math.sqrt(2))
    covered = 0
    for trial in range(400):
        first, second = draws(5000 + trial, 40, 2) + 0.5, draws(9000 + trial, 30, 2)
        result = improvement_interval(first, second, level=0.9, repeats=200, seed=trial)
        assert result.estimate == probability_of_improvement(first, second)
        covered += result.low <= truth <= result.high
    assert abs(covered / 400 - 0.9) < 3.5 * math.sqrt(0.9 * 0.1 / 400)


@pytest.mark.parametrize(
    "interval",
    [
        partial(bootstrap, draws(1, 9, 3), interquartile_mean),
        partial(profile_interval, draws(1, 50, 3), np.linspace(-1, 1, 20)),
        partial(improvement_interval, draws(1, 9, 3), draws(2, 8, 3)),
        partial(paired_difference, draws(1, 30, 3), draws(2, 30, 3)),
    ],
)
def test_the_same_seed_gives_the_same_interval(interval):
    def bounds(**options):
        return [np.asarray(part).tolist() for part in interval(**options)]

    assert bounds(seed=4) == bounds(seed=4)
    assert bounds(seed=4) != bounds(seed=5)
    assert bounds(seed=4) != bounds(seed=4, level=0.5)
    assert bounds() == bounds(seed=0, level=0.95, repeats=2_000)


def test_wider_at_higher_levels():
    widths = [np.subtract(*bootstrap(SCORES, np.mean, level)[:0:-1]) for level in (0.5, 0.9, 0.99)]
    assert widths == sorted(widths)
    assert widths[0] < widths[2]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: mean_interval([]), "at least one run"),
        (lambda: mean_interval(3.0), "at least one run"),
        (lambda: mean_interval([1.0, math.nan]), "without NaN"),
        (lambda: mean_interval([1.0, math.inf]), "finite"),
        (lambda: mean_interval(["a"]), "array of numbers"),
        (lambda: mean_interval([1.0, 2.0], level=1.0), "between 0 and 1"),
        (lambda: mean_interval([1.0, 2.0], level=95), "between 0 and 1"),
        (lambda: interquartile_mean([1.0, 2.0]), r"\[runs, problems\]"),
        (lambda: interquartile_mean(np.zeros((0, 3))), "at least one run"),
        (lambda: bootstrap([[math.nan]], np.mean), "without NaN"),
        (lambda: bootstrap(SCORES, np.mean, level=0.0), "between 0 and 1"),
        (lambda: bootstrap(SCORES, np.mean, repeats=0), "number of repeats"),
        (lambda: bootstrap(SCORES, np.mean, seed=-1), "The seed"),
        (lambda: performance_profile(SCORES, [math.nan]), "thresholds"),
        (lambda: optimality_gap(np.zeros((2, 2, 2))), r"\[runs, problems\]"),
        (lambda: normalised([[1.0]], 0.5, 0.5), "as good as optimal"),
        (lambda: normalised([[1.0, 2.0]], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]), "one value per problem"),
        (lambda: normalised([[1.0, 2.0]], [1.0, 2.0, 3.0], [0.0, 0.0]), "one value per problem"),
        (lambda: probability_of_improvement(SCORES, SCORES[:, :1]), "same problems"),
        (lambda: improvement_interval(SCORES, SCORES, level=2.0), "between 0 and 1"),
        (lambda: wilson(3, 0), "at least one run"),
        (lambda: wilson(4, 3), "between none and all"),
        (lambda: wilson(-1, 3), "between none and all"),
        (lambda: wilson(1, 3, level=0.0), "between 0 and 1"),
        (lambda: steps_until_solved([0, 1], [[1.0]], 1.0), r"returns \[seed, point\]"),
        (lambda: steps_until_solved([0, 1], [[1.0, math.nan]], 1.0), "without NaN"),
        (lambda: steps_until_solved([1, 1], [[1.0, 1.0]], 1.0), "must increase"),
        (lambda: area_under_curve([0], [[1.0]]), "at least two points"),
        (lambda: paired_difference([1.0, 2.0], [1.0]), "of one shape"),
        (lambda: paired_difference([], []), "at least one run"),
    ],
)
def test_bad_input_raises_a_clear_error(wrong, sentence):
    with pytest.raises(MonMDPError, match=sentence):
        wrong()


@pytest.mark.parametrize("name", ["mean", "median", "iqm"])
def test_statistics_of_curves_are_taken_over_seeds(name):
    """Eight seeds, three points: the middle half of 0, 1, …, 7 has the mean 3.5; the others are shifted."""
    values = np.arange(8.0)[:, None] + [0.0, 10.0, 100.0]
    estimate, low, high = STATISTICS[name](values)
    np.testing.assert_allclose(estimate, [3.5, 13.5, 103.5])
    assert ((low < estimate) & (estimate < high)).all()
    np.testing.assert_allclose(STATISTICS[name](values**2)[0][0], {"mean": 17.5, "median": 12.5, "iqm": 13.5}[name])


@pytest.mark.parametrize(
    ("name", "statistic"), [("median", np.median), ("iqm", partial(stats.trim_mean, proportiontocut=0.25))]
)
def test_curves_have_500_resamples_per_point(name, statistic):
    """As documented: the interval of 500 resamples with the bootstrap's seed, and of no other number."""
    values = draws(3, 40, 1)
    assert STATISTICS[name](values) == bootstrap(values, statistic, repeats=500)
    assert STATISTICS[name](values) != bootstrap(values, statistic, repeats=1000)
