"""Available cores and memory."""

import os
from collections.abc import Iterator
from pathlib import Path

from monmdp.errors import MonMDPError

#: The fraction of available memory that concurrent runs may use in total.
SHARE = 0.8


def available_bytes(root: Path = Path("/")) -> int:
    """Available memory in bytes, limited by the control groups (version 1 or 2) of this process if there are any."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for line in _read(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            limits.append(int(line.split()[1]) * 1024)
    for limit, used in _control_groups(root):
        if (most := _read(limit).strip()).isdigit() and (taken := _read(used).strip()).isdigit():
            limits.append(int(most) - int(taken))
    return max(min(limits), 0)


def _control_groups(root: Path) -> Iterator[tuple[Path, Path]]:
    """The files with limit and usage of the memory of this process's control group and all groups around it."""
    for line in _read(root / "proc/self/cgroup").splitlines() or ["0::/"]:
        _, controllers, group = line.split(":", 2)
        version_1 = "memory" in controllers.split(",")
        if version_1 or not controllers:
            names = ("limit_in_bytes", "usage_in_bytes") if version_1 else ("max", "current")
            top = root / "sys/fs/cgroup" / ("memory" if version_1 else "")
            inner = top / group.lstrip("/")
            for folder in (inner, *inner.parents):
                if folder.is_relative_to(top):
                    yield folder / f"memory.{names[0]}", folder / f"memory.{names[1]}"


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def check_memory(need: int, what: str, advice: str) -> int:
    """Raise an error unless `need` bytes fit into memory; returns the bytes that can be used."""
    room = int(available_bytes() * SHARE)
    if need > room:
        raise MonMDPError(f"{what} needs {readable(need)} of memory, and {readable(room)} can be used; {advice}.")
    return room


def readable(size: float) -> str:
    """A size in bytes as text, such as `2.3 GiB`."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"


def n_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
