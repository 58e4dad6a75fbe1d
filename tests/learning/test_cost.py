"""What a run paid to the monitor and collected while learning: sums worked out by hand, and their other sources."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from comparing import KNOWN

import monmdp
from monmdp import Rule, Step
from monmdp.exact.solve import policy_gain
from monmdp.training.metrics import METRICS


def ring(step_limit: int | None = None) -> Rule:
    """From a to b for 2, and back for -0.5."""
    rewards = {"a": ("b", 2.0), "b": ("a", -0.5)}
    return Rule(
        states=("a", "b"), actions=("go",), rule=lambda state, _: [Step(*rewards[state])], step_limit=step_limit
    )


class Scripted:
    """Asks in the steps 0, 1 and 3, and remembers what it was shown."""

    shown: ClassVar[list[float]] = []

    def __init__(self, problem: monmdp.MonMDP, seed: int) -> None:
        self.problem, self.step = problem, 0
        self.q = np.zeros((problem.n_states, problem.n_actions))
        Scripted.shown = []

    def act(self, state: int) -> int:
        return self.problem.monitor.actions.index("ask" if self.step in (0, 1, 3) else "no-op")

    def update(self, transition) -> None:
        self.step += 1
        Scripted.shown.append(transition.proxy_reward)
        assert not {*transition._fields} & {metric.attribute for metric in METRICS}


def asking(**options) -> monmdp.MonMDP:
    return monmdp.make(ring(**options), "Ask(cost=0.25)")


def test_both_sums_by_hand():
    """Rewards 2, -0.5, 2, -0.5, 2, of which the first, second and fourth are bought for 0.25 each."""
    problem = asking()
    assert "ask" in problem.monitor.actions
    curves = monmdp.record(problem, Scripted, steps=5, points=5)
    assert curves.paid.tolist() == [[0.0, 0.25, 0.5, 0.5, 0.75, 0.75]]
    assert curves.collected.tolist() == [[0.0, 1.75, 1.0, 3.0, 2.25, 4.25]]
    assert curves.observed.tolist() == [[0, 1, 2, 2, 3, 3]]
    np.testing.assert_array_equal(Scripted.shown, [2.0, -0.5, np.nan, -0.5, np.nan])
    assert not np.signbit(curves.paid).any()


@pytest.mark.parametrize("agent", ["Naive", "Directed", "DirectedModel"])
@pytest.mark.parametrize("monitor", ["Ask", "Button", "Full"])
def test_sums_follow_from_the_visits(agent, monitor):
    """In a deterministic problem: visits of every pair times its reward, observed or not."""
    problem = monmdp.make("Hazard", monitor)
    curves = monmdp.train(problem, agent, 3, steps=1500, points=6)
    visits = curves.visit_counts.reshape(3, -1)
    for column, reward in (("collected", problem.reward), ("paid", -problem.monitor.reward)):
        np.testing.assert_allclose(curves.curve(column)[:, -1], visits @ problem.expected(reward), atol=1e-9)
    if monitor == "Ask":
        np.testing.assert_allclose(curves.paid, 0.2 * curves.observed)


def test_collected_includes_hidden_noise():
    """Nothing is ever shown; what is collected still has the noise of every reward."""
    plain, noisy = (
        monmdp.train(monmdp.make(f"Loop(reward_noise={noise})", "Level(observability=0)"), "Naive", 1, steps=400)
        for noise in (0, 1)
    )
    difference = np.diff((noisy.collected - plain.collected)[0])
    assert plain.observed.max() == noisy.observed.max() == 0
    assert all((plain.recorded[name] == noisy.recorded[name]).all() for name in KNOWN if name != "beta")
    assert 0.8 < difference.std() < 1.2
    assert np.unique(difference).size == 400


def test_until_solved():
    curves = monmdp.train(monmdp.make("Loop", "Ask"), "DirectedModel", 3, steps=600, points=60)
    for i, step in enumerate(curves.steps_until_solved):
        at = curves.steps.tolist().index(step)
        assert curves.observed_until_solved[i] == curves.observed[i, at]
        assert curves.paid_until_solved[i] == curves.paid[i, at]
    never = monmdp.train(monmdp.make("Loop", "Ask"), "Naive", 1, steps=20, points=2)
    assert never.observed_until_solved == never.paid_until_solved == np.inf


@pytest.mark.parametrize(("limit", "gain", "within"), [(3, 3.5 / 3, 1e-12), (2, 0.75, 1e-12), (None, 0.75, 1e-3)])
def test_the_reward_per_step_of_a_policy(limit, gain, within):
    """Episodes of three steps collect 2 - 0.5 + 2, those of two 2 - 0.5; without an end it is the mean of the ring."""
    problem = monmdp.make(ring(limit))
    assert policy_gain(problem, np.ones((problem.n_states, 1))) == pytest.approx(gain, abs=within)


def test_files_of_earlier_versions(tmp_path):
    """Curves that were saved without the new metrics have NaN there."""
    monmdp.train(monmdp.make("Loop"), "Naive", 2, steps=20, points=2).save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        np.savez(tmp_path / "old.npz", **{name: file[name] for name in file if name not in ("paid", "collected")})
    old = monmdp.Curves.load(tmp_path / "old.npz")
    assert np.isnan(old.paid).all()
    assert old.paid.shape == old.returns.shape
    assert old.summary()["collected"] is None
    assert not np.isnan(monmdp.Curves.load(tmp_path / "new.npz").collected).any()
