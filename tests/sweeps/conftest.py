"""A results folder to disturb, and no process that outlives the test that started it, even if the test fails."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import sweeping

import monmdp


@pytest.fixture(autouse=True)
def _tidy():
    yield
    sweeping.stop_all()


@pytest.fixture(scope="module")
def undisturbed(request, tmp_path_factory):
    """A folder with the results of the module's SWEEP, by default of TINY."""
    folder = tmp_path_factory.mktemp("undisturbed")
    monmdp.run_sweep([getattr(request.module, "SWEEP", sweeping.TINY)], folder)
    return folder


@pytest.fixture
def folder(undisturbed, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(undisturbed, tmp_path / "folder"))
