"""The decorator of every compiled kernel, with a disk cache that notices changes in any kernel file."""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def cache_folder() -> Path:
    """Where compiled kernels are kept.

    Numba does not recompile a cached function when a function it calls in another file changes, so the
    folder's name is a hash of all kernel sources.
    """
    package = Path(__file__).parent.parent
    sha = hashlib.sha256(numba.__version__.encode())
    for room in ("kernels", "training", "cuda", "agents"):
        for source in sorted((package / room).glob("*.py")):
            sha.update(source.read_bytes())
    base = os.environ.get("MONMDP_CACHE") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "monmdp" / sha.hexdigest()[:16]


def can_be_written(folder: Path) -> bool:
    """Whether files can be kept in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


_FOLDER = cache_folder()
#: Otherwise Numba would look for another place, where it would not notice changes in other files.
_KEPT = can_be_written(_FOLDER)
_SETTING = threading.Lock()  # the setting below is Numba's own and global; threads must not see each other's


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function over arrays; it releases the interpreter lock and never fuses multiply and add."""
    with _SETTING:
        before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
        numba.config.CACHE_DIR = str(_FOLDER)  # type: ignore[attr-defined]
        try:
            wished = {"cache": True, "nogil": True, "error_model": "numpy", **options}
            return numba.njit(**{**wished, "cache": wished["cache"] and _KEPT})(function)
        finally:
            numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def inlined(function: Callable[..., Any]) -> Any:
    """A small kernel that is copied into its caller, since passing a big named tuple costs more than the body."""
    return kernel(function, inline="always")
