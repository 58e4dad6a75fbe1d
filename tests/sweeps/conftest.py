"""No process outlives the test that started it, even when the test fails half-way."""

from __future__ import annotations

import pytest
import sweeping


@pytest.fixture(autouse=True)
def _tidy():
    yield
    sweeping.stop_all()
