"""Streams keyed by seed, role and index: the known generator, its compiled twin, and independence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monmdp import rng
from monmdp.kernels import random as random_kernels

#: The first outputs of SplitMix64 for seed 1234567, from its reference implementation.
SPLITMIX64 = [
    0x599ED017FB08FC85,
    0x2C73F08458540FA5,
    0x883EBCE5A3F27C77,
    0x3FBEF740E9177B3F,
    0xE3B8346708CB5ECD,
]
#: Draws a test looks at.
N = 20_000


def draws(seed: int, role: str, count: int = N) -> np.ndarray:
    key = np.uint64(rng.stream(seed, role))
    return np.array([random_kernels.uniform(key, index) for index in range(count)])


def test_the_generator_is_splitmix64():
    for index, word in enumerate(SPLITMIX64):
        assert rng.mix((1234567 + (index + 1) * 0x9E3779B97F4A7C15) % 2**64) == word
        assert rng.uniform(1234567, index) == (word >> 11) / 2**53


@settings(derandomize=True, deadline=None, max_examples=300)
@given(key=st.integers(0, 2**64 - 1), index=st.integers(0, 2**40))
def test_plain_and_compiled_draws_are_equal_bit_for_bit(key, index):
    assert rng.uniform(key, index) == random_kernels.uniform(np.uint64(key), index)
    assert rng.normal(key, index) == random_kernels.normal(np.uint64(key), index)


def test_draws_stay_below_one():
    """The largest 64-bit word must not round up to 1."""
    assert (2**64 - 1 >> 11) * 2.0**-53 < 1
    values = draws(0, "world")
    assert values.min() >= 0
    assert values.max() < 1


def test_a_draw_depends_only_on_key_and_index():
    key = rng.stream(5, "agent")
    assert [rng.uniform(key, i) for i in (7, 3, 7)] == [rng.uniform(key, i) for i in (7, 3, 7)]
    assert len({rng.uniform(key, i) for i in range(1000)}) == 1000


def test_keys_differ_by_seed_and_role():
    keys = {rng.stream(seed, role) for seed in range(1000) for role in rng.ROLES}
    assert len(keys) == 1000 * len(rng.ROLES)


@pytest.mark.parametrize("seed", [0, 2**63 - 1, np.int64(7)])
def test_any_seed_below_the_limit_is_accepted(seed):
    assert 0 <= rng.stream(seed, "world") < 2**64


def chi_square(one: np.ndarray, other: np.ndarray, bins: int = 16) -> float:
    """Standardised: mean 0 and deviation 1 for independent uniform draws."""
    counts, _, _ = np.histogram2d(one, other, bins=bins, range=[[0, 1], [0, 1]])
    expected = len(one) / bins**2
    freedom = bins**2 - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / np.sqrt(2 * freedom))


def assert_independent(one: np.ndarray, other: np.ndarray) -> None:
    """Six deviations leave room for any seed; a shared key would give thousands."""
    assert abs(chi_square(one, other)) < 6
    assert abs(np.corrcoef(one, other)[0, 1]) < 6 / np.sqrt(len(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, "world"), (0, "observe")),
        ((0, "world"), (0, "agent")),
        ((0, "start"), (0, "noise")),
        ((0, "world"), (1, "world")),
        ((41, "agent"), (42, "agent")),
    ],
)
def test_streams_look_independent(one, other):
    assert_independent(draws(*one), draws(*other))


def test_the_draws_of_a_stream_look_independent():
    values = draws(3, "world")
    assert_independent(values[:-1], values[1:])
    assert_independent(values[: N // 2], values[N // 2 :])


def test_the_first_draw_is_uniform_over_seeds():
    """Neighbouring seeds are what people use."""
    firsts = np.array([rng.uniform(rng.stream(seed, "world"), 0) for seed in range(4000)])
    counts, _ = np.histogram(firsts, bins=20, range=(0, 1))
    assert ((counts - 200) ** 2 / 200).sum() < 19 + 6 * np.sqrt(38)


def test_normal_draws_have_the_moments_of_a_normal():
    """Five standard errors: 1/√n for the mean, √(2/n) for the variance, √(24/n) for the kurtosis."""
    key = np.uint64(rng.stream(1, "noise"))
    values = np.array([random_kernels.normal(key, index) for index in range(N)])
    assert abs(values.mean()) < 5 / np.sqrt(N)
    assert abs(values.var() - 1) < 5 * np.sqrt(2 / N)
    assert abs((values**4).mean() - 3) < 5 * np.sqrt(96 / N)
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 5 / np.sqrt(N)
