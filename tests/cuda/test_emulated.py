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
from monmdp.training import loop
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


@pytest.mark.parametrize("barriers", [0, 200])
def test_stopped_runs_end_at_the_same_barriers(
    gpu: emulator.EmulatedGPU, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, barriers: int
) -> None:
    """All threads of a run end, whether it is stopped before its first step or after the given number of waits."""
    from monmdp.cuda.successors import advance_by_block

    monkeypatch.setattr(loop, "LISTEN_EVERY", 4)
    advance_by_block.cache_clear()
    request.addfinalizer(advance_by_block.cache_clear)
    job = paper_job(monmdp.make("Loop", "Ask"), "Directed", STEPS, POINTS, "none")
    start, sync, launches, waits = backend.Launch.start, emulator.Block.syncthreads, [], iter(range(1 << 20))

    def started(launch: Any, device: Any) -> None:
        launches.append(launch)
        start(launch, device)

    def counted(block: emulator.Block) -> None:
        if next(waits) == barriers:
            launch = launches[0]
            _, offset = launch.shared[id(launch.groups[0][0].shared["stop"])]
            gpu.send(launch.base + offset, np.ones(1, np.int64))
        sync(block)

    monkeypatch.setattr(backend.Launch, "start", started)
    monkeypatch.setattr(emulator.Block, "syncthreads", counted)
    ((_, results),) = backend.train_on_gpu([Work(job, SEEDS)])
    steps = [tables["visits"].sum() for _, tables in results]
    assert 0 < steps[0] < STEPS if barriers else steps[0] == 0
    assert steps[1] == 0
