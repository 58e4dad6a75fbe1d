"""The plan: longest batches first, cut alike every time, and no more at once than fits into memory."""

from __future__ import annotations

import random
import threading

import pytest
from sweeping import TINY, assert_same

import monmdp
from monmdp.study import runner
from monmdp.study.plan import batches, wanted

MANY = monmdp.Sweep(["Walk", "Loop"], ["Full"], ["Naive", "UCB"], seeds=60, steps=100)


def keys(planned) -> list[tuple[str, int]]:
    """The runs of some batches."""
    return [(batch.cell.identity, seed) for batch in planned for seed in batch.seeds]


def test_the_longest_come_first():
    sweeps = [monmdp.Sweep(["Empty"], ["Full"], ["Naive"], 2, steps=steps) for steps in (1_000, 50_000, 10_000)]
    planned = batches(wanted(sweeps), {}, (1, 1))
    assert [batch.cell.job.steps for batch in planned] == [50_000, 10_000, 1_000]
    agents = monmdp.Sweep(["Empty"], ["Level"], ["Naive", "Directed"], 2, steps=1_000)
    first, last = batches(wanted([agents]), {}, (1, 1))
    assert (first.cell.settings["agent"], last.cell.settings["agent"]) == ("Directed", "Naive")


def test_what_is_left_lies_in_the_same_batches():
    """Whatever is done already, batches are parts of the first cut, and nothing is done twice or forgotten."""
    wishes = wanted([MANY])
    first = batches(wishes, {}, (1, 1))
    assert len(keys(first)) == len(set(keys(first))) == 4 * 60
    rng = random.Random(3)
    for _ in range(50):
        there = set(rng.sample(keys(first), rng.randrange(241)))
        done: dict[str, set[int]] = {}
        for identity, seed in there:
            done.setdefault(identity, set()).add(seed)
        left = batches(wishes, done, (1, 1))
        assert sorted(keys(left)) == sorted(set(keys(first)) - there)
        for batch in left:
            assert any(set(keys([batch])) <= set(keys([whole])) for whole in first)


def test_an_untouched_batch_keeps_its_name():
    """So that a run repeated elsewhere lands in the same file."""
    wishes = wanted([MANY])
    first = batches(wishes, {}, (1, 1))
    done = {first[0].cell.identity: {first[0].seeds[0]}}
    names = {batch.name for batch in first}
    assert len(names) == len(first) == 12
    assert len(names & {batch.name for batch in batches(wishes, done, (1, 1))}) == 11


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 20])
def test_shards_share_the_work_out(count):
    """Each run in exactly one shard, whatever is done; more shards than batches leave some without work."""
    wishes = wanted([MANY])
    done = {wishes[0][0].identity: set(range(10))}
    shards = [batches(wishes, done, (index, count)) for index in range(1, count + 1)]
    assert sorted(key for shard in shards for key in keys(shard)) == sorted(keys(batches(wishes, done, (1, 1))))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_shards_take_about_equally_long(count):
    """30 seeds are cut into 25 and 5, which in turn would give one of two shards five times the work of the other."""
    uneven = monmdp.Sweep(["Walk", "Loop", "Empty"], ["Full", "Ask"], ["Naive", "UCB"], seeds=30, steps=1_000)
    wishes = wanted([uneven])
    shards = [batches(wishes, {}, (index, count)) for index in range(1, count + 1)]
    work = [sum(batch.seconds for batch in shard) for shard in shards]
    longest = max(batch.seconds for shard in shards for batch in shard)
    assert max(work) - min(work) <= longest


class Crowd:
    """Trains batches, and knows how many were trained side by side at most."""

    def __init__(self) -> None:
        self.inside, self.most, self.lock = 0, 0, threading.Lock()

    def __call__(self, batch, control):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            return runner.run_batch(batch, control)
        finally:
            with self.lock:
                self.inside -= 1


def test_little_memory_means_one_after_the_other(tmp_path, monkeypatch):
    """Room for one batch and a half, and four of the same size: they queue, and the data are the same."""
    sweep = monmdp.Sweep(["Loop"], ["Ask"], ["Directed"], seeds=100, steps=100, points=10)
    (size,) = {batch.memory for batch in batches(wanted([sweep]), {}, (1, 1))}
    crowd = Crowd()
    with monkeypatch.context() as patched:
        patched.setattr(runner, "available_bytes", lambda: 1.5 * size / runner.SHARE)
        report = monmdp.run_sweep([sweep], tmp_path / "small", threads=4, train=crowd)
    assert report.done == 100
    assert crowd.most == 1
    monmdp.run_sweep([sweep], tmp_path / "large", threads=4)
    assert_same(tmp_path / "small", tmp_path / "large")


def test_no_more_side_by_side_than_threads(tmp_path):
    crowd = Crowd()
    monmdp.run_sweep([TINY], tmp_path, threads=2, train=crowd)
    assert crowd.most <= 2


def test_too_little_memory_is_said_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "available_bytes", lambda: 20_000)
    with pytest.raises(monmdp.MonMDPError, match=r"Directed in \w+ \+ \w+ needs .* of memory, and 16 KiB can be used"):
        monmdp.run_sweep([TINY], tmp_path)
    assert list(tmp_path.rglob("*.parquet")) == []
