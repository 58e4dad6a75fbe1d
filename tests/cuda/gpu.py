"""Which tests can run here: those that compile need numba-cuda, those that train need a GPU; agents for GPUs."""

from __future__ import annotations

import importlib.util

import pytest

from monmdp import MonMDPError
from monmdp.agents.base import AGENTS
from monmdp.cuda.backend import device


def _missing() -> str:
    try:
        device()
    except MonMDPError as error:
        return str(error)
    return ""


MISSING = _missing()
needs_gpu = pytest.mark.skipif(bool(MISSING), reason=f"needs a GPU: {MISSING}")
needs_compiler = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None or importlib.util.find_spec("nvidia") is None,
    reason="needs numba-cuda and NVVM to compile for a GPU: pip install 'monmdp[cuda]'",
)
DEVICE_AGENTS = [name for name in AGENTS if AGENTS.build(name).device_kernel is not None]
_KERNELS = ("act", "update", "begin", "plan", "beta", "sees_everything")
#: One agent per combination of kernels.
DISTINCT_AGENTS = list({
    tuple(getattr(type(AGENTS.build(name)), kernel) for kernel in _KERNELS): name for name in DEVICE_AGENTS
}.values())  # fmt: skip
