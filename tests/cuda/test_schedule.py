"""Waves: everything once, longest first, within the memory; an error if a single run does not fit."""

from __future__ import annotations

import pytest

import monmdp
from monmdp.cuda.schedule import BLOCKS, ONCHIP_STEP, WARPS, Work, device_bytes, longest_first, shape_for, waves
from monmdp.training.job import Job


def work() -> list[Work]:
    cells = [("Loop", "Ask", "Naive", 300), ("Empty", "Level", "Directed", 200), ("Loop", "Full", "Directed", 900)]
    jobs = [Job(monmdp.make(environment, monitor), agent, steps, 5) for environment, monitor, agent, steps in cells]
    return [Work(job, tuple(range(4)), number) for number, job in enumerate(jobs)]


def size(part: Work) -> int:
    return device_bytes(part.job) * len(part.seeds)


def test_runs_with_a_table_come_first_and_the_longest_of_them() -> None:
    assert [(part.job.agent_name, part.job.steps) for part in longest_first(work())] == [
        ("Directed", 200), ("Directed", 900), ("Naive", 300),
    ]  # fmt: skip
    naive = [Work(Job(monmdp.make("Loop", "Ask"), "Naive", steps, 5), (0,)) for steps in (20, 50, 10)]
    assert [part.job.steps for part in longest_first(naive)] == [50, 20, 10]


@pytest.mark.parametrize("share", [1.0, 0.6, 0.3])
def test_waves_hold_everything_once_and_fit(share: float) -> None:
    parts = work()
    room = max(int(sum(size(part) for part in parts) * share), max(device_bytes(part.job) for part in parts))
    result = waves(parts, room)
    assert (len(result) == 1) == (share == 1.0)
    assert all(sum(size(part) for part in wave) <= room for wave in result)
    seen = [(part.number, seed) for wave in result for part in wave for seed in part.seeds]
    assert sorted(seen) == [(part.number, seed) for part in parts for seed in part.seeds]
    order = [part.number for wave in result for part in wave]
    assert list(dict.fromkeys(order)) == [part.number for part in longest_first(parts)]


def test_run_that_does_not_fit_is_named() -> None:
    with pytest.raises(
        monmdp.MonMDPError, match=r"^Directed in Empty \+ Level needs .* of GPU memory per run, and 1 MiB"
    ):
        waves(work(), 1 << 20)


def test_successor_table_counts() -> None:
    job = work()[1].job
    pairs = job.world.n_acting_states * job.world.n_actions
    assert device_bytes(job) > 4 * pairs * pairs


def test_blocks_grow_with_the_row() -> None:
    threads = [shape.threads for _, shape in BLOCKS]
    assert threads == sorted(threads, reverse=True)
    naive, large, small = (part.job for part in work())
    assert shape_for(small).threads < shape_for(large).threads
    assert shape_for(naive) == WARPS
    assert all(shape.threads % 32 == 0 and shape.threads > 32 for _, shape in BLOCKS)
    assert all(
        shape.onchip > 0 and shape.onchip % ONCHIP_STEP == 0 for shape in (WARPS, *(shape for _, shape in BLOCKS))
    )
