"""The decorators of compiled kernels, with a disk cache that is invalidated when any source of the library changes."""

import contextlib
import gc
import hashlib
import os
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache

from monmdp.errors import MonMDPWarning
from monmdp.registry import is_built_in

#: Folders without kernels and without constants that are compiled into kernels.
WITHOUT_KERNELS = ("deep", "study", "paper", "figures", "report", "cli")


class KernelCacheWarning(MonMDPWarning):
    """The disk cache of compiled kernels cannot be used; kernels are compiled without it."""


def cache_folder(package: Path = Path(__file__).parent.parent) -> Path:
    """The folder of compiled kernels.

    Numba does not recompile a cached function when a function or a constant in another file changes, so the folder's
    name is a hash of all sources of the library.
    """
    sha = hashlib.sha256(numba.__version__.encode())
    for source in sorted(package.rglob("*.py")):
        if source.relative_to(package).parts[0] not in WITHOUT_KERNELS:
            sha.update(source.read_bytes())
    base = os.environ.get("MONMDP_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "monmdp" / sha.hexdigest()[:16]


def can_be_written(folder: Path, size: int = 0) -> bool:
    """Whether a file of this size can be written to a folder, which is created if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * size)
            file.flush()
            os.fsync(file.fileno())
            return True
    except OSError:
        return False


class KernelCache(FunctionCache):
    """Numba's cache of one kernel. Files that cannot be read are replaced; training never depends on any of them."""

    _warned = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel, or None if it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # damaged files can raise anything
            self._warn("has damaged files, which are replaced", error)
            with contextlib.suppress(Exception):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store a compiled kernel if possible, unless other processes may not be able to import a class it is for."""
        if any(map(_has_foreign_class, getattr(sig, "args", sig))):
            return
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._warn("cannot be written, so kernels are compiled again in every process", error)

    def _warn(self, what: str, error: Exception) -> None:
        if not KernelCache._warned:
            KernelCache._warned = True
            reason = getattr(error, "strerror", None) or type(error).__name__
            message = f"The cache of compiled kernels in {_FOLDER} {what} ({reason})."
            warnings.warn(message, KernelCacheWarning, stacklevel=2)


def _has_foreign_class(kind: Any) -> bool:
    """Whether a Numba type is, or contains, a named tuple of another package."""
    named = getattr(kind, "instance_class", None)
    return (named is not None and not is_built_in(named)) or any(map(_has_foreign_class, getattr(kind, "types", ())))


_FOLDER = cache_folder()
#: Without write access nothing is cached: Numba's fallback folder would ignore changes in other files.
_CACHED = can_be_written(_FOLDER)
_CONFIG_LOCK = threading.Lock()  # Numba's setting of the folder is global


def kernel(function: Callable[..., Any], cache: bool = True, **options: Any) -> Any:
    """Compile a function over arrays; it releases the interpreter lock and never fuses multiply and add.

    Functions of other packages are not cached on disk: nothing would notice a change in another file that they use.
    """
    compiled = numba.njit(**{"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options})(function)
    if cache and _CACHED and is_built_in(function):
        with _CONFIG_LOCK, contextlib.suppress(RuntimeError, OSError):  # the folder became unusable
            before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
            numba.config.CACHE_DIR = str(_FOLDER)  # type: ignore[attr-defined]
            try:
                compiled._cache = KernelCache(function)
            finally:
                numba.config.CACHE_DIR = before  # type: ignore[attr-defined]
    return compiled


@contextlib.contextmanager
def on_compilation(function: Any, announce: Callable[[], None]) -> Iterator[None]:
    """Within the context, `announce` is called when a kernel begins to compile; not when it is loaded from disk.

    The garbage collector waits meanwhile: it would search the many objects of the compiler again and again, in vain.
    """

    class Announcer(event.Listener):
        collects = False

        def on_start(self, event: Any) -> None:
            if event.data["dispatcher"] is function:
                self.collects = gc.isenabled()
                gc.disable()
                announce()

        def on_end(self, event: Any) -> None:
            if event.data["dispatcher"] is function and self.collects:
                gc.enable()

    with event.install_listener("numba:compile", Announcer()):
        yield


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small kernel into its caller, since passing a large named tuple costs more than its body."""
    return kernel(function, inline="always")


def internal(function: Callable[..., Any]) -> Any:
    """A kernel that only kernels call: without an entry for Python, which takes long to compile for large tuples."""
    return kernel(function, no_cpython_wrapper=True)
