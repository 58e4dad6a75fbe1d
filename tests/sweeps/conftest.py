"""No process outlives the test that started it, even if the test fails."""

from __future__ import annotations

import pytest
import sweeping


@pytest.fixture(autouse=True)
def _tidy():
    yield
    sweeping.stop_all()
