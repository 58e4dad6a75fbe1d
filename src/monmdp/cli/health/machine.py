"""Versions, and what there is to compute with."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess

from monmdp.cli.health.findings import version_of

#: The packages that everything stands on.
CORE = ("numpy", "numba", "llvmlite", "gymnasium", "pyarrow", "matplotlib", "pillow", "rich", "tyro")


def versions() -> dict[str, str]:
    """Name → version, of ourselves, Python and the packages that everything stands on."""
    from monmdp import __version__

    own = {"monmdp": __version__, "Python": f"{platform.python_version()} ({platform.python_implementation()})"}
    return own | {name: version_of(name) or "missing" for name in CORE}


def machine() -> dict[str, str]:
    """What there is to compute with."""
    from monmdp.machine import available_bytes, n_cores, readable

    return {
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": f"{n_cores()} of {os.cpu_count()} can be used; seeds train on {n_cores()} threads by default",
        "memory": f"{readable(available_bytes())} can be used now",
        "GPU": _gpu(),
    }


def _gpu() -> str:
    """NVIDIA's own tool knows without any package of ours."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "none (NVIDIA's driver is not installed)"
    query = [tool, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        told = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "NVIDIA's driver is installed and does not answer"
    cards = [line.split(", ") for line in told.splitlines()]
    return "; ".join(f"{name}, {memory}, driver {driver}" for name, memory, driver in cards) or "none"
