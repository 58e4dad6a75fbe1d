"""Kernels as PTX text, compiled without a GPU and without fused multiply and add; kept on disk.

This module imports numba.cuda only to compile, so that a process that finds its kernels on disk starts faster.
"""

import contextlib
import functools
import hashlib
import re
import threading
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from monmdp.cuda.schedule import Program
from monmdp.errors import MonMDPError
from monmdp.kernels.compile import cache_folder

_COMPILING = threading.RLock()
#: Precedes the name of a kernel in PTX.
ENTRY = ".visible .entry"
#: The reason if a kernel creates an array.
NO_NEW_ARRAYS = "a kernel creates an array or copies a whole one, which is impossible on a GPU."
#: What users can do.
ADVICE = "Train it with device 'cpu' or 'auto'."


class UnsuitableError(MonMDPError):
    """An agent that cannot run on a GPU."""


@functools.lru_cache(maxsize=64)
def compiled(program: Program, capability: tuple[int, int]) -> str:
    """The kernel of a program; it is kept on disk unless the agent is a user's."""
    agent, own = program.agent, program.agent is None or program.agent.__module__.startswith("monmdp.")

    def make() -> str:
        from monmdp.cuda.kernels import kernel_body

        what = "The exact evaluation" if agent is None else agent.__name__
        return compile_kernel(kernel_body(program), capability, program.shape[:2], what, from_start=own)

    return kept(f"{program} {capability}", make) if own else make()


@contextlib.contextmanager
def _settings(capability: tuple[int, int], from_start: bool) -> Iterator[None]:
    """Settings for one compilation for which numba-cuda has no option.

    By default it fuses multiply and add, asks a GPU for its capability even if that is given, and lets negative
    indices count from the end, which costs a third of all instructions; no kernel here uses them (from_start).
    """
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import nvvm
    from numba.cuda.np import arrayobj
    from numba.cuda.types import intp

    def unchanged(context, builder, kind, index, size):
        return context.cast(builder, index, kind, intp)

    with _COMPILING:
        before = nvvm.compile_ir, dispatcher.get_current_device, arrayobj.fix_integer_index
        nvvm.compile_ir = functools.partial(before[0], fma=False)
        dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=capability)
        if from_start:
            arrayobj.fix_integer_index = unchanged
        try:
            yield
        finally:
            nvvm.compile_ir, dispatcher.get_current_device, arrayobj.fix_integer_index = before


def compile_kernel(body: Any, capability: tuple[int, int], bounds: tuple[int, int], what: str, from_start: bool) -> str:
    """PTX of a kernel whose arguments have 64 bits; bounds: threads per block and blocks per multiprocessor.

    from_start: no index is negative.
    """
    from numba.core.errors import NumbaError
    from numba.cuda import compile as compile_cuda
    from numba.cuda import types as cuda_types
    from numba.cuda.core.errors import NumbaError as CudaNumbaError

    signature = (cuda_types.int64,) * body.__code__.co_argcount
    try:
        with _settings(capability, from_start):
            ptx, _ = compile_cuda(
                body, signature, device=False, abi="numba", cc=capability, launch_bounds=bounds, opt=True
            )
    except (NumbaError, CudaNumbaError) as error:
        raise UnsuitableError(f"{what} cannot run on a GPU: {_reason(error)} {ADVICE}") from error
    return str(ptx)


def kept(key: str, make: Callable[[], str]) -> str:
    """A kernel from the disk cache; if it is not there, it is compiled and, if possible, stored."""
    import numba_cuda

    name = hashlib.sha256(f"{numba_cuda.__version__} {key}".encode()).hexdigest()[:24]
    path = cache_folder() / "cuda" / f"{name}.ptx"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        ptx = path.read_text()
        if ENTRY in ptx:
            return ptx
    ptx = make()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{name}.{uuid.uuid4().hex}")
        temporary.write_text(ptx)
        temporary.replace(path)
    return ptx


def _reason(error: Exception) -> str:
    """The line of Numba's message that names the cause."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    if "NRT required" in text:
        return NO_NEW_ARRAYS
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if not line.startswith(("Failed in", "File ", "During:", "<", "^"))]
    return (causes or [type(error).__name__])[0].rstrip(".:") + "."
