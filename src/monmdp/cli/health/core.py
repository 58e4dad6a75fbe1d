"""What must work: compiling, solving, playing, storing and drawing, each tried once; and the folder of kernels."""

from __future__ import annotations

import io
from collections.abc import Callable

from monmdp.cli.health.findings import Finding, checked
from monmdp.errors import MonMDPError


def core() -> list[Finding]:
    """What must work."""
    reinstall = "install monmdp again into a new environment: pip install monmdp"
    checks: dict[str, Callable[[], str]] = {
        "compiler": _compiles, "exact answers": _solves, "Gymnasium": _plays, "results": _stores, "figures": _draws,
    }  # fmt: skip
    return [checked(name, check, f"{name} cannot be used; {reinstall}") for name, check in checks.items()]


def _compiles() -> str:
    import numba

    assert numba.njit(lambda x: x + 1)(41) == 42
    return "a kernel was compiled and run"


def _solves() -> str:
    import monmdp

    found = monmdp.solve(monmdp.make("Loop", "Ask")).optimal_return
    if abs(found - 0.99**4) > 1e-12:
        raise MonMDPError(f"the optimum of Loop is {0.99**4:.6f}, and {found:.6f} came out")
    return f"Loop + Ask is worth {found:.6f}, as it should be"


def _plays() -> str:
    import gymnasium

    env = gymnasium.make("monmdp/Loop-v0", monitor="Ask")
    env.reset(seed=0)
    env.step(env.action_space.sample())
    return "monmdp/Loop-v0 was made and stepped"


def _stores() -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"step": [1, 2]}), sink, compression="zstd")
    assert pq.read_table(pa.BufferReader(sink.getvalue())).column("step").to_pylist() == [1, 2]
    return "Parquet was written and read back"


def _draws() -> str:
    from matplotlib.figure import Figure

    figure, canvas = Figure(figsize=(1, 1)), io.BytesIO()
    figure.subplots().plot([0, 1])
    figure.savefig(canvas, format="png")
    assert canvas.getvalue().startswith(b"\x89PNG")
    return "a plot was drawn"


def cache() -> Finding:
    """The folder of compiled kernels."""
    from monmdp.kernels.compile import cache_folder, can_be_written
    from monmdp.machine import readable

    current = cache_folder()
    folder = current.parent
    if not can_be_written(current):
        advice = f"{folder} cannot be written: set MONMDP_CACHE to a folder that can"
        return Finding("cache", "broken", f"{folder} cannot be written; kernels are compiled in every process", advice)
    kept = len(list(current.rglob("*.nbc")))
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    old = sum(size for path, size in sizes.items() if current not in path.parents)
    state = f"{kept} compiled kernels" if kept else "no compiled kernels yet, so first uses compile for a while"
    told = f"{folder}: {state}, {readable(sum(sizes.values()))}, {readable(old)} of it from other versions"
    return Finding("cache", "works", f"{told}; to clear it: rm -r {folder}")
