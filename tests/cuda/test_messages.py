"""Without a GPU: the CPU, or one sentence; and nothing is written."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import monmdp
from monmdp.cli import main
from monmdp.cuda import backend, compiling, driver, launches
from monmdp.cuda.compiling import UnsuitableError
from monmdp.cuda.schedule import Work
from monmdp.study.runner import run_sweep
from monmdp.study.sweep import Sweep
from monmdp.training.job import Job
from monmdp.training.loop import new_record

SMALL = Sweep(environments=["Loop"], monitors=["Ask"], agents=["Naive"], seeds=2, steps=50, points=5)


@pytest.fixture(params=["no extra", "no driver", "no GPU"])
def nothing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A machine that lacks something, and what its sentence says."""

    class Result(int):
        name = "CUDA_ERROR"

    class Driver:
        @staticmethod
        def cuInit(flags: int) -> tuple[Result]:  # noqa: N802
            if request.param == "no driver":
                raise RuntimeError("libcuda.so.1 was not found")
            return (Result(0),)

        @staticmethod
        def cuDeviceGetCount() -> tuple[Result, int]:  # noqa: N802
            return Result(0), 0

    def bindings() -> Any:
        if request.param == "no extra":
            raise driver.MissingGPUError("The extra for GPUs is not installed; " + driver.INSTALL)
        return Driver

    monkeypatch.setattr(driver, "bindings", bindings)
    backend.device.cache_clear()
    return {"no extra": "pip install", "no driver": "No CUDA driver", "no GPU": "no CUDA GPU"}[request.param]


@pytest.fixture(autouse=True)
def _ask_again_after() -> Any:
    asked = backend.device
    yield
    asked.cache_clear()


def test_cuda_says_what_is_missing(nothing: str) -> None:
    with pytest.raises(monmdp.MonMDPError, match=nothing) as told:
        monmdp.train(monmdp.make("Loop", "Ask"), "Naive", 1, steps=20, points=2, device="cuda")
    assert str(told.value).count("\n") == 0


def test_auto_takes_the_cpu(nothing: str) -> None:
    problem = monmdp.make("Loop", "Ask")
    auto = monmdp.train(problem, "Naive", 2, steps=60, points=3, device="auto")
    assert np.array_equal(auto.q, monmdp.train(problem, "Naive", 2, steps=60, points=3).q, equal_nan=True)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(monmdp.MonMDPError, match="one of cpu, cuda, auto, not 'tpu'"):
        monmdp.train(monmdp.make("Loop", "Ask"), "Naive", 1, steps=20, points=2, device="tpu")


def test_a_sweep_leaves_no_trace(nothing: str, tmp_path: Path) -> None:
    with pytest.raises(monmdp.MonMDPError, match=nothing):
        run_sweep(SMALL, tmp_path / "results", device="cuda")
    assert not (tmp_path / "results").exists()


def test_on_the_command_line(nothing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["train", "Loop", "Ask", "--seeds", "1", "--steps", "20", "--device", "cuda"],
        ["reproduce", "--envs", "Loop", "--monitors", "Ask", "--out", str(tmp_path / "r"), "--device", "cuda"],
        ["bench", "--device", "cuda"],
    ):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert nothing in said
        assert said.count("\n") == 1


def test_memory_that_runs_out_leaves_nothing_half_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def runs_out(*given: Any, **options: Any) -> Any:
        raise monmdp.MonMDPError("The GPU is out of memory.")
        yield

    monkeypatch.setattr("monmdp.study.runner.train_on_gpu", runs_out)
    monkeypatch.setattr("monmdp.study.runner.chosen_device", lambda name: "cuda")
    with pytest.raises(monmdp.MonMDPError, match="out of memory"):
        run_sweep(SMALL, tmp_path, device="cuda")
    assert list(tmp_path.rglob("*.parquet")) == []
    report = run_sweep(SMALL, tmp_path, device="cpu") if monkeypatch.undo() is None else None
    assert report is not None
    assert report.done == 2


def test_a_gpu_and_a_cluster_do_not_go_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("monmdp.study.runner.chosen_device", lambda name: "cuda")
    with pytest.raises(monmdp.MonMDPError, match="not both"):
        run_sweep(SMALL, tmp_path / "r", device="cuda", cluster=object())


def test_progress_never_goes_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def all_at_once(work: list[Work], watcher: Any) -> Any:
        watcher(work, [np.full((len(part.seeds), 2), part.job.steps) for part in work])
        for part in work:
            records = [new_record(len(part.job.point_steps)) for _ in part.seeds]
            yield part, [part.job.run(s, r, np.zeros(2, np.int64)) for s, r in zip(part.seeds, records, strict=True)]

    monkeypatch.setattr("monmdp.study.runner.train_on_gpu", all_at_once)
    monkeypatch.setattr("monmdp.study.runner.chosen_device", lambda name: "cuda")
    told: list[int] = []
    two = dataclasses.replace(SMALL, agents=["Naive", "UCB"])
    report = run_sweep(two, tmp_path, device="cuda", watcher=lambda report, steps: told.append(steps))
    assert report.done == 4
    assert told == [200] * 3


