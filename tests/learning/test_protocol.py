"""The paper's protocol, copied by hand from its tables."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import MonMDPError
from monmdp.paper.protocol import agent_defaults, paper_steps
from monmdp.study.sweep import PAPER_AGENTS

FALLS = (1.0, 0.1)

#: Environment, monitor → training steps, learning rate.
CELLS = [
    ("Empty", "Full", 5_000, 1.0),
    ("Empty", "Random", 5_000, 1.0),
    ("Empty", "Ask", 15_000, 1.0),
    ("Empty", "Button", 10_000, 1.0),
    ("Empty", "Experts", 50_000, FALLS),
    ("Empty", "Level", 100_000, 1.0),
    ("Loop", "Button", 10_000, 1.0),
    ("Hazard", "Full", 10_000, 0.5),
    ("Hazard", "Ask", 30_000, 0.5),
    ("Hazard", "Experts", 100_000, (0.5, 0.1)),
    ("Hazard", "Level", 200_000, 0.5),
    ("OneWay", "Ask", 30_000, 1.0),
    ("OneWay", "Experts", 100_000, FALLS),
    ("Corridor", "Full", 30_000, 1.0),
    ("Corridor", "Level", 600_000, 1.0),
    ("TwoRoom2x11", "Random", 5_000, 1.0),
    ("TwoRoom2x11", "Experts", 50_000, FALLS),
    ("TwoRoom3x5", "Button", 20_000, 0.5),
    ("TwoRoom3x5", "Experts", 100_000, (0.5, 0.1)),
    ("RiverSwim", "Full", 20_000, (0.5, 0.05)),
    ("RiverSwim", "Button", 40_000, (0.5, 0.05)),
    ("RiverSwim", "Experts", 200_000, (0.5, 0.05)),
    ("RiverSwim", "Level", 400_000, (0.5, 0.05)),
]

PAPER = [
    (environment, monitor)
    for environment in ["Empty", "Loop", "Hazard", "OneWay", "Corridor", "TwoRoom2x11", "TwoRoom3x5", "RiverSwim"]
    for monitor in ["Full", "Random", "Ask", "Button", "Experts", "Level"]
]


@pytest.mark.parametrize(("environment", "monitor", "steps", "alpha"), CELLS)
def test_budget_and_learning_rate(environment, monitor, steps, alpha):
    problem = monmdp.make(environment, monitor)
    assert paper_steps(problem) == steps
    for agent in PAPER_AGENTS:
        found = agent_defaults(problem, agent)["alpha"]
        assert np.broadcast_to(found, 2).tolist() == np.broadcast_to(alpha, 2).tolist()


def test_every_one_of_the_48_has_a_budget():
    """The sum over the table: 95,000 default steps, times 1 + 1 + 3 + 2 + 10 + 20."""
    assert sum(paper_steps(monmdp.make(*names)) for names in PAPER) == 95_000 * 37


def test_battery_has_a_budget_too():
    assert paper_steps(monmdp.make("Hazard", "Battery")) == 100_000


@pytest.mark.parametrize("names", [("Empty", "Full"), ("Hazard", "Level"), ("RiverSwim", "Ask")])
@pytest.mark.parametrize("agent", PAPER_AGENTS)
def test_initial_values(names, agent):
    optimistic = 50.0 if names[0] == "RiverSwim" else 1.0
    expected = -10.0 if agent == "Directed" else optimistic
    assert agent_defaults(monmdp.make(*names), agent)["initial_q"] == expected


@pytest.mark.parametrize("agent", PAPER_AGENTS)
def test_training_takes_the_protocol(agent):
    """Without a word about steps: the paper's budget, 1,000 points and the end; Q starts where the table says."""
    curves = monmdp.train(monmdp.make("Loop", "Ask"), agent, [1])
    assert curves.steps.tolist() == [*range(0, 15_000, 15), 15_000]
    one = monmdp.train(monmdp.make("RiverSwim", "Ask"), agent, [1], steps=1)
    assert np.median(one.q) == (-10 if agent == "Directed" else 50)


@pytest.mark.parametrize("agent", ["Oracle", "ZeroReward", "Ignore", "RewardModel", "Joint", "Sequential"])
def test_the_older_baselines_learn_with_one_from_minus_ten_everywhere(agent):
    for names in [("Empty", "Full"), ("Hazard", "Level"), ("RiverSwim", "Experts")]:
        problem = monmdp.make(*names)
        found = monmdp.AGENTS.build(agent).resolved(agent_defaults(problem, agent))
        assert (found.alpha, found.epsilon, found.initial_q) == (1.0, (1.0, 0.0), -10.0)
    untouched = monmdp.train(monmdp.make("RiverSwim", "Ask"), agent, [1], steps=1).q
    assert np.median(untouched) in (-10, -20, -21)  # two tables add up, and what is not chosen is one less


@pytest.mark.parametrize(
    ("names", "minimum", "largest"),
    [
        (("Empty", "Ask"), 0.0, 1.0),
        (("Hazard", "Button"), -10.0, 1.0),
        (("Bottleneck", "Full"), -10.0, 1.0),
        (("OneWay", "Level"), -0.1, 1.0),
        (("RiverSwim", "Full"), 0.0, 30.0),
        (("Hazard(random_action=0.1)", "Ask(cost=1.0)"), -10.0, 1.0),
    ],
)
def test_what_model_based_agents_are_told(names, minimum, largest):
    defaults = agent_defaults(monmdp.make(*names), "MonitoredMBIE")
    found = monmdp.AGENTS.build("MonitoredMBIE").resolved(defaults)
    assert (found.minimum_reward, found.q_max) == (minimum, largest)
    kept = monmdp.AGENTS.build("MonitoredMBIE", q_max=2.0, minimum_reward=-1.0).resolved(defaults)
    assert (kept.minimum_reward, kept.q_max) == (-1.0, 2.0)


@pytest.mark.parametrize(
    ("environment", "monitor"),
    [
        ("Empty", "Ask(cost=0.5)"),
        ("Empty", "Switch"),
        ("Walk", "Full"),
        ("Empty(rows=9, columns=9)", "Full"),
        ("Hazard(reward_noise=0.1)", "Ask"),
        ("Empty", "Ask(observability=0.5)"),
        ("Empty", "Level(n=4)"),
        ("FrozenLake-v1", "Ask"),
    ],
)
def test_other_problems_must_say_how_long(environment, monitor):
    problem = monmdp.make(environment, monitor)
    with pytest.raises(MonMDPError, match="is not one of the paper's problems, so say how many steps to train"):
        monmdp.train(problem, "Naive", 1)
    assert monmdp.train(problem, "Naive", 1, steps=20).steps[-1] == 20


def test_a_default_that_is_spelled_out_is_still_the_papers_problem():
    assert paper_steps(monmdp.make("Empty(rows=6)", "Ask(cost=0.2)")) == 15_000


@pytest.mark.parametrize("steps", [1, 7, 999, 1000, 1001, 2500])
def test_recording_points_are_even(steps):
    """0, T/1000, … and the end; never more than one a step."""
    found = monmdp.train(monmdp.make("Loop"), "Naive", 1, steps=steps).steps
    assert found[0] == 0
    assert found[-1] == steps
    assert len(found) == min(steps, 1000) + 1
    gaps = np.diff(found)
    assert gaps.min() >= 1
    assert gaps.max() - gaps.min() <= 1
