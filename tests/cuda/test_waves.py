"""The host side of training, with a GPU that only has memory: all memory is freed, also after errors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import monmdp
from monmdp.cuda import backend, driver
from monmdp.cuda.schedule import EVALUATION, Work, device_bytes
from monmdp.training.job import Job

BASE = 1 << 20


class OnlyMemory:
    """A GPU whose kernels do nothing: bytes at addresses, and a list of what was launched."""

    capability = (9, 0)

    def __init__(self, room: int = 1 << 30, most_takes: int = 100, slow: int = 0) -> None:
        self.room, self.most_takes, self.slow, self.looks = room, most_takes, slow, 0
        self.taken: dict[int, np.ndarray] = {}
        self.launched: list[tuple[str, int, int, int]] = []
        self.sent: list[np.ndarray] = []
        self.next = BASE

    def attribute(self, name: str) -> int:
        return 4

    def free(self) -> int:
        return self.room

    def take(self, size: int) -> int:
        if len(self.taken) == self.most_takes:
            raise monmdp.MonMDPError("The GPU is out of memory.")
        address, self.next = self.next, self.next + size + 4096
        self.taken[address] = np.zeros(size, np.uint8)
        return address

    def give_back(self, address: int) -> None:
        del self.taken[address]

    def at(self, address: int, size: int) -> np.ndarray:
        start = max(begin for begin in self.taken if begin <= address)
        found = self.taken[start][address - start : address - start + size]
        assert len(found) == size  # nothing outside of what was taken
        return found

    def send(self, address: int, values: np.ndarray, stream: int | None = None) -> None:
        self.sent.append(values.copy())
        self.at(address, values.nbytes)[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)

    def fetch(self, address: int, values: np.ndarray) -> None:
        values.reshape(-1).view(np.uint8)[:] = self.at(address, values.nbytes)

    def fill(self, address: int, word: int, size: int, stream: int) -> None:
        self.at(address, size).view(np.uint32)[:] = word

    def function(self, ptx: str) -> str:
        return ptx

    def stream(self, urgent: bool = False) -> int:
        return 0

    def event(self, stream: int) -> int:
        return 0

    def seconds(self, first: int, last: int) -> float:
        return 1.0

    def is_over(self, event: int) -> bool:
        self.looks += 1
        return self.looks > self.slow

    def launch(self, function: str, blocks: int, threads: int, stream: int, given: Any, shared: int = 0) -> None:
        self.launched.append((function, blocks, threads, len(given)))


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "compiled", lambda program, _: getattr(program.agent, "__name__", "evaluation"))
    monkeypatch.setattr(backend, "WATCH_EVERY", 0.0)


def work(evaluation: str = "none") -> list[Work]:
    problem = monmdp.make("Loop", "Ask")
    jobs = [Job(problem, agent, 40, 4, evaluation) for agent in ("Directed", "Naive")]
    return [Work(job, (5, 2, 9), number) for number, job in enumerate(jobs)]


def use(gpu: OnlyMemory, monkeypatch: pytest.MonkeyPatch) -> OnlyMemory:
    monkeypatch.setattr(backend, "device", lambda: gpu)
    return gpu


def test_every_run_comes_back_with_its_first_values(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = use(OnlyMemory(), monkeypatch)
    spent = backend.Spent()
    parts = {part.number: (part, results) for part, results in backend.train_on_gpu(work(), spent=spent)}
    for number, given in enumerate(work()):
        part, results = parts[number]
        assert part.seeds == given.seeds
        for seed, (record, tables) in zip(part.seeds, results, strict=True):
            first = given.job.agent.memory(given.job.world, 40, seed)
            assert np.array_equal(tables["q"], first.q)
            assert np.array_equal(tables["reward_model"], first.reward_model)
            assert len(record.beta) == 5
    assert gpu.launched == [("Directed", 3, 64, 2), ("Naive", 3, 32, 2)]
    assert spent.launches == [("Directed", 3, 1.0), ("Naive", 3, 1.0)]
    assert spent.memory > 0
    assert gpu.taken == {}


def test_parts_of_the_same_job_are_trained_together(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = use(OnlyMemory(), monkeypatch)
    job = Job(monmdp.make("Loop", "Ask"), "Naive", 40, 4)
    parts = [Work(job, (5, 2), 0), Work(job, (1, 3, 4), 1)]
    results = {part.number: results for part, results in backend.train_on_gpu(parts)}
    assert [len(results[0]), len(results[1])] == [2, 3]
    expected = job.agent.memory(job.world, 40, 3).reward_model
    assert np.array_equal(results[1][1][1]["reward_model"], expected)
    assert gpu.launched == [("Naive", 5, 32, 2), ("evaluation", 4 * EVALUATION.blocks, 32, 7)]


def test_each_launch_is_evaluated_and_returned_when_it_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = use(OnlyMemory(), monkeypatch)
    results = backend.train_on_gpu(work("exact"))
    assert len(next(results)[1]) == 3
    assert [name for name, *_ in gpu.launched] == ["Directed", "Naive", "evaluation", "evaluation"]
    assert gpu.taken != {}
    results.close()  # type: ignore[attr-defined]
    assert gpu.taken == {}


@pytest.mark.parametrize("takes", [0, 1])
def test_memory_is_freed_if_there_is_not_enough(takes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = use(OnlyMemory(most_takes=takes), monkeypatch)
    with pytest.raises(monmdp.MonMDPError, match="out of memory"):
        list(backend.train_on_gpu(work("exact")))
    assert gpu.taken == {}
    assert gpu.launched == []


def test_little_memory_means_several_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    most = max(device_bytes(part.job) for part in work())
    gpu = use(OnlyMemory(room=int(most * 2.1 / 0.75 / driver.SHARE)), monkeypatch)
    seeds = [seed for part, _ in backend.train_on_gpu(work()) for seed in part.seeds]
    assert sorted(seeds) == [2, 2, 5, 5, 9, 9]
    assert len(gpu.launched) > 2


def test_interrupt_stops_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = use(OnlyMemory(slow=10), monkeypatch)

    def interrupt(progress: Iterable[tuple[Work, np.ndarray]]) -> None:
        assert [(part.number, done.tolist()) for part, done in progress] == [(0, [[0, 0]] * 3), (1, [[0, 0]] * 3)]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(backend.train_on_gpu(work(), watcher=interrupt))
    assert [sent.tolist() for sent in gpu.sent[-2:]] == [[1], [1]]
    assert gpu.taken == {}


class Refuses:
    """A driver that has one GPU and no memory."""

    class CUresult:
        CUDA_ERROR_OUT_OF_MEMORY = 2

    class Code(int):
        name = "CUDA_ERROR"

    def __getattr__(self, name: str) -> Any:
        code = {"cuMemAlloc": 2, "cuStreamCreateWithPriority": 999}.get(name, 0)
        return lambda *given: (self.Code(code), 1 << 20, 1 << 30) if name == "cuMemGetInfo" else (self.Code(code), 1)


def test_driver_errors_become_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "bindings", Refuses)
    gpu = driver.Device()
    with pytest.raises(monmdp.MonMDPError, match=r"^The GPU is out of memory \(1 MiB of it is free\); .*\.$"):
        gpu.take(100)
    monkeypatch.setattr(Refuses, "CUstream_flags", type("Flags", (), {"CU_STREAM_NON_BLOCKING": 1}), raising=False)
    with pytest.raises(monmdp.MonMDPError, match=r"^The GPU failed: cuStreamCreateWithPriority returned CUDA_ERROR\.$"):
        gpu.stream()
