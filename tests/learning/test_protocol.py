"""The paper's protocol, copied by hand from its tables."""

from __future__ import annotations

import numpy as np
import pytest

import monmdp
from monmdp import MonMDPError
from monmdp.agents.base import AGENTS
from monmdp.exact.structure import visible_bounds
from monmdp.protocol import PAPER_AGENTS, paper_job, paper_steps

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
        rate = paper_job(problem, agent).agent.alpha
        assert np.broadcast_to(rate, 2).tolist() == np.broadcast_to(alpha, 2).tolist()


def test_all_48_problems_have_a_budget():
    """The sum over the table: 95,000 default steps, times 1 + 1 + 3 + 2 + 10 + 20."""
    assert sum(paper_steps(monmdp.make(*names)) for names in PAPER) == 95_000 * 37


def test_battery_has_a_budget_too():
    assert paper_steps(monmdp.make("Hazard", "Battery")) == 100_000


@pytest.mark.parametrize("names", [("Empty", "Full"), ("Hazard", "Level"), ("RiverSwim", "Ask")])
@pytest.mark.parametrize("agent", PAPER_AGENTS)
def test_initial_values(names, agent):
    optimistic = 50.0 if names[0] == "RiverSwim" else 1.0
    expected = -10.0 if agent == "Directed" else optimistic
    assert paper_job(monmdp.make(*names), agent).agent.initial_q == expected


@pytest.mark.parametrize("agent", PAPER_AGENTS)
def test_training_takes_the_protocol(agent):
    """Without options: the paper's budget, 1,000 points and the end, and the initial Q of the table."""
    curves = monmdp.train(monmdp.make("Loop", "Ask"), agent, [1])
    assert curves.steps.tolist() == [*range(0, 15_000, 15), 15_000]
    one = monmdp.train(monmdp.make("RiverSwim", "Ask"), agent, [1], steps=1)
    assert np.median(one.q) == (-10 if agent == "Directed" else 50)


@pytest.mark.parametrize("agent", ["Oracle", "ZeroReward", "Ignore", "RewardModel", "Joint", "Sequential"])
def test_older_baselines_have_their_own_defaults(agent):
    for names in [("Empty", "Full"), ("Hazard", "Level"), ("RiverSwim", "Experts")]:
        problem = monmdp.make(*names)
        options = paper_job(problem, agent).agent
        assert (options.alpha, options.epsilon, options.initial_q) == (1.0, (1.0, 0.0), -10.0)
    untouched = monmdp.train(monmdp.make("RiverSwim", "Ask"), agent, [1], steps=1).q
    assert np.median(untouched) in (-10, -20, -21)  # two tables add up, and actions that are not chosen are one less


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
def test_bounds_of_model_based_agents(names, minimum, largest):
    problem = monmdp.make(*names)
    options = paper_job(problem, "MonitoredMBIE", 10).agent
    assert (options.minimum_reward, options.q_max) == (minimum, largest)
    own = paper_job(problem, "MonitoredMBIE(q_max=2.0, minimum_reward=-1.0)", 10).agent
    assert (own.minimum_reward, own.q_max) == (-1.0, 2.0)


#: Step limit, discount 0.99, one state that pays 3 per step and can be left for 5 by ending the episode.
PAYING = monmdp.Rule(
    states=("only",),
    actions=("stay", "end", "pay"),
    rule=lambda state, action: [
        monmdp.Step("only", {"stay": 3.0, "end": 5.0, "pay": -7.0}[action], terminated=action == "end")
    ],
    step_limit=10,
)


def test_bounds_of_other_problems_follow_from_visible_rewards():
    """By hand: stay nine times and end, or stay ten times; ending at once earns less."""
    nine, ten = (sum(3 * 0.99**t for t in range(n)) for n in (9, 10))
    bounds = visible_bounds(monmdp.make(PAYING))
    assert bounds.minimum_reward == -7.0
    assert bounds.maximum_value == pytest.approx(max(nine + 5 * 0.99**9, ten))
    for agent, option in (("Optimism", "initial_q"), ("UCB", "initial_q"), ("MonitoredMBIE", "q_max")):
        assert getattr(paper_job(monmdp.make(PAYING), agent, 10).agent, option) == bounds.maximum_value


def test_hidden_rewards_do_not_change_the_bounds():
    full = visible_bounds(monmdp.make(PAYING, "Full(never_observable=[('only', 'pay')])"))
    assert full.minimum_reward == 3.0
    without_end = visible_bounds(monmdp.make(PAYING, "Full(never_observable=[('only', 'end')])"))
    assert without_end.maximum_value == pytest.approx(sum(3 * 0.99**t for t in range(10)))


def test_no_return_exceeds_the_bound():
    for environment in monmdp.ENVIRONMENTS:
        for monitor in ("Full", "Ask", "Experts"):
            problem = monmdp.make(environment, monitor)
            assert monmdp.solve(problem).optimal_return <= visible_bounds(problem).maximum_value + 1e-9


def test_class_defaults_are_inherited():
    class Mine(type(AGENTS.build("Directed"))):
        """A subclass without options of its own."""

    problem = monmdp.make("Empty", "Ask")
    assert paper_job(problem, Mine()).agent.initial_q == -10.0
    assert paper_job(problem, Mine()).agent.alpha == 1.0
    assert paper_job(problem, Mine(initial_q=2.0)).agent.initial_q == 2.0


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
def test_other_problems_need_a_number_of_steps(environment, monitor):
    problem = monmdp.make(environment, monitor)
    with pytest.raises(MonMDPError, match="is not one of the paper's problems; specify the number of training steps"):
        monmdp.train(problem, "Naive", 1)
    assert monmdp.train(problem, "Naive", 1, steps=20).steps[-1] == 20


def test_an_option_equal_to_its_default_is_still_the_papers_problem():
    assert paper_steps(monmdp.make("Empty(rows=6)", "Ask(cost=0.2)")) == 15_000


@pytest.mark.parametrize("steps", [1, 7, 999, 1000, 1001, 2500])
def test_recording_points_are_even(steps):
    """0, T/1000, … and the end; at most one per step."""
    points = monmdp.train(monmdp.make("Loop"), "Naive", 1, steps=steps).steps
    assert points[0] == 0
    assert points[-1] == steps
    assert len(points) == min(steps, 1000) + 1
    gaps = np.diff(points)
    assert gaps.min() >= 1
    assert gaps.max() - gaps.min() <= 1


def test_a_replaced_kernel_ends_an_inherited_device_kernel():
    """A GPU would otherwise run the kernels of the parent class."""
    directed = monmdp.AGENTS.find("Directed")

    class Same(directed):
        """Inherits all kernels."""

    class Changed(directed):
        """Chooses in another way."""

        act = monmdp.AGENTS.find("Naive").act

    class Declared(Changed):
        """Declares that its kernels compile for a GPU."""

        update = monmdp.AGENTS.find("Naive").update
        device_kernel = "warp"

    assert (Same.device_kernel, Changed.device_kernel, Declared.device_kernel) == ("block", None, "warp")
