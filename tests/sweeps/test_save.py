"""`monmdp.save`: runs of `train` and `record` in a results folder, where every reader finds them."""

from __future__ import annotations

import numpy as np
import pytest
from sweeping import assert_same, finished

import monmdp
from monmdp.figures.curves import mean_curve
from monmdp.report import page_data
from monmdp.study import results as study
from monmdp.study import store
from monmdp.study.results import Results
from monmdp.training.metrics import Metric


class NumPyQ:
    """Q-learning from observed rewards, ε-greedy, in plain NumPy."""

    def __init__(self, problem: monmdp.MonMDP, seed: int, epsilon: float = 0.2) -> None:
        self.q = np.zeros((problem.n_states, problem.n_actions))
        self.rng, self.epsilon, self.discount = np.random.default_rng(seed), epsilon, problem.discount

    def act(self, state: int) -> tuple[int, bool]:
        if self.rng.random() < self.epsilon:
            return int(self.rng.integers(self.q.shape[1])), True
        return int(self.q[state].argmax()), False

    def update(self, transition) -> None:
        reward = transition.monitor_reward
        if not np.isnan(transition.proxy_reward):
            reward += transition.proxy_reward
        value = 0.0 if transition.terminated else self.discount * self.q[transition.next_state].max()
        self.q[transition.state, transition.action] += 0.5 * (
            reward + value - self.q[transition.state, transition.action]
        )


@pytest.fixture(scope="module")
def recorded():
    return monmdp.record(monmdp.make("Loop", "Ask"), NumPyQ, steps=400, seeds=3, points=10)


def test_recorded_runs_are_read_like_any_others(recorded, tmp_path):
    trained = monmdp.train(monmdp.make("Loop", "Ask"), "Naive", 3, steps=400, points=10)
    for curves in (recorded, trained):
        monmdp.save(curves, tmp_path)
    rows = monmdp.load(tmp_path).to_pandas()
    mine = rows[rows["agent"] == "NumPyQ"].sort_values(["seed", "step"])
    assert np.array_equal(mine["return"], recorded.returns.ravel())
    assert np.array_equal(mine["visited"], recorded.visited.ravel())
    results = Results(tmp_path)
    assert results.agents == ["Naive", "NumPyQ"]
    cell = results.cell("Loop", "Ask", "NumPyQ")
    assert cell.seeds == [0, 1, 2]
    assert np.array_equal(cell.final_table("q", 1), recorded.q[1], equal_nan=True)
    assert len(monmdp.mean_curves(tmp_path)) == 2
    assert np.array_equal(mean_curve(cell, "return").mean, recorded.returns.mean(0))
    assert "NumPyQ" in str(page_data(results, (), None))


def test_saving_equals_a_sweep(tmp_path):
    monmdp.save(monmdp.train(monmdp.make("Loop", "Ask"), "Naive", 3, steps=400, points=10), tmp_path / "saved")
    sweep = monmdp.Sweep(["Loop"], ["Ask"], ["Naive"], 3, steps=400, points=10)
    assert monmdp.run_sweep(sweep, tmp_path / "saved").skipped == 3
    monmdp.run_sweep(sweep, tmp_path / "swept")
    assert_same(tmp_path / "saved", tmp_path / "swept")


def test_the_same_runs_are_replaced(recorded, tmp_path):
    """A learner that was changed and recorded again keeps its name."""
    monmdp.save(recorded, tmp_path)
    problem = recorded.problem
    changed = monmdp.record(
        problem, lambda problem, seed: NumPyQ(problem, seed, 0.9), steps=400, seeds=4, points=10, name="NumPyQ"
    )
    changed.settings.update(recorded.settings)
    monmdp.save(changed, tmp_path)
    (cell,) = Results(tmp_path).cells.values()
    assert np.array_equal(cell.curve("return"), changed.returns)
    assert len(finished(tmp_path)) == 1
    with pytest.raises(monmdp.MonMDPError, match="save all seeds together"):
        monmdp.save(recorded, tmp_path)


def test_a_folder_that_cannot_be_written(recorded, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(monmdp.MonMDPError, match="cannot be written"):
        monmdp.save(recorded, tmp_path / "file")


def test_files_without_a_newer_metric(recorded, tmp_path, monkeypatch):
    """Their values are null, in a mix with newer files as well."""
    monmdp.save(recorded, tmp_path)
    fresh = Metric("regret", "regret", np.float64, "regret", "A metric of a later version.")
    for module in (store, study):
        if hasattr(module, "METRICS"):
            monkeypatch.setattr(module, "METRICS", (*store.METRICS, fresh))
    assert monmdp.load(tmp_path).column("regret").null_count == 3 * 11
    assert np.isnan(Results(tmp_path).cell("Loop", "Ask", "NumPyQ").curve("regret")).all()
    assert monmdp.load(tmp_path, columns=["regret"]).column("regret").null_count == 3 * 11
    newer = monmdp.train(recorded.problem, "Naive", 2, steps=400, points=10)
    newer.recorded["regret"] = np.ones((2, 11))
    monmdp.save(newer, tmp_path)
    regret = monmdp.load(tmp_path).column("regret")
    assert (regret.null_count, sum(regret.drop_null().to_pylist())) == (33, 22)
