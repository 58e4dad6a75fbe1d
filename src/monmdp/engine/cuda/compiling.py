"""Kernels as PTX text, compiled without a GPU and without fused multiply and add."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from monmdp.errors import MonMDPError

_COMPILING = threading.RLock()


@dataclass(frozen=True)
class Compiled:
    """A kernel as PTX, and the name of its entry."""

    ptx: str
    entry: str


@contextlib.contextmanager
def _settings(capability: tuple[int, int]) -> Iterator[None]:
    """Numba-cuda passes no option for fused operations on, and asks a GPU for its kind even if the kind is given."""
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import nvvm

    with _COMPILING:
        compile_ir, current = nvvm.compile_ir, dispatcher.get_current_device
        nvvm.compile_ir = functools.partial(compile_ir, fma=False)
        dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=capability)
        try:
            yield
        finally:
            nvvm.compile_ir, dispatcher.get_current_device = compile_ir, current


def compile_kernel(
    body: Any, signature: Any, capability: tuple[int, int], bounds: tuple[int, int] | None, what: str
) -> Compiled:
    """PTX of a kernel for a compute capability; bounds are the most threads of a block and the blocks side by side."""
    from numba.core.errors import NumbaError
    from numba.cuda import compile as compile_cuda
    from numba.cuda.core.errors import NumbaError as CudaNumbaError

    try:
        with _settings(capability):
            ptx, _ = compile_cuda(
                body, signature, device=False, abi="numba", cc=capability, launch_bounds=bounds, opt=True
            )
    except (NumbaError, CudaNumbaError) as error:
        raise MonMDPError(f"{what} cannot run on a GPU: {_reason(error)}") from error
    entry = next(line.split("(")[0].split()[-1] for line in ptx.splitlines() if ".visible .entry" in line)
    return Compiled(ptx, entry)


def _reason(error: Exception) -> str:
    """The line of Numba's page that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("Failed in", "File ", "During:", "<"))]
    return (plain or lines or [type(error).__name__])[0]
