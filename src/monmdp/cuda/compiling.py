"""Kernels as PTX text, compiled without a GPU and without fused multiply and add."""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import threading
import types
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from monmdp.errors import MonMDPError
from monmdp.kernels.compile import cache_folder

_COMPILING = threading.RLock()
#: What Numba says where a kernel makes an array, in words.
NO_NEW_ARRAYS = ("NRT required", "a kernel makes a new array, or copies a whole one, and devices cannot.")
#: What to do then.
INSTEAD = "Train it with device 'cpu' or 'auto'."


class UnsuitableError(MonMDPError):
    """An agent that cannot run on a GPU, and why."""


@dataclass(frozen=True)
class Compiled:
    """A kernel as PTX, and the name of its entry."""

    ptx: str
    entry: str


@contextlib.contextmanager
def _settings(capability: tuple[int, int], from_start: bool) -> Iterator[None]:
    """What numba-cuda has no option for, for the time of one compilation.

    It fuses multiply and add, asks a GPU for its kind even if the kind is given, and makes every index that may be
    below zero count from the end, which costs a third of all instructions where no kernel does so (from_start).
    """
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import nvvm
    from numba.cuda.np import arrayobj
    from numba.cuda.types import intp

    def as_it_is(context, builder, kind, index, size):
        return context.cast(builder, index, kind, intp)

    with _COMPILING:
        before = nvvm.compile_ir, dispatcher.get_current_device, arrayobj.fix_integer_index
        nvvm.compile_ir = functools.partial(before[0], fma=False)
        dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=capability)
        if from_start:
            arrayobj.fix_integer_index = as_it_is
        try:
            yield
        finally:
            nvvm.compile_ir, dispatcher.get_current_device, arrayobj.fix_integer_index = before


def compile_kernel(
    body: Any, signature: Any, capability: tuple[int, int], bounds: tuple[int, int], what: str, from_start: bool = True
) -> Compiled:
    """PTX of a kernel for a compute capability; bounds are the most threads of a block and the blocks side by side.

    from_start: no index is below zero.
    """
    from numba.core.errors import NumbaError
    from numba.cuda import compile as compile_cuda
    from numba.cuda.core.errors import NumbaError as CudaNumbaError

    try:
        with _settings(capability, from_start):
            ptx, _ = compile_cuda(
                body, signature, device=False, abi="numba", cc=capability, launch_bounds=bounds, opt=True
            )
    except (NumbaError, CudaNumbaError) as error:
        raise UnsuitableError(f"{what} cannot run on a GPU: {_reason(error)} {INSTEAD}") from error
    return Compiled(ptx, entry_of(ptx))


def kept(key: str, make: Callable[[], Compiled]) -> Compiled:
    """A kernel from the disk cache of kernels, or made and put there; without a cache that can be written, made."""
    import numba_cuda

    name = hashlib.sha256(f"{numba_cuda.__version__} {key}".encode()).hexdigest()[:24]
    path = cache_folder() / "cuda" / f"{name}.ptx"
    try:
        ptx = path.read_text()
        return Compiled(ptx, entry_of(ptx))
    except (OSError, UnicodeDecodeError, StopIteration):
        made = make()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{name}.{uuid.uuid4().hex}")
        aside.write_text(made.ptx)
        aside.replace(path)
    return made


def entry_of(ptx: str) -> str:
    """The name of the kernel in a PTX text."""
    return next(line.split("(")[0].split()[-1] for line in ptx.splitlines() if ".visible .entry" in line)


def _reason(error: Exception) -> str:
    """The line of Numba's page that says what is wrong."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    sign, words = NO_NEW_ARRAYS
    if sign in text:
        return words
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("Failed in", "File ", "During:", "<", "^"))]
    return (plain or lines or [type(error).__name__])[0].rstrip(".:") + "."
