"""Memory of deep agents: the estimate against what a run holds, and what does not fit is split, waits or is refused."""

import dataclasses
from functools import partial
from threading import Event, Thread

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra deep is not installed")
pytest.importorskip("optax", reason="the extra deep is not installed")

import jax

import monmdp
from monmdp import MonMDPError
from monmdp.deep import job as deep_job
from monmdp.deep import sharing
from monmdp.deep.learner import begin
from monmdp.deep.memory import fitting, reserved
from monmdp.deep.world import Draws, on_device, sizes_of
from monmdp.protocol import paper_job
from monmdp.study import executors
from monmdp.study.executors import train_group
from monmdp.study.results import Results
from monmdp.study.sweep import requested

STEPS = 20_000
RUNNING, STOPPED = np.zeros(1, np.int64), np.ones(1, np.int64)


def held(job):
    """Bytes of the memory of one run, from the shapes of its arrays."""
    draws = Draws(*(np.zeros((1, STEPS), np.float32) for _ in Draws._fields))
    device = on_device(job.world, sizes_of(job.world))
    numbers, device = jax.tree.map(lambda array: array[None], (job.numbers, device))
    held = jax.eval_shape(partial(begin, job.plan), numbers, device, draws, jax.random.split(jax.random.key(0), 1))
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(held))


AGENTS = (
    "DeepDirected",
    "DeepNaive",
    "DeepDirected(hidden=(512, 32), batch=8, bins=9)",
    "DeepIntrinsic(novelty='distillation')",
    "BootstrappedDQN",
    "BootstrappedDQN(heads=30, batch=8)",
    "DeepCautious(n=30)",
)


@pytest.mark.parametrize(
    ("environment", "monitor", "observe", "agent"),
    [
        *(("Loop", "Ask", "pixels", agent) for agent in AGENTS),
        ("Empty(rows=12, columns=12)", "Level", "noisy pixels", "DeepDirected"),
        ("Empty(rows=12, columns=12)", "Level", "noisy pixels", "BootstrappedDQN"),
        ("RiverSwim", "Button", lambda problem, state: np.full((60, 60, 3), state), "DeepDirected"),
        ("RiverSwim", "Button", lambda problem, state: np.full((60, 60, 3), state), "DeepNaive"),
    ],
)
def test_the_estimate_is_more_than_a_run_holds_and_not_much_more(environment, monitor, observe, agent):
    built = monmdp.AGENTS.build(agent, observe=observe)
    job = paper_job(monmdp.make(environment, monitor), built, STEPS, 10)
    assert 1.2 * held(job) < job.run_bytes < 3.0 * held(job)


def test_as_many_runs_as_fit_are_in_one_program(monkeypatch):
    assert [fitting(1.0, room, 128) for room in (1000, 128, 127.9, 64, 5, 1, 0.9)] == [128, 128, 64, 64, 4, 1, 0]
    problem = monmdp.make("Loop", "Ask")
    size = paper_job(problem, "DeepNaive", STEPS).run_bytes
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(deep_job, "room", lambda: 9.0 * size)
    assert paper_job(problem, "DeepNaive", STEPS).lanes == 7  # of 240, halved until they fit
    monkeypatch.setattr(deep_job, "room", lambda: np.inf)
    larger = (monmdp.make(name, "Ask") for name in ("Empty(rows=12, columns=12)", "DeepSea(size=30)"))
    assert [paper_job(each, "DeepNaive", STEPS).lanes for each in (problem, *larger)] == [240, 90, 30]
    assert paper_job(problem, "DeepNaive(bins=None)", STEPS).lanes == 30  # with 226 bins
    monkeypatch.setattr(deep_job, "room", lambda: 9.0 * size)
    with pytest.raises(
        MonMDPError, match=r"DeepNaive\(batch=60000\) in Loop \+ Ask needs about .* can be used; choose"
    ):
        paper_job(problem, "DeepNaive(batch=60000)", STEPS)


def test_programs_wait_for_memory():
    entered = [Event(), Event()]

    def enter(event, stop):
        with reserved(6, 10, stop):
            event.set()

    with reserved(6, 10, RUNNING):
        waits = Thread(target=enter, args=(entered[0], RUNNING))
        waits.start()
        enter(entered[1], STOPPED)  # does not wait
        with reserved(4, 10, RUNNING):
            assert entered[1].is_set()
            assert not entered[0].is_set()
    waits.join(60)
    assert entered[0].is_set()
    with reserved(11, 10, RUNNING):  # alone, since the estimate may be too large
        pass


@pytest.fixture
def four_lanes(monkeypatch):
    """As on an accelerator: four runs of any problems in a program."""
    monkeypatch.setattr(deep_job, "accelerated", lambda: True)
    monkeypatch.setattr(sharing, "SHARED", tuple(shared._replace(lanes=4) for shared in sharing.SHARED))
    monkeypatch.setattr(deep_job, "room", lambda: np.inf)


def test_small_problems_share_a_program_and_do_not_change_each_other(four_lanes, tmp_path, monkeypatch):
    """Loop has five environment actions and RiverSwim two, so that RiverSwim has actions that are never chosen."""
    agent, size = "DeepDirected(hidden=(16,), batch=8)", {"steps": 60, "points": 2}
    sweep, groups, train = monmdp.Sweep(["Loop", "RiverSwim"], ["Ask"], [agent], seeds=2, **size), [], train_group
    assert len({request.job.program for request in requested(sweep)}) == 1
    more_points = dataclasses.replace(sweep, points=3)  # recorded at other steps, so trained apart
    assert len({request.job.program for request in requested([sweep, more_points])}) == 2
    monkeypatch.setattr(executors, "train_group", lambda group, *more: groups.append(group) or train(group, *more))
    assert monmdp.run_sweep(sweep, tmp_path).done == 4
    assert [[batch.seeds for batch in group] for group in groups] == [[(0, 1), (0, 1)]]
    for name, n_actions in (("Loop", 10), ("RiverSwim", 4)):
        alone = monmdp.train(monmdp.make(name, "Ask"), agent, seeds=[1], **size)
        assert alone.q.shape[-1] == alone.policy().q(np.zeros((1, *alone.policy().shape)), [0]).shape[-1] == n_actions
        assert alone.visit_counts.sum() == 60
        cell = Results(tmp_path).cell(name, "Ask", agent)
        np.testing.assert_array_equal(cell.final_table("q", 1), alone.q[0])
        np.testing.assert_array_equal(cell.curve("return")[1], alone.returns[0])
        np.testing.assert_array_equal(cell.curve("observed")[1], alone.observed[0])
        assert not np.array_equal(cell.final_table("q", 0), alone.q[0])


def test_problems_of_similar_size_share_a_program(four_lanes):
    """A problem is filled up to the first sizes that it fits into, and to the same numbers of monitor states."""
    groups = ("Empty", "Loop"), ("Corridor(length=60)", "KeyDoor(size=9)"), ("DeepSea(size=12)", "DeepSea(size=20)")
    programs = [
        {paper_job(monmdp.make(name, monitor), "DeepDirected", STEPS).program for name in names}
        for names in (*groups, ("DeepSea(size=30)",))
        for monitor in ("Ask", "Level")
    ]
    assert all(len(own) == 1 for own in programs)
    assert len(set().union(*programs)) == len(programs)
