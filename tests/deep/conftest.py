"""Fixtures of tests that train agents with networks; they must be importable without JAX."""

import pytest

import monmdp


@pytest.fixture(scope="module")
def two_lanes():
    """Two seeds in a program, as on an accelerator, where there are more."""
    from monmdp.deep.job import DeepJob

    before = DeepJob.lanes
    DeepJob.lanes = 2
    yield
    DeepJob.lanes = before


@pytest.fixture(scope="module")
def problem():
    return monmdp.make("Loop", "Ask", discount=0.9)
