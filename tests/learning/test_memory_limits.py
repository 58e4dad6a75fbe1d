"""What does not fit is refused with a sentence; what fits only one at a time runs one at a time."""

from __future__ import annotations

import contextlib
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest
from comparing import differences, run

import monmdp
from monmdp import MonMDPError
from monmdp.protocol import agent_defaults
from monmdp.world import compact


def test_a_table_that_cannot_fit_is_refused_by_name_and_size(monkeypatch):
    """40,000 cells × 5 actions: 4 · 200,000² bytes are 149 GiB, and their maxima a fifth more."""
    monkeypatch.setattr("monmdp.training.job.available_bytes", lambda: 16 * 2**30)
    problem = monmdp.make("Empty(rows=200, columns=200)")
    with pytest.raises(
        MonMDPError, match=r"needs 178\.8 GiB of memory a seed for its 200,000 pairs.*DirectedModel"
    ) as error:
        monmdp.train(problem, "Directed", 1, steps=10)
    assert "Empty(rows=200, columns=200)" in str(error.value)
    for linear in ("Naive", "Directed(random_goal_policy=True)", "DirectedModel"):
        assert monmdp.train(problem, linear, 1, steps=10, evaluation="none").visit_counts.sum() == 10


def test_too_little_memory_for_one_seed(monkeypatch):
    monkeypatch.setattr("monmdp.training.job.available_bytes", lambda: 10_000)
    with pytest.raises(MonMDPError, match=r"needs \d+ KiB of memory .* and \d+ KiB can be used"):
        monmdp.train(monmdp.make("Hazard", "Button"), "Directed", 1, steps=10)
    monkeypatch.setattr("monmdp.training.live.available_bytes", lambda: 1_000)
    with pytest.raises(MonMDPError, match=r"needs \d+ KiB of memory"):
        monmdp.train_live(gymnasium.make("FrozenLake-v1"), "Ask", "Directed", steps=10)


@pytest.fixture
def pools(monkeypatch) -> list[int]:
    """The sizes of the thread pools that training opens."""
    sizes: list[int] = []

    class Recorded(ThreadPoolExecutor):
        def __init__(self, workers: int) -> None:
            sizes.append(workers)
            super().__init__(workers)

    monkeypatch.setattr("monmdp.training.job.ThreadPoolExecutor", Recorded)
    return sizes


def test_memory_limits_the_seeds_side_by_side_and_nothing_else(monkeypatch, pools):
    """Hazard + Button: 160 pairs, so 4 · 160 · (160 + 32) bytes a seed and schedules, some 130 kB."""
    problem = monmdp.make("Hazard", "Button")

    def train(room: int) -> monmdp.Curves:
        monkeypatch.setattr("monmdp.training.job.available_bytes", lambda: room)
        return monmdp.train(problem, "Directed", 5, steps=500, points=10, threads=4)

    plenty, tight, three = train(10**9), train(200_000), train(600_000)
    assert pools == [4, 1, 3]
    for seed in range(5):
        assert differences(run(plenty, seed), run(tight, seed)) == []
        assert differences(run(plenty, seed), run(three, seed)) == []


@pytest.mark.parametrize("agent", monmdp.AGENTS)
def test_what_is_said_is_what_is_taken(agent):
    """The size that an agent announces is that of its arrays, within a factor of two."""
    problem = monmdp.make("Empty", "Experts")
    world = compact(problem)
    built = monmdp.AGENTS.build(agent).resolved(agent_defaults(problem, agent))
    taken = size(built.memory(world, 1, 0))
    assert taken / 2 <= built.memory_bytes(world, 1) <= 2 * taken
    if agent == "Directed":
        assert built.memory_bytes(world, 1) == pytest.approx(taken, rel=0.05)


def size(memory: object) -> int:
    """Bytes of all arrays of a memory, and of the named tuples in it."""
    if isinstance(memory, tuple):
        return sum(map(size, memory))
    return memory.nbytes if isinstance(memory, np.ndarray) else 0


def test_a_long_run_takes_no_more_than_there_is(monkeypatch):
    """Schedules of one number a step count too: a run is refused, or stays within what can be used."""
    room = 30_000_000
    monkeypatch.setattr("monmdp.training.job.available_bytes", lambda: room)
    tracemalloc.start()
    with contextlib.suppress(MonMDPError):
        monmdp.train(monmdp.make("Loop"), "Naive", 2, steps=5_000_000, points=2, threads=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < room
