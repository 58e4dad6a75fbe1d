"""Learners in plain Python: `monmdp.record` runs, evaluates and stores them like compiled agents."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from comparing import CURVES, run, same
from reference.agents import plain_agent

import monmdp
from monmdp import MonMDPError
from monmdp.protocol import paper_job


def referee(agent: str, steps: int):
    """A reference implementation in the form that `record` calls, with the compiled agent's random draws."""

    class Adapter:
        def __init__(self, problem: monmdp.MonMDP, seed: int) -> None:
            self.inner, self.step = plain_agent(paper_job(problem, agent, steps).agent, problem, steps, seed), 0

        def begin(self, state):
            self.inner.begin(state, self.step)

        def act(self, state):
            return self.inner.act(state, self.step)

        def update(self, transition):
            self.inner.visits[transition.state, transition.action] += 1
            t = transition
            self.inner.update(
                t.state, t.action, t.env_pair, t.next_state, t.terminated, t.proxy_reward, t.monitor_reward, t.step
            )
            self.step += 1

        def q(self):
            self.inner.plan(self.step)
            return self.inner.q

        def beta(self):
            return self.inner.beta(self.step)

    return Adapter


@pytest.mark.parametrize("agent", ["Directed", "Naive", "MonitoredMBIE"])
@pytest.mark.parametrize("names", [("Hazard", "Button"), ("RiverSwim", "Ask(observability=0.5)")])
def test_a_python_learner_equals_the_compiled_agent(agent, names):
    """Same seed, same draws, same algorithm: every recorded number is the same; returns up to rounding."""
    problem, steps = monmdp.make(*names), 400
    plain = monmdp.record(problem, referee(agent, steps), steps=steps, seeds=[3, 5], points=8)
    compiled = monmdp.train(problem, agent, [3, 5], steps=steps, points=8)
    for seed in (3, 5):
        one, other = run(plain, seed), run(compiled, seed)
        for name in (*CURVES[1:], "visit_counts"):
            assert same(one[name], other[name]), name
        assert one["returns"] == pytest.approx(other["returns"], abs=1e-12)
        assert same(one["q"], other["q"])
    assert (plain.optimal_return, plain.target_return) == (compiled.optimal_return, compiled.target_return)


class Fixed:
    """Always takes action 0 and states the uniform policy."""

    def __init__(self, problem: monmdp.MonMDP, seed: int) -> None:
        self.policy = np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)
        self.seen: list[float] = []

    def act(self, state: int) -> int:
        return 0

    def update(self, transition) -> None:
        self.seen.append(transition.proxy_reward)


def test_a_stated_policy_is_evaluated_exactly():
    problem = monmdp.make("Hazard", "Ask")
    curves = monmdp.record(problem, Fixed, steps=20, seeds=2, points=2, name="Uniform")
    uniform = np.full((problem.n_states, problem.n_actions), 1 / problem.n_actions)
    assert curves.returns == pytest.approx(monmdp.policy_return(problem, uniform), abs=1e-12)
    assert curves.agent == "Uniform"
    assert curves.summary()["seeds"] == 2
    assert curves.explored.max() == 0
    assert np.isnan(curves.beta).all()
    assert (curves.visit_counts.sum((1, 2)) == 20).all()


def test_hidden_rewards_are_not_passed_on():
    """Action 0 never asks, so a learner sees NaN only."""
    learners = []

    def make(problem, seed):
        learners.append(Fixed(problem, seed))
        return learners[-1]

    curves = monmdp.record(monmdp.make("Hazard", "Ask"), make, steps=50)
    assert np.isnan(learners[0].seen).all()
    assert curves.observed[0, -1] == 0


def test_progress_is_reported_per_point():
    calls = Counter()
    monmdp.record(
        monmdp.make("Loop"), Fixed, steps=10, seeds=[1, 4], points=5, progress=lambda seed, step: calls.update([seed])
    )
    assert calls == {1: 6, 4: 6}


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (object(), "class or function"),
        (lambda problem, seed: type("NoQ", (), {"act": lambda s, x: 0, "update": lambda s, t: None})(), "q or policy"),
        (
            lambda problem, seed: type("Far", (Fixed,), {"act": lambda s, x: 99})(problem, seed),
            "joint action from 0 to 4",
        ),
    ],
)
def test_a_learner_that_cannot_be_recorded_is_explained(learner, message):
    with pytest.raises(MonMDPError, match=message):
        monmdp.record(monmdp.make("Loop"), learner, steps=5)
