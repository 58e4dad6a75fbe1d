"""Without a GPU, or without a device kernel: the CPU or one sentence, and nothing is written."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import monmdp
from monmdp.cli import main
from monmdp.cuda import backend, compiling, driver
from monmdp.cuda.schedule import Work
from monmdp.study.executors import Threads
from monmdp.study.runner import run_sweep
from monmdp.study.sweep import Sweep
from monmdp.training.job import Finished
from monmdp.training.metrics import new_record

SMALL = Sweep(environments=["Loop"], monitors=["Ask"], agents=["Naive"], seeds=2, steps=50, points=5)


@pytest.fixture(params=["no extra", "no driver", "no GPU"])
def missing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A machine without a usable GPU, and a part of the error message."""

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
    return {"no extra": "pip install", "no driver": "no CUDA driver", "no GPU": "no CUDA GPU"}[request.param]


@pytest.fixture(autouse=True)
def _forget_the_device() -> Any:
    opened = backend.device
    yield
    opened.cache_clear()


def on_cpu(part: Work) -> list[Finished]:
    """The results of a part, trained on the CPU."""
    stop, points = np.zeros(1, np.int64), len(part.job.point_steps)
    return [part.job.run(seed, new_record(points), np.zeros(2, np.int64), stop) for seed in part.seeds]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*.parquet"))


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretends that there is a GPU, with a replacement of `train_on_gpu`."""

    def use(train_on_gpu: Any) -> None:
        monkeypatch.setattr(backend, "device", lambda: SimpleNamespace(capability=(9, 0)))
        monkeypatch.setattr("monmdp.study.gpu.train_on_gpu", train_on_gpu)

    return use


def test_cuda_reports_what_is_missing(missing: str) -> None:
    with pytest.raises(monmdp.MonMDPError, match=missing) as raised:
        monmdp.train(monmdp.make("Loop", "Ask"), "Naive", 1, steps=20, points=2, device="cuda")
    assert str(raised.value).count("\n") == 0


def test_auto_uses_the_cpu(missing: str) -> None:
    problem = monmdp.make("Loop", "Ask")
    auto = monmdp.train(problem, "Naive", 2, steps=60, points=3, device="auto")
    assert np.array_equal(auto.q, monmdp.train(problem, "Naive", 2, steps=60, points=3).q, equal_nan=True)


def test_unknown_device_is_refused() -> None:
    with pytest.raises(monmdp.MonMDPError, match="one of cpu, cuda, auto, not 'tpu'"):
        monmdp.train(monmdp.make("Loop", "Ask"), "Naive", 1, steps=20, points=2, device="tpu")


def test_refused_sweep_writes_nothing(missing: str, tmp_path: Path) -> None:
    with pytest.raises(monmdp.MonMDPError, match=missing):
        run_sweep(SMALL, tmp_path / "results", device="cuda")
    assert not (tmp_path / "results").exists()


def test_command_line_reports_what_is_missing(missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        ["train", "Loop", "Ask", "--seeds", "1", "--steps", "20", "--device", "cuda"],
        ["reproduce", "--envs", "Loop", "--monitors", "Ask", "--out", str(tmp_path / "r"), "--device", "cuda"],
        ["bench", "--device", "cuda"],
    ):
        assert main(words) == 2
        message = capsys.readouterr().err
        assert missing in message
        assert message.count("\n") == 1


def test_error_on_the_gpu_leaves_no_incomplete_files(pretend: Any, tmp_path: Path) -> None:
    def fail(work: list[Work], **options: Any) -> Any:
        raise monmdp.MonMDPError("The GPU is out of memory.")
        yield

    pretend(fail)
    with pytest.raises(monmdp.MonMDPError, match="out of memory"):
        run_sweep(SMALL, tmp_path, device="cuda")
    assert files(tmp_path) == []
    assert run_sweep(SMALL, tmp_path, device="cpu").done == 2


def test_gpu_and_cluster_exclude_each_other(pretend: Any, tmp_path: Path) -> None:
    pretend(None)
    with pytest.raises(monmdp.MonMDPError, match="not both"):
        run_sweep(SMALL, tmp_path / "r", device="cuda", executor=Threads(1))


def test_progress_never_decreases(pretend: Any, tmp_path: Path) -> None:
    def all_at_once(work: list[Work], watcher: Any) -> Any:
        watcher((part, np.full((len(part.seeds), 2), part.job.steps)) for part in work)
        for part in work:
            yield part, on_cpu(part)

    pretend(all_at_once)
    reported: list[int] = []
    sweep = dataclasses.replace(SMALL, agents=["Naive", "UCB"])
    report = run_sweep(sweep, tmp_path, device="cuda", watcher=lambda report, steps: reported.append(steps))
    assert report.done == 4
    assert reported == sorted(reported)
    assert {*reported} - {0} == {200}


MIXED = Sweep(environments=["Loop"], monitors=["Ask"], agents=["Naive", "DirectedModel"], seeds=2, steps=60, points=5)


def test_agent_without_a_device_kernel_gets_one_sentence(pretend: Any, tmp_path: Path) -> None:
    pretend(None)
    message = r"^DirectedModel has no kernel for GPUs\. Train it with device 'cpu' or 'auto'\.$"
    with pytest.raises(monmdp.MonMDPError, match=message):
        monmdp.train(monmdp.make("Loop", "Ask"), "DirectedModel", 1, steps=20, points=2, device="cuda")
    with pytest.raises(monmdp.MonMDPError, match=message):
        run_sweep(MIXED, tmp_path / "results", device="cuda")
    assert not (tmp_path / "results").exists()


def test_auto_trains_agents_without_a_device_kernel_on_the_cpu(pretend: Any, tmp_path: Path) -> None:
    trained: list[str] = []

    def gpu(work: list[Work], **options: Any) -> Any:
        for part in work:
            trained.append(part.job.agent_name)
            yield part, on_cpu(part)

    pretend(gpu)
    assert run_sweep(MIXED, tmp_path / "auto", device="auto").done == 4
    assert trained == ["Naive"]
    run_sweep(MIXED, tmp_path / "cpu")
    assert files(tmp_path / "auto") == files(tmp_path / "cpu")
    problem = monmdp.make("Loop", "Ask")
    auto, cpu = (monmdp.train(problem, "DirectedModel", 1, steps=60, points=3, device=d) for d in ("auto", "cpu"))
    assert np.array_equal(auto.q, cpu.q, equal_nan=True)
    assert trained == ["Naive"]


def test_numba_errors_become_sentences() -> None:
    text = "Failed in cuda mode pipeline (step: native lowering)\n\x1b[1mNRT required but not enabled\x1b[0m\nDuring: …"
    assert compiling._reason(Exception(text)) == compiling.NO_NEW_ARRAYS
    text = "Failed in cuda mode pipeline (step: nopython frontend)\n\x1b[1mUse of unsupported function 'sorted':\x1b[0m"
    assert compiling._reason(Exception(text)) == "Use of unsupported function 'sorted'."


def test_batch_is_saved_when_all_its_seeds_are_there(pretend: Any, tmp_path: Path) -> None:
    def in_pieces(work: list[Work], **options: Any) -> Any:
        for part in work:
            for seed in part.seeds:
                piece = Work(part.job, (seed,), part.number)
                yield piece, on_cpu(piece)

    run_sweep(SMALL, tmp_path / "cpu")
    pretend(in_pieces)
    assert run_sweep(SMALL, tmp_path / "gpu", device="cuda").done == 2
    assert files(tmp_path / "cpu") == files(tmp_path / "gpu")
