"""The decorators of compiled kernels, with a disk cache that is invalidated when any kernel source changes."""

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

#: Folders and files with kernels, with constants compiled into them and with the named tuples they take.
SOURCES = ("kernels", "agents", "training", "cuda", "rng.py", "problem.py", "world.py")


def cache_folder() -> Path:
    """The folder of compiled kernels.

    Numba does not recompile a cached function when a function that it calls in another file changes, so the
    folder's name is a hash of all sources that are compiled.
    """
    package = Path(__file__).parent.parent
    sha = hashlib.sha256(numba.__version__.encode())
    for source in (package / name for name in SOURCES):
        for file in [source] if source.suffix else sorted(source.glob("*.py")):
            sha.update(file.read_bytes())
    base = os.environ.get("MONMDP_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "monmdp" / sha.hexdigest()[:16]


def can_be_written(folder: Path) -> bool:
    """Whether files can be written to a folder, which is created if necessary."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


_FOLDER = cache_folder()
#: Without write access nothing is cached: Numba's fallback folder would ignore changes in other files.
_CACHED = can_be_written(_FOLDER)
_CONFIG_LOCK = threading.Lock()  # Numba's setting of the folder is global


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function over arrays; it releases the interpreter lock and never fuses multiply and add."""
    with _CONFIG_LOCK:
        before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
        numba.config.CACHE_DIR = str(_FOLDER)  # type: ignore[attr-defined]
        try:
            settings = {"cache": True, "nogil": True, "error_model": "numpy", **options}
            return numba.njit(**{**settings, "cache": settings["cache"] and _CACHED})(function)
        finally:
            numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a small kernel into its caller, since passing a large named tuple costs more than its body."""
    return kernel(function, inline="always")


def internal(function: Callable[..., Any]) -> Any:
    """A kernel that only kernels call: without an entry for Python, which takes long to compile for large tuples."""
    return kernel(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)
