"""Schedules: a constant, a line from the first step to the last, or one number a step; anything else is refused."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from by_hand import one_state
from comparing import Q_LEARNERS
from reference.base import per_step

import monmdp
from monmdp import MonMDPError
from monmdp.agents.schedules import TABULATED, is_line, log_of, logarithms, schedule, value_at
from monmdp.protocol import paper_job
from monmdp.training.metrics import new_record


def values(given, steps):
    """The values of a schedule at every step."""
    stored = schedule(given, steps, "ε")
    return [value_at(stored, step) for step in range(steps)]


def test_a_line_reaches_both_ends():
    assert values((1.0, 0.0), 5) == [1, 0.75, 0.5, 0.25, 0]
    assert values([0.5, 0.05], 10) == pytest.approx(0.5 - 0.05 * np.arange(10), abs=1e-15)
    assert values((1.0, 0.0), 2) == [1, 0]
    assert values((1.0, 0.0), 1) == [1]


@pytest.mark.parametrize("given", [(1.0, 0.0), (0.5, 0.05), (0.3, 0.9), 0.1, 0.7])
def test_values_equal_those_of_a_table_bit_for_bit(given):
    assert values(given, 12_345) == per_step(given, 12_345).tolist()


def test_logarithms_beyond_the_table_equal_those_of_the_table():
    numbers = [1, 2, 3, TABULATED - 1, TABULATED, TABULATED + 1, 10**6 + 3, 10**8, 10**11 + 7]
    assert [log_of(logarithms(4), number) for number in numbers] == [math.log(number) for number in numbers]
    assert log_of(logarithms(TABULATED), TABULATED) == math.log(TABULATED)


def test_memory_does_not_grow_with_the_number_of_steps():
    problem = monmdp.make("Loop")
    for agent in ("Directed", "UCB", "QCounts"):
        few, many = (memory_of(paper_job(problem, agent, steps)) for steps in (10**6, 10**15))
        assert few == many < 2 * 2**20


def test_nothing_else_grows_with_the_number_of_steps():
    """The most that a whole run allocates beyond its compiled code, with the same recording points."""
    problem, peaks = monmdp.make("Empty(rows=1, columns=2)"), []
    for steps in (100_000, 100_000, 400_000):  # the first one fills caches
        tracemalloc.start()
        monmdp.train(problem, "Directed", 1, steps=steps, points=100, threads=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < peaks[1] + 50_000, "a single number per step would be 2,400,000 bytes more"


def memory_of(job):
    """Bytes of all arrays of a run's memory, and of its record."""
    arrays = *job.agent.memory(job.world, job.steps, 0), *new_record(len(job.point_steps)), job.point_steps
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


@pytest.mark.parametrize("value", [0, 1, 0.2, np.float64(0.2), np.float32(0.5), np.array(0.5)])
def test_a_constant(value):
    assert values(value, 4) == [float(value)] * 4


@pytest.mark.parametrize("given", [[0.5], [0.5, 0.25], [0.5, 0.25, 0.0], [1, 0, 1, 0]])
def test_one_number_per_step(given):
    assert values(np.array(given), len(given)) == given


@pytest.mark.parametrize(
    "given",
    [
        math.nan,
        math.inf,
        -0.1,
        1.5,
        "fast",
        None,
        (1.0,),
        (1.0, 0.5, 0.0),
        (1.0, math.nan),
        (1.0, -0.1),
        (2.0, 0.0),
        (),
        np.linspace(0, 1, 9),
        np.linspace(0, 1, 11),
        np.full(10, np.nan),
        np.full(10, 1.01),
        np.full((10, 1), 0.5),
        np.array(["much", "more"]),
    ],
    ids=lambda given: repr(given)[:30],
)
def test_what_is_no_schedule_gets_a_sentence(given):
    with pytest.raises(MonMDPError, match=r"^The thing .*\.$"):
        schedule(given, 10, "The thing")


def train(agent: str, option: str, value: object) -> None:
    """Ten steps with one option set; where it is refused does not matter, as long as it is."""
    monmdp.train(monmdp.make("Loop"), monmdp.AGENTS.build(agent, **{option: value}), 1, steps=10)


@pytest.mark.parametrize("option", ["alpha", "epsilon"])
@pytest.mark.parametrize("agent", Q_LEARNERS)
def test_every_agent_refuses_a_nan_schedule(agent, option):
    with pytest.raises(MonMDPError, match=r"must be (finite|between 0 and 1)"):
        train(agent, option, (1.0, math.nan))


@pytest.mark.parametrize(("agent", "option"), [("Directed", "successor_alpha"), ("QCounts", "count_alpha")])
def test_so_do_the_schedules_of_their_own(agent, option):
    for bad in (math.nan, 2.0, np.full(9, 0.5)):
        with pytest.raises(MonMDPError, match=r"must "):
            train(agent, option, bad)


def test_the_learning_rate_is_taken_step_by_step():
    """Target 1 from Q = 0: what is left is the product of all 1 − α."""
    rates = np.array([0.5, 0.0, 0.25, 1.0, 0.0])
    for steps in range(3, 6):
        learner = monmdp.AGENTS.build("Naive", alpha=rates[:steps], initial_q=0.0)
        q = monmdp.train(one_state(ends=True), learner, 1, steps=steps).q.item()
        assert q == pytest.approx(1 - np.prod(1 - rates[:steps]), abs=1e-15)


def test_epsilon_is_taken_step_by_step():
    """ε of 0 and 1 leaves nothing to chance."""
    epsilon = (np.arange(1000) % 4 == 0).astype(float)
    learner = monmdp.AGENTS.build("Naive", epsilon=epsilon)
    curves = monmdp.train(monmdp.make("Loop"), learner, 2, steps=1000)
    assert curves.explored[0] == pytest.approx(np.cumsum(np.r_[0, epsilon]) / np.maximum(curves.steps, 1))


def test_epsilon_falls_from_one_to_zero_by_default():
    """Half of the steps explore, the first always and the last never; five standard errors."""
    steps = 4000
    curves = monmdp.train(monmdp.make("Loop"), "Naive", 4, steps=steps, points=steps)
    taken = np.diff(curves.explored * curves.steps).round()
    assert (taken[:, 0] == 1).all()
    assert (taken[:, -1] == 0).all()
    early, late = taken[:, : steps // 2].mean(), taken[:, steps // 2 :].mean()
    error = math.sqrt(0.25 / taken[:, : steps // 2].size)
    assert abs(early - 0.75) < 5 * error
    assert abs(late - 0.25) < 5 * error


def test_optimism_never_wanders():
    assert (monmdp.train(monmdp.make("Loop"), "Optimism", 2, steps=500).explored == 0).all()


def test_defaults_fill_only_what_is_open():
    problem = monmdp.make("RiverSwim", "Experts")
    agent = paper_job(problem, "Naive(alpha=0.3)").agent
    assert (agent.alpha, agent.initial_q) == (0.3, 50)
    assert paper_job(problem, "Naive").agent.alpha == (0.5, 0.05)


def test_lines_are_recognised_in_a_memory():
    """A GPU gets a table in place of each line; every other field is copied as it is."""
    job = paper_job(monmdp.make("Loop", "Full"), "Naive", 500)
    memory = job.agent.memory(job.world, 500, 0)
    lines = [name for name, value in memory._asdict().items() if is_line(value, 500)]
    assert "epsilon" in lines
    assert "q" not in lines
    assert not is_line(0.5, 500)
