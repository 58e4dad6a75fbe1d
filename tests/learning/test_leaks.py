"""Rewards that are never shown change what an agent earns, and nothing of what it does, knows or believes."""

from __future__ import annotations

import dataclasses

import gymnasium
import numpy as np
import pytest
from comparing import DISCREET, KNOWN, TABLES, same

import monmdp

STEPS = 1500
#: Everybody but the one agent that is given the truth, and once more with the monitor known.
agents = pytest.mark.parametrize("agent", [*DISCREET, "MonitoredMBIE(known_monitor=True)"])
enumerated = pytest.mark.parametrize("agent", DISCREET)

MONITORS = [
    "Ask(never_observable='column')",
    "Experts(never_observable='column')",
    "FullRandom(rho=0.7, never_observable=['column', ((2, 3), 'STAY')])",
]


def with_rewards(problem: monmdp.MonMDP, reward: np.ndarray) -> monmdp.MonMDP:
    """The same problem, monitor and all, with other environment rewards."""
    return dataclasses.replace(problem, environment=dataclasses.replace(problem.environment, reward=reward))


def assert_nothing_leaks(problem: monmdp.MonMDP, other: monmdp.MonMDP, agent: str) -> None:
    one = monmdp.train(problem, agent, 2, steps=STEPS, points=30)
    two = monmdp.train(other, agent, 2, steps=STEPS, points=30)
    for name in (*KNOWN, *TABLES):
        assert same(getattr(one, name), getattr(two, name)), name
    assert (one.returns != two.returns).any(), "the hidden rewards should matter to what is earned"
    hidden = problem.expected(problem.reward) != other.expected(other.reward)
    collected = bool((one.visit_counts.reshape(2, -1)[:, hidden] > 0).any())
    assert (one.collected != two.collected).any() == collected, "and to what is collected meanwhile"


@agents
@pytest.mark.parametrize("monitor", MONITORS)
def test_rewards_that_are_never_observable(agent, monitor):
    problem = monmdp.make("Bottleneck", monitor)
    table = problem.environment
    shown = np.zeros(len(table.reward), bool)
    shown[problem.monitor.env_outcome[problem.monitor.observe_probability > 0]] = True
    assert 0 < (~shown).sum() < len(shown)
    assert_nothing_leaks(problem, with_rewards(problem, np.where(shown, table.reward, 7 - 3 * table.reward)), agent)


@agents
def test_nothing_is_shown_at_all(agent):
    """Without any observation even the size of the reward noise is a secret."""
    problem = monmdp.make("Hazard(reward_noise=1)", "Level(observability=0)")
    environment = dataclasses.replace(
        problem.environment, reward=5 - problem.environment.reward, reward_noise=3 * problem.environment.reward_noise
    )
    assert_nothing_leaks(problem, dataclasses.replace(problem, environment=environment), agent)


@agents
def test_shown_rewards_do_change_what_an_agent_believes(agent):
    """The control: the same change to rewards that are shown is noticed."""
    problem = monmdp.make("Bottleneck", "FullRandom(rho=0.7)")
    other = with_rewards(problem, 7 - 3 * problem.environment.reward)
    one, two = (monmdp.train(given, agent, 1, steps=STEPS, points=5) for given in (problem, other))
    assert not same(one.reward_model, two.reward_model)
    assert not same(one.q, two.q)


HIDDEN = [0, 1, 2, 5, 6]


class Scaled(gymnasium.Wrapper):
    """Pays something else in some states of a frozen lake, the first among them."""

    def __init__(self, factor: float) -> None:
        super().__init__(gymnasium.make("FrozenLake-v1", is_slippery=True))
        self.factor = factor

    def step(self, action):
        before = int(self.unwrapped.s)
        state, reward, *rest = self.env.step(action)
        return state, self.factor if before in HIDDEN else reward, *rest


@enumerated
def test_live_training_keeps_rewards_hidden(agent):
    one, two = (
        monmdp.train_live(
            Scaled(factor),
            f"Ask(never_observable={HIDDEN})",
            agent,
            steps=800,
            points=4,
            reward_range=(-1, 1),
            test_env=Scaled(factor),
        )
        for factor in (-1.0, 10.0)
    )
    for name in ("visit_counts", "q", "reward_model"):
        assert same(getattr(one, name), getattr(two, name)), name
    for name in KNOWN:
        assert same(getattr(one, name), getattr(two, name)), name
    assert (one.returns != two.returns).any()
    assert (one.collected != two.collected).any()