MIXED = Sweep(environments=["Loop"], monitors=["Ask"], agents=["Naive", "DirectedModel"], seeds=2, steps=60, points=5)


def test_an_agent_that_no_gpu_can_run_gets_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("monmdp.training.job.chosen_device", lambda name: "cuda")
    monkeypatch.setattr("monmdp.study.runner.chosen_device", lambda name: "cuda")
    said = r"^DirectedModel cannot run on a GPU: its remarks .* Train it with device 'cpu' or 'auto'\.$"
    with pytest.raises(monmdp.MonMDPError, match=said):
        monmdp.train(monmdp.make("Loop", "Ask"), "DirectedModel", 1, steps=20, points=2, device="cuda")
    with pytest.raises(monmdp.MonMDPError, match=said):
        run_sweep(MIXED, tmp_path / "results", device="cuda")
    assert not (tmp_path / "results").exists()


def test_auto_leaves_such_agents_to_the_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    went: list[str] = []

    def gpu(work: Any, **options: Any) -> Any:
        for part in work:
            went.append(part.job.agent_name)
            records = [new_record(len(part.job.point_steps)) for _ in part.seeds]
            yield part, [part.job.run(s, r, np.zeros(2, np.int64)) for s, r in zip(part.seeds, records, strict=True)]

    monkeypatch.setattr(backend, "device", lambda: SimpleNamespace(capability=(9, 0)))
    monkeypatch.setattr(launches, "_compiles", lambda launch, capability: True)
    for place in ("monmdp.training.job", "monmdp.study.runner"):
        monkeypatch.setattr(f"{place}.chosen_device", lambda name: "cuda")
        monkeypatch.setattr(f"{place}.train_on_gpu", gpu)
    assert run_sweep(MIXED, tmp_path / "auto", device="auto").done == 4
    assert went == ["Naive"]
    monkeypatch.undo()
    run_sweep(MIXED, tmp_path / "cpu")
    one, other = (sorted(path.name for path in (tmp_path / name).rglob("*.parquet")) for name in ("cpu", "auto"))
    assert one == other


def test_an_agent_whose_kernels_do_not_compile_is_not_suitable(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[launches.Launch] = []

    def fails(launch: launches.Launch, capability: tuple[int, int]) -> Any:
        tried.append(launch)
        raise UnsuitableError("It cannot run on a GPU.")

    monkeypatch.setattr(launches, "compiled", fails)
    launches._compiles.cache_clear()
    job = Job(monmdp.make("Loop", "Ask"), "Naive", 20, 2)
    assert [launches.can_compile(job, (9, 0)) for _ in range(2)] == [False, False]
    assert len(tried) == 1  # compiling takes seconds, and is not tried twice
    launches._compiles.cache_clear()


def test_what_numba_says_becomes_a_sentence() -> None:
    said = "Failed in cuda mode pipeline (step: native lowering)\n\x1b[1mNRT required but not enabled\x1b[0m\nDuring: …"
    assert compiling._reason(Exception(said)) == compiling.NO_NEW_ARRAYS[1]
    other = (
        "Failed in cuda mode pipeline (step: nopython frontend)\n\x1b[1mUse of unsupported function 'sorted':\x1b[0m"
    )
    assert compiling._reason(Exception(other)) == "Use of unsupported function 'sorted'."


def test_auto_trains_such_an_agent_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = monmdp.make("Loop", "Ask")
    here = monmdp.train(problem, "DirectedModel", 1, steps=60, points=3)
    monkeypatch.setattr(backend, "device", lambda: SimpleNamespace(capability=(9, 0)))
    monkeypatch.setattr("monmdp.training.job.chosen_device", lambda name: "cuda")
    auto = monmdp.train(problem, "DirectedModel", 1, steps=60, points=3, device="auto")
    assert np.array_equal(auto.q, here.q, equal_nan=True)


def test_parts_of_a_batch_are_saved_once_it_is_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def in_pieces(work: list[Work], **options: Any) -> Any:
        for part in work:
            for seed in part.seeds:
                record = new_record(len(part.job.point_steps))
                yield Work(part.job, (seed,), part.number), [part.job.run(seed, record, np.zeros(2, np.int64))]

    run_sweep(SMALL, tmp_path / "cpu")
    monkeypatch.setattr("monmdp.study.runner.train_on_gpu", in_pieces)
    monkeypatch.setattr("monmdp.study.runner.chosen_device", lambda name: "cuda")
    assert run_sweep(SMALL, tmp_path / "gpu", device="cuda").done == 2
    one, other = (sorted(path.name for path in (tmp_path / name).rglob("*.parquet")) for name in ("cpu", "gpu"))
    assert one == other
