"""The plan: longest batches first, cut in the same places every time, and limited by memory and threads."""

from __future__ import annotations

import random
import threading

import pytest
from sweeping import TINY, assert_same

import monmdp
from monmdp.cli.shared import new_console, print_warnings
from monmdp.protocol import paper_job
from monmdp.study import executors
from monmdp.study.runner import plan_sweep
from monmdp.study.sweep import BYTE_SECONDS, EVALUATION_SECONDS, STEP_SECONDS, Batch, merged, remaining, requested

MANY = monmdp.Sweep(["Walk", "Loop"], ["Full"], ["Naive", "UCB"], seeds=60, steps=100)


def keys(planned) -> list[tuple[str, int]]:
    """The runs of some batches."""
    return [(batch.identity, seed) for batch in planned for seed in batch.seeds]


def test_the_longest_batches_come_first():
    sweeps = [monmdp.Sweep(["Empty"], ["Full"], ["Naive"], 2, steps=steps) for steps in (1_000, 50_000, 10_000)]
    planned = remaining(requested(sweeps), {}, (1, 1))
    assert [batch.job.steps for batch in planned] == [50_000, 10_000, 1_000]
    agents = monmdp.Sweep(["Empty"], ["Level"], ["Naive", "Directed"], 2, steps=1_000)
    first, last = remaining(requested([agents]), {}, (1, 1))
    assert (first.job.agent_name, last.job.agent_name) == ("Directed", "Naive")


def test_remaining_runs_stay_in_the_same_batches():
    """Whatever is done already, batches are parts of the first cut, and no run is repeated or missing."""
    requests = requested([MANY])
    first = remaining(requests, {}, (1, 1))
    assert len(keys(first)) == len(set(keys(first))) == 4 * 60
    rng = random.Random(3)
    for _ in range(50):
        there = set(rng.sample(keys(first), rng.randrange(241)))
        done: dict[str, set[int]] = {}
        for identity, seed in there:
            done.setdefault(identity, set()).add(seed)
        left = remaining(requests, done, (1, 1))
        assert sorted(keys(left)) == sorted(set(keys(first)) - there)
        for batch in left:
            assert any(set(keys([batch])) <= set(keys([whole])) for whole in first)


def test_a_batch_without_finished_seeds_is_unchanged():
    """So that a batch trained elsewhere gives the same file."""
    requests = requested([MANY])
    first = remaining(requests, {}, (1, 1))
    done = {first[0].identity: {first[0].seeds[0]}}
    names = {(batch.identity, batch.seeds) for batch in first}
    assert len(names) == len(first) == 12
    assert len(names & {(batch.identity, batch.seeds) for batch in remaining(requests, done, (1, 1))}) == 11


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 20])
def test_every_run_is_in_one_shard(count):
    """Whatever is done already; with more shards than batches, some shards are empty."""
    requests = requested([MANY])
    done = {requests[0].identity: set(range(10))}
    shards = [remaining(requests, done, (index, count)) for index in range(1, count + 1)]
    assert sorted(key for shard in shards for key in keys(shard)) == sorted(keys(remaining(requests, done, (1, 1))))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_shards_take_about_equally_long(count):
    """30 seeds are cut into 25 and 5; dealt in turn, one of two shards would take five times as long as the other."""
    uneven = monmdp.Sweep(["Walk", "Loop", "Empty"], ["Full", "Ask"], ["Naive", "UCB"], seeds=30, steps=1_000)
    requests = requested([uneven])
    shards = [remaining(requests, {}, (index, count)) for index in range(1, count + 1)]
    work = [sum(batch.seconds for batch in shard) for shard in shards]
    longest = max(batch.seconds for shard in shards for batch in shard)
    assert max(work) - min(work) <= longest


class Counting:
    """`train_group` that counts how many batches are trained at the same time, at most."""

    def __init__(self) -> None:
        self.now, self.most, self.lock, self.train = 0, 0, threading.Lock(), executors.train_group

    def __call__(self, *arguments):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            return self.train(*arguments)
        finally:
            with self.lock:
                self.now -= 1


@pytest.fixture
def counting(monkeypatch):
    counting = Counting()
    monkeypatch.setattr(executors, "train_group", counting)
    return counting


def test_memory_limits_the_batches_at_the_same_time(counting, tmp_path, monkeypatch):
    """There is memory for one batch and a half, and there are four of the same size."""
    sweep = monmdp.Sweep(["Loop"], ["Ask"], ["Directed"], seeds=100, steps=100, points=10)
    (size,) = {batch.memory for batch in remaining(requested([sweep]), {}, (1, 1))}
    with monkeypatch.context() as patched:
        patched.setattr(executors, "available_bytes", lambda: 1.5 * size / executors.SHARE)
        report = monmdp.run_sweep([sweep], tmp_path / "small", threads=4)
    assert report.done == 100
    assert counting.most == 1
    monmdp.run_sweep([sweep], tmp_path / "large", threads=4)
    assert_same(tmp_path / "small", tmp_path / "large")


def test_threads_limit_the_batches_at_the_same_time(counting, tmp_path):
    monmdp.run_sweep([TINY], tmp_path, threads=2)
    assert 0 < counting.most <= 2


def test_too_little_memory_is_reported_before_training(tmp_path, monkeypatch):
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: 1_000_000)
    sweep = monmdp.Sweep(["Empty(rows=10, columns=10)"], ["Full"], ["Naive", "Directed"], seeds=1, steps=10)
    with pytest.raises(monmdp.MonMDPError, match=r"Directed in Empty.* needs .* of memory, and 781 KiB can be used"):
        monmdp.run_sweep([sweep], tmp_path)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_gpu_gets_all_seeds_of_a_job_at_once():
    batches = remaining(requested(TINY), {}, (1, 1))
    whole = merged(reversed(batches))
    assert len(whole) == len({batch.identity for batch in batches})
    for batch in whole:
        seeds = [seed for part in batches if part.job is batch.job for seed in part.seeds]
        assert list(batch.seeds) == sorted(seeds)


def test_the_estimate_of_time_by_hand():
    """A step of Naive touches two numbers of eight bytes per pair."""
    batch = Batch(paper_job(monmdp.make("Loop"), "Naive", 1000, 10), (0, 1, 2))
    step = STEP_SECONDS + 16 * BYTE_SECONDS
    assert batch.seconds == pytest.approx(3 * (1000 * step + 11 * EVALUATION_SECONDS))


def test_a_plan_names_its_folder_and_jobs(tmp_path):
    report, left = plan_sweep(TINY, tmp_path / "results")
    assert report.folder == tmp_path / "results"
    assert {batch.identity for batch in left} == {request.identity for request in report.requested}
    assert report.runs == sum(len(batch.seeds) for batch in left) > 0
    assert not report.folder.exists()


def test_warnings_are_printed(capsys):
    print_warnings(new_console(), ["The first file is damaged.", "So is the second."])
    assert capsys.readouterr().out == "The first file is damaged.\nSo is the second.\n"
