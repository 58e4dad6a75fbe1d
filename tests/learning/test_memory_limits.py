"""A run that does not fit into memory is refused; memory limits how many seeds run at the same time."""

from __future__ import annotations

import contextlib
import tracemalloc
from concurrent.futures import wait

import gymnasium
import numpy as np
import pytest
from comparing import differences, run

import monmdp
from monmdp import MonMDPError
from monmdp.agents.base import memory_bytes
from monmdp.protocol import paper_job
from monmdp.world import compact


def test_a_table_larger_than_memory(monkeypatch):
    """10,000 cells × 5 actions: 4 · 50,000² bytes are 9.3 GiB, and their maxima a fifth more."""
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: 2**30)
    problem = monmdp.make("Empty(rows=100, columns=100)")
    with pytest.raises(
        MonMDPError, match=r"with 50,000 pairs and 10 steps needs 11\.2 GiB of memory.*DirectedModel"
    ) as error:
        monmdp.train(problem, "Directed", 1, steps=10)
    assert "Empty(rows=100, columns=100)" in str(error.value)
    for linear in ("Naive", "Directed(random_goal_policy=True)", "DirectedModel"):
        assert monmdp.train(problem, linear, 1, steps=10, evaluation="none").visit_counts.sum() == 10


def test_too_little_memory_for_one_seed(monkeypatch):
    problem = monmdp.make("Hazard", "Button")
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: 10_000)
    with pytest.raises(MonMDPError, match=r"needs \d+ KiB of memory, and \d+ KiB can be used"):
        monmdp.train(problem, "Directed", 1, steps=10)
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: 1_000)
    with pytest.raises(MonMDPError, match=r"needs \d+ KiB of memory"):
        monmdp.train_live(gymnasium.make("FrozenLake-v1"), "Ask", "Directed", steps=10)


def test_memory_limits_the_seeds_at_the_same_time_and_not_the_results(monkeypatch):
    """Hazard + Button: 160 pairs, so 4 · 160 · (160 + 32) bytes per seed and schedules, about 130 kB."""
    problem, running = monmdp.make("Hazard", "Button"), []

    def counted_wait(futures, **options):
        running.append(len(futures))
        return wait(futures, **options)

    def train(room: int) -> monmdp.Curves:
        monkeypatch.setattr("monmdp.machine.available_bytes", lambda: room)
        monkeypatch.setattr("monmdp.study.executors.available_bytes", lambda: room)
        running.clear()
        return monmdp.train(problem, "Directed", 5, steps=500, points=10, threads=4)

    monkeypatch.setattr("monmdp.study.executors.wait", counted_wait)
    plenty = train(10**9)
    assert max(running) == 4
    for room, most in ((200_000, 1), (600_000, 3)):
        limited = train(room)
        assert max(running) == most
        for seed in range(5):
            assert differences(run(plenty, seed), run(limited, seed)) == []


@pytest.mark.parametrize("agent", monmdp.AGENTS)
def test_estimated_memory(agent):
    """The estimate for an agent is the size of its arrays, within a factor of two."""
    problem = monmdp.make("Empty", "Experts")
    world = compact(problem)
    built = paper_job(problem, agent, 1).agent
    taken = size(built.memory(world, 1, 0))
    assert taken / 2 <= memory_bytes(built, world, 1) <= 2 * taken
    if agent == "Directed":
        assert memory_bytes(built, world, 1) == pytest.approx(taken, rel=0.05)


def size(memory: object) -> int:
    """Bytes of all arrays of a memory, and of the named tuples in it."""
    if isinstance(memory, tuple):
        return sum(map(size, memory))
    return memory.nbytes if isinstance(memory, np.ndarray) else 0


def test_a_long_run_stays_within_the_limit(monkeypatch):
    """Schedules with one number per step count too: a run is refused, or stays within the limit."""
    room, problem = 30_000_000, monmdp.make("Loop")
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: room)
    monkeypatch.setattr("monmdp.study.executors.available_bytes", lambda: room)
    tracemalloc.start()
    with contextlib.suppress(MonMDPError):
        monmdp.train(problem, "Naive", 2, steps=5_000_000, points=2, threads=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < room
