"""Errors on a real GPU: too little memory and interrupts leave no incomplete files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gpu import needs_gpu

import monmdp
from monmdp.cuda import backend
from monmdp.cuda.driver import Device
from monmdp.study.runner import run_sweep
from monmdp.study.sweep import Sweep

pytestmark = needs_gpu
LONG = Sweep(environments=["Corridor"], monitors=["Level"], agents=["Directed"], seeds=30, points=20)


def test_too_little_memory_is_reported_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Device.take
    with monkeypatch.context() as greedy:
        greedy.setattr(Device, "take", lambda gpu, size: take(gpu, size << 20))  # more than any GPU has
        with pytest.raises(monmdp.MonMDPError, match=r"^The GPU is out of memory \(.* of it is free\)"):
            run_sweep(LONG, tmp_path, device="cuda")
    assert list(tmp_path.rglob("*.parquet")) == []


def test_problem_that_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "free", lambda gpu: 4 << 20)
    with pytest.raises(monmdp.MonMDPError, match=r"^Directed in Corridor \+ Level needs 6 MiB of GPU memory per run"):
        run_sweep(LONG, tmp_path, device="cuda")
    assert list(tmp_path.rglob("*.parquet")) == []


def test_interrupted_sweep_can_be_resumed(tmp_path: Path) -> None:
    gpu: Device = backend.device()
    free = gpu.free()

    def interrupt(report: Any, steps: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(LONG, tmp_path, device="cuda", watcher=interrupt)
    assert list(tmp_path.rglob("*.parquet")) == []
    assert gpu.free() >= free - (512 << 20)  # kernels stay loaded, tables do not
    assert run_sweep(LONG, tmp_path, device="cuda").done == 30
