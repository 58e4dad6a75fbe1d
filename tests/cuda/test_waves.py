"""What the host does around kernels, with a GPU that only has memory: all of it is given back, whatever happens."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu import needs_compiler

import monmdp
from monmdp.cuda import backend, driver
from monmdp.cuda.compiling import Compiled
from monmdp.cuda.schedule import Work
from monmdp.training.job import Job

BASE = 1 << 20


class OnlyMemory:
    """A GPU whose kernels do nothing: bytes at addresses, and a list of what was launched."""

    capability = (9, 0)

    def __init__(self, room: int = 1 << 30, most_takes: int = 100) -> None:
        self.room, self.most_takes = room, most_takes
        self.taken: dict[int, np.ndarray] = {}
        self.launched: list[tuple[int, int, int]] = []
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

    def send(self, address: int, values: np.ndarray) -> None:
        self.sent.append(values.copy())
        self.at(address, values.nbytes)[:] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)

    def fetch(self, address: int, values: np.ndarray) -> None:
        values.reshape(-1).view(np.uint8)[:] = self.at(address, values.nbytes)

    def fill(self, address: int, word: int, size: int) -> None:
        self.at(address, size).view(np.uint32)[:] = word

    def function(self, ptx: str, entry: str) -> str:
        return entry

    def stream(self) -> int:
        return 0

    def follow(self, stream: int, event: int) -> None:
        pass

    def event(self, stream: int) -> int:
        return 0

    def seconds(self, first: int, last: int) -> float:
        return 1.0

    def launch(self, function: str, blocks: int, threads: int, stream: int, given: Any, near: int = 0) -> None:
        self.launched.append((blocks, threads, len(given)))

    def wait(self, events: list[int], each: Any) -> None:
        if each is not None:
            each()


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "compiled", lambda launch, capability: Compiled("", launch.kind.__name__))


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
    parts = {part.number: (part, found) for part, found in backend.train_on_gpu(work(), spent=spent)}
    for number, asked in enumerate(work()):
        part, found = parts[number]
        assert part.seeds == asked.seeds
        for seed, (record, tables) in zip(part.seeds, found, strict=True):
            first = asked.job.agent.memory(asked.job.world, 40, seed)
            assert np.array_equal(tables["q"], first.q)
            assert np.array_equal(tables["reward_model"], first.reward_model)
            assert len(record.beta) == 5
    assert sorted(blocks for blocks, *_ in gpu.launched) == [3, 3]
    assert [name for name, *_ in spent.launches] == ["Directed", "Naive"]
    assert spent.memory > 0
    assert gpu.taken == {}


@needs_compiler
def test_evaluation_follows_training(monkeypatch: pytest.MonkeyPatch) -> None:
    from monmdp.cuda import evaluation

    gpu = use(OnlyMemory(), monkeypatch)
    monkeypatch.setattr(evaluation, "compiled_evaluation", lambda schema, capability: Compiled("", "evaluate"))
    for _ in backend.train_on_gpu(work("exact")):
        pass
    assert gpu.launched[-1][1:] == (32, 7)
    assert gpu.taken == {}


@pytest.mark.parametrize("takes", [0, 1, 2])
def test_memory_that_runs_out_midway_is_given_back(takes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = use(OnlyMemory(most_takes=takes), monkeypatch)
    with pytest.raises(monmdp.MonMDPError, match="out of memory"):
        list(backend.train_on_gpu(work()))
    assert gpu.taken == {}
    assert gpu.launched == []


def test_a_gpu_with_little_memory_takes_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    most = max(part.bytes_each for part in work())
    gpu = use(OnlyMemory(room=int(most * 2.1 / 0.75 / driver.SHARE)), monkeypatch)
    seeds = [seed for part, _ in backend.train_on_gpu(work()) for seed in part.seeds]
    assert sorted(seeds) == [2, 2, 5, 5, 9, 9]
    assert len(gpu.launched) > 2


def test_an_interrupt_tells_the_kernels_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = use(OnlyMemory(), monkeypatch)

    def interrupt(parts: list[Work], steps: list[np.ndarray]) -> None:
        assert [found.shape for found in steps] == [(3, 2), (3, 2)]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(backend.train_on_gpu(work(), watcher=interrupt))
    assert gpu.sent[-1].tolist() == [1]
    assert gpu.taken == {}


class Refuses:
    """A driver that has one GPU and no memory."""

    class CUresult:
        CUDA_ERROR_OUT_OF_MEMORY = 2

    class Code(int):
        name = "CUDA_ERROR"

    def __getattr__(self, name: str) -> Any:
        code = {"cuMemAlloc": 2, "cuStreamCreate": 999}.get(name, 0)
        return lambda *given: (self.Code(code), 1 << 20, 1 << 30) if name == "cuMemGetInfo" else (self.Code(code), 1)


def test_what_the_driver_says_becomes_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "bindings", Refuses)
    gpu = driver.Device()
    with pytest.raises(monmdp.MonMDPError, match=r"^The GPU is out of memory \(1 MiB of it is free\); .*\.$"):
        gpu.take(100)
    monkeypatch.setattr(Refuses, "CUstream_flags", type("Flags", (), {"CU_STREAM_NON_BLOCKING": 1}), raising=False)
    with pytest.raises(monmdp.MonMDPError, match=r"^The GPU failed: cuStreamCreate says CUDA_ERROR\.$"):
        gpu.stream()
