"""Fixtures of tests that train agents with networks; they must be importable without JAX."""

import pytest

import monmdp


@pytest.fixture(scope="module")
def problem():
    return monmdp.make("Loop", "Ask", discount=0.9)


@pytest.fixture
def double_precision():
    import jax

    with jax.enable_x64(True):
        yield
