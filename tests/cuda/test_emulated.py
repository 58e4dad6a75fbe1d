"""Device kernels, run thread by thread in Python, give the same numbers as the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu import needs_compiler

import monmdp
from monmdp.cuda import backend
from monmdp.cuda.schedule import Work
from monmdp.protocol import paper_job
from monmdp.training.metrics import new_record

pytest.importorskip("greenlet", reason="threads of the emulated GPU are greenlets")
import emulator

pytestmark = needs_compiler
SEEDS = (3, 8)
STEPS, POINTS = 24, 3
#: Every kernel that a warp computes together, both device kernels, and an agent that sees hidden rewards.
AGENTS = (
    "Directed", "Directed(balanced_wandering=True, beta_bar=0.6)", "Directed(random_goal_policy=True)",
    "Directed(successor_target='occupancy')", "UCB", "QCounts", "Oracle",
)  # fmt: skip


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> emulator.EmulatedGPU:
    gpu = emulator.EmulatedGPU()
    monkeypatch.setattr(backend, "device", lambda: gpu)
    monkeypatch.setattr(backend, "compiled", emulator.compiled)
    return gpu


def assert_equal(problem: Any, agent: str, evaluation: str) -> None:
    job = paper_job(problem, agent, STEPS, POINTS, evaluation)
    ((_, results),) = backend.train_on_gpu([Work(job, SEEDS)])
    for seed, (record, tables) in zip(SEEDS, results, strict=True):
        expected = new_record(len(job.point_steps))
        _, final = job.run(seed, expected, np.zeros(2, np.int64), np.zeros(1, np.int64))
        for name in expected._fields:
            assert np.array_equal(getattr(record, name), getattr(expected, name), equal_nan=True), (agent, name)
        for name in ("visits", "q", "reward_model"):
            assert np.array_equal(tables[name], final[name], equal_nan=True), (agent, name)


@pytest.mark.parametrize("agent", AGENTS)
def test_agents(gpu: emulator.EmulatedGPU, agent: str) -> None:
    assert_equal(monmdp.make("Loop", "Ask"), agent, "exact")
    assert gpu.taken == {}


@pytest.mark.parametrize("evaluation", ["sampled", "none"])
def test_other_evaluations(gpu: emulator.EmulatedGPU, evaluation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monmdp.training.job.TEST_EPISODES", 4)
    for agent in ("Naive", "Directed"):
        assert_equal(monmdp.make("RiverSwim", "Button"), agent, evaluation)


def test_stopped_runs_end_at_the_same_barriers(gpu: emulator.EmulatedGPU, monkeypatch: pytest.MonkeyPatch) -> None:
    job = paper_job(monmdp.make("Loop", "Ask"), "Directed", STEPS, POINTS, "none")
    launch = backend.Launch.start

    def stopped(self: Any, device: Any) -> None:
        stop = next(values for name, values in self.groups[0][0].shared.items() if name == "stop")
        stop[0] = 1
        launch(self, device)

    monkeypatch.setattr(backend.Launch, "start", stopped)
    ((_, results),) = backend.train_on_gpu([Work(job, SEEDS)])
    assert all(tables["visits"].sum() == 0 for _, tables in results)
