"""Six ways to treat a reward that is not shown, worked out by hand, and what becomes of them."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import TWINS, Driven
from comparing import TABLES, same

import monmdp

twins = pytest.mark.parametrize("how", TWINS)
#: Walk is `c.....C`: the small coin in cell 0, the start in cell 1. Joint actions with Ask are 2 · action + ask.
LEFT, STAY, ASK = 0, 8, 1
ORDINARY = ("Oracle", "ZeroReward", "Ignore", "RewardModel")


def walker(how: str, agent: str, monitor: str = "Ask") -> Driven:
    return Driven(how, monmdp.make("Walk", monitor), agent, initial_q=-10.0)


@twins
def test_ignore_learns_only_from_what_is_shown(how):
    agent = walker(how, "Ignore")
    agent.happened(0, STAY, 0, ended=True)
    agent.happened(1, LEFT, 0)
    assert (agent.q == -10).all()
    agent.happened(0, STAY + ASK, 0, shown=0.1, ended=True, monitor=-0.2)
    assert agent.q[0, STAY + ASK] == pytest.approx(-0.1)
    agent.happened(1, LEFT + ASK, 0, shown=0.0, monitor=-0.2)  # −0.2 + 0.99 · −0.1
    assert agent.q[1, LEFT + ASK] == pytest.approx(-0.299)
    assert (agent.q == -10).sum() == agent.q.size - 2


@twins
def test_zero_reward_takes_a_coin_for_nothing(how):
    agent = walker(how, "ZeroReward")
    agent.happened(0, STAY, 0, ended=True)
    assert agent.q[0, STAY] == 0.0
    agent.happened(0, STAY + ASK, 0, shown=0.1, ended=True, monitor=-0.2)
    assert agent.q[0, STAY + ASK] == pytest.approx(-0.1)
    agent.happened(1, LEFT, 0)  # 0 + 0.99 · 0: the coin that was seen costs more than it pays
    assert agent.q[1, LEFT] == 0.0
    agent.happened(0, STAY, 0, ended=True)  # what was seen is not remembered
    assert agent.q[0, STAY] == 0.0


@twins
def test_a_reward_model_remembers(how):
    agent = walker(how, "RewardModel")
    agent.happened(0, STAY + ASK, 0, shown=0.1, ended=True, monitor=-0.2)
    agent.happened(0, STAY, 0, ended=True)
    assert agent.q[0, STAY] == pytest.approx(0.1)


@pytest.mark.parametrize("agent", ORDINARY)
def test_where_everything_is_shown_they_are_one_agent(agent):
    """The same Q and the same visits, and Loop solved."""
    problem = monmdp.make("Loop", "Full")
    one, other = (monmdp.train(problem, name, 3, points=5) for name in ("Oracle", agent))
    for name in ("visit_counts", "q"):
        assert same(getattr(one, name), getattr(other, name))
    assert other.solved.all()


def test_where_nothing_is_shown_only_the_oracle_learns():
    """Loop in the dark. What counts as observed is what the monitor showed: nothing, for the oracle too."""
    problem = monmdp.make("Loop", "Full(observability=0)")
    solved = {}
    for agent in (*ORDINARY, "Joint", "Sequential"):
        curves = monmdp.train(problem, agent, 5, steps=5000, points=5)
        assert (curves.observed == 0).all()
        solved[agent] = np.mean(curves.final_returns >= curves.optimal_return - 1e-6)
    assert solved.pop("Oracle") == 1.0
    assert set(solved.values()) == {0.0}


def test_the_oracle_never_asks_and_ignore_always_does():
    """Loop + Ask: five steps to the coin. Ignore knows nothing of actions that do not ask, so it pays for each step;
    for ZeroReward the coin pays only if it asks there.
    """
    problem = monmdp.make("Loop", "Ask")
    assert monmdp.train(problem, "Oracle", 5).solved.all()
    asking = monmdp.train(problem, "Ignore", 5)
    paid = 0.99**4 - 0.2 * sum(0.99**t for t in range(5))
    assert asking.final_returns == pytest.approx(np.full(5, paid))
    assert monmdp.train(problem, "ZeroReward", 5).final_returns == pytest.approx(np.full(5, 0.99**4 * 0.8))


def test_the_oracle_is_given_what_is_never_shown():
    """The control of the leak tests: the same change goes unnoticed by everybody else."""
    problem = monmdp.make("Bottleneck", "Ask(never_observable='column')")
    richer = monmdp.make("Bottleneck", "Ask(never_observable='column')")
    richer.environment.reward[richer.environment.reward == -10] = 3.0
    one, other = (monmdp.train(given, "Oracle", 1, steps=1500, points=2) for given in (problem, richer))
    for name in TABLES[1:]:
        assert not same(getattr(one, name), getattr(other, name))


@twins
def test_joint_learns_two_tables(how):
    """QE is one for all monitor states and actions; the sum of both decides."""
    agent = walker(how, "Joint")
    agent.happened(0, STAY + ASK, 0, shown=0.1, ended=True, monitor=-0.2)
    agent.plans()
    assert agent.memory.env_q[0, 4] == pytest.approx(0.1)
    assert agent.q[0, STAY + ASK] == pytest.approx(0.1 - 0.2)
    assert agent.q[0, STAY] == pytest.approx(0.1 - 10)
    agent.happened(0, STAY, 0, ended=True)  # not shown: only QM learns
    agent.happened(1, LEFT, 0)  # QM: 0 + 0.99 · 0; QE stays
    agent.plans()
    assert agent.q[0, STAY] == pytest.approx(0.1)
    assert agent.q[1, LEFT] == pytest.approx(-10 + 0.0)
    assert agent.chooses(0, step=99) == (STAY, False)  # ε has come to its end


@twins
def test_sequential_asks_the_environment_first(how):
    """LEFT is better for the environment, STAY better in sum: the sequential choice is LEFT, the joint one STAY."""
    for name, expected in (("Sequential", LEFT + ASK), ("Joint", STAY)):
        agent = walker(how, name)
        agent.memory.env_q[3, [0, 4]] = [1.0, 0.9]
        agent.memory.monitor_q[3, [LEFT, LEFT + ASK, STAY, STAY + ASK]] = [-5.0, -4.0, -1.0, -2.0]
        agent.plans()
        assert agent.chooses(3, step=99)[0] == expected
        assert agent.q[3].argmax() == expected
    agent = walker(how, "Sequential")
    agent.memory.env_q[3, [0, 4]] = [1.0, 0.9]
    agent.memory.monitor_q[3, [LEFT, LEFT + ASK, STAY, STAY + ASK]] = [-5.0, -4.0, -1.0, -2.0]
    agent.happened(2, LEFT, 3, monitor=-0.5)  # looks ahead along LEFT only: −0.5 + 0.99 · −4
    assert agent.memory.monitor_q[2, LEFT] == pytest.approx(-4.46)


@twins
def test_sequential_ties(how):
    """LEFT and STAY tie; LEFT has one best monitor action, STAY two: three equal choices, in q as in what it does."""
    agent = Driven(how, monmdp.make("Walk", "Ask"), "Sequential", epsilon=0.0, steps=3000)
    agent.memory.env_q[3, [0, 4]] = 2.0
    agent.memory.monitor_q[3, [LEFT, LEFT + ASK, STAY, STAY + ASK]] = [-5.0, -4.0, -6.0, -6.0]
    agent.plans()
    assert np.flatnonzero(agent.q[3] == agent.q[3].max()).tolist() == [LEFT + ASK, STAY, STAY + ASK]
    chosen = np.bincount([agent.chooses(3, step)[0] for step in range(3000)], minlength=10)
    assert set(np.flatnonzero(chosen)) == {LEFT + ASK, STAY, STAY + ASK}
    assert abs(chosen[[LEFT + ASK, STAY, STAY + ASK]] - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)


def test_no_agent_but_the_oracle_is_given_the_truth():
    assert [name for name in monmdp.AGENTS if monmdp.AGENTS.find(name).sees_everything] == ["Oracle"]
