"""Agents that plan on models know what they have experienced, and of the monitor what they are given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from comparing import CURVES, KNOWN, TABLES, same

import monmdp
from monmdp import Rule, Step

KNOWING = ["DirectedModel(known_monitor=True)", "MonitoredMBIE(known_monitor=True)"]
agents = pytest.mark.parametrize("agent", ["DirectedModel", "MonitoredMBIE", *KNOWING])
knowing = pytest.mark.parametrize("agent", KNOWING)


def with_environment(problem: monmdp.MonMDP, **changes: np.ndarray) -> monmdp.MonMDP:
    """The same problem, monitor and all, with another table of the environment."""
    return dataclasses.replace(problem, environment=dataclasses.replace(problem.environment, **changes))


def assert_one_run(one: monmdp.Curves, two: monmdp.Curves) -> None:
    """Everything but what is earned is equal to the last bit; what is earned is not, so there was something to see."""
    for name in (*KNOWN, *TABLES):
        assert same(getattr(one, name), getattr(two, name)), name
    assert one.remarks == two.remarks
    assert not same(one.returns, two.returns), "the change should matter to what is earned"


def hidden_outcomes(problem: monmdp.MonMDP) -> np.ndarray:
    """Environment outcomes that the monitor's table never shows."""
    shown = np.zeros(len(problem.environment.reward), bool)
    shown[problem.monitor.env_outcome[problem.monitor.observe_probability > 0]] = True
    return ~shown


@agents
@pytest.mark.parametrize(
    "names",
    [
        ("Bottleneck", "Ask(never_observable='column')"),
        ("Bottleneck", "PaidExperts(observability=0.5, never_observable='column')"),
        ("Bottleneck", "Button(end_cost=0.0, cell=31, action='DOWN', never_observable='column')"),
        ("Hazard", "Level(never_observable=[(3, 1), (0, 3)])"),
        ("RiverSwim", "Experts(never_observable=[5])"),
    ],
    ids=" + ".join,
)
def test_rewards_that_are_never_shown(agent, names):
    problem = monmdp.make(*names)
    hidden, reward = hidden_outcomes(problem), problem.environment.reward
    assert 0 < hidden.sum() < len(hidden)
    runs = [
        monmdp.train(given, agent, 2, steps=2000, points=20)
        for given in (problem, with_environment(problem, reward=np.where(hidden, 60 - 3 * reward, reward)))
    ]
    assert_one_run(*runs)


def with_minimum_reward(agent: str, reward: float) -> str:
    """The same agent with this value for rewards never observed; MonitoredMBIE also needs its bound on values."""
    options = f"minimum_reward={reward}" + (", q_max=1.0" if "MBIE" in agent else "")
    return f"{agent[:-1]}, {options})" if agent.endswith(")") else f"{agent}({options})"


@agents
def test_rewards_that_could_be_shown_and_were_not(agent):
    """Random luck hides some of the rewards that were paid; those may be anything."""
    agent = with_minimum_reward(agent, -10.5)
    problem = monmdp.make("Bottleneck", "FullRandom(rho=0.02)")
    steps, rare = 120, {"steps": 120, "points": 20}
    first = monmdp.train(problem, agent, [7], **rare)
    unseen = first.reward_model[0] == -10.5  # what stands in for a reward that was never seen
    assert unseen.any()
    assert first.observed[0, -1] < steps / 4
    pairs = np.repeat(np.arange(len(unseen)), np.diff(problem.environment.offsets))
    other = with_environment(
        problem, reward=np.where(unseen[pairs], 5.0 - problem.environment.reward, problem.environment.reward)
    )
    assert_one_run(first, monmdp.train(other, agent, [7], **rare))


@agents
def test_the_size_of_noise_that_is_never_shown(agent):
    """Noise does not change the mean, so not even the return; only what was collected differs."""
    problem = monmdp.make("Bottleneck(reward_noise=0.1)", "Ask(never_observable='column')")
    hidden, noise = hidden_outcomes(problem), problem.environment.reward_noise
    other = with_environment(problem, reward_noise=np.where(hidden, 9.0, noise))
    runs = [monmdp.train(given, agent, 2, steps=1000, points=5) for given in (problem, other)]
    for name in ("returns", *KNOWN, *TABLES):
        assert same(getattr(runs[0], name), getattr(runs[1], name)), name
    assert not same(runs[0].collected, runs[1].collected)


@agents
def test_the_control(agent):
    """The same change to rewards that are shown is noticed."""
    problem = monmdp.make("Bottleneck", "Ask(never_observable='column')")
    hidden, reward = hidden_outcomes(problem), problem.environment.reward
    other = with_environment(problem, reward=np.where(hidden, reward, 60 - 3 * reward))
    one, two = (monmdp.train(given, agent, 1, steps=1000, points=5) for given in (problem, other))
    assert not same(one.reward_model, two.reward_model)
    assert not same(one.q, two.q)


# Parts of the environment that the agent has not entered


def far_side(odds: float, reward: float, back: str) -> Rule:
    """A door that opens once in a billion pushes; what is behind it is another world."""

    def rule(state, action):
        if state == "behind":
            return [Step("behind", reward, probability=odds), Step(back, -reward, probability=1 - odds)]
        if state == "door" and action == "go":
            return [Step("door", probability=1 - 1e-9), Step("behind", reward, probability=1e-9)]
        return [Step("door" if action == "go" else state, 1.0 if state == "door" else 0.0)]

    return Rule(states=("hall", "door", "behind"), actions=("wait", "go"), rule=rule, step_limit=20)


@agents
@pytest.mark.parametrize("monitor", ["Ask", "Level", "Experts"])
def test_a_place_that_was_never_entered(agent, monitor):
    """Other odds and rewards behind the door, and the way back leads elsewhere: the agent was never there to know."""
    agent = with_minimum_reward(agent, -5.0)
    told = [(0.5, 1.0, "hall"), (0.5, 40.0, "hall"), (0.01, -70.0, "hall"), (0.3, 2.0, "door")]
    runs = [monmdp.train(monmdp.make(far_side(*one), monitor), agent, 2, steps=1500, points=15) for one in told]
    for run in runs:
        behind = [run.problem.state_index("behind", label) for label in run.problem.monitor.states]
        assert run.visit_counts[:, behind].sum() == 0
    for other in runs[1:]:
        for name in (*CURVES[1:], *TABLES):
            assert same(getattr(runs[0], name), getattr(other, name)), name


@knowing
@pytest.mark.parametrize("names", [("RiverSwim", "Experts"), ("Hazard(random_action=0.3)", "Button")], ids=" + ".join)
def test_odds_and_rewards_where_a_short_run_never_was(agent, names):
    """All odds and rewards of pairs that were not tried are others; the same outcomes stay possible."""
    problem, steps = monmdp.make(*names), 12
    first = monmdp.train(problem, agent, [3], steps=steps, points=steps)
    tried = np.zeros(len(problem.environment.offsets) - 1, bool)
    tried[problem.env_pair[first.visit_counts[0].ravel() > 0]] = True
    assert 0.1 < tried.mean() < 0.9
    table, random = problem.environment, np.random.default_rng(8)
    pairs = np.repeat(np.arange(len(tried)), np.diff(table.offsets))
    weights = table.probability * random.uniform(0.1, 1.0, len(table.probability))
    weights /= np.bincount(pairs, weights)[pairs]
    other = with_environment(
        problem,
        probability=np.where(tried[pairs], table.probability, weights),
        reward=np.where(tried[pairs], table.reward, random.normal(size=len(pairs))),
    )
    assert not same(problem.probability, other.probability)
    second = monmdp.train(other, agent, [3], steps=steps, points=steps)
    for name in (*CURVES[1:], *TABLES):
        assert same(getattr(first, name), getattr(second, name)), name


@knowing
def test_the_control_of_odds(agent):
    """Other odds where the agent has been do change the run."""
    problem = monmdp.make("RiverSwim", "Experts")
    table, random = problem.environment, np.random.default_rng(8)
    pairs = np.repeat(np.arange(len(table.offsets) - 1), np.diff(table.offsets))
    weights = table.probability * random.uniform(0.1, 1.0, len(pairs))
    other = with_environment(problem, probability=weights / np.bincount(pairs, weights)[pairs])
    one, two = (monmdp.train(given, agent, [3], steps=1000, points=5) for given in (problem, other))
    assert not same(one.q, two.q)
    assert not same(one.visit_counts, two.visit_counts)


@knowing
@pytest.mark.parametrize("cost", [0.2, 5.0])
def test_the_given_monitor_is_used(agent, cost):
    """Where a move was made and never asked about, asking is known to be the same, less what it costs."""
    problem = monmdp.make("Loop", f"Ask(cost={cost})")
    run = monmdp.train(problem, agent, [3], steps=55, points=1)  # one episode and a bit
    split = (problem.n_states, -1, len(problem.monitor.actions))
    paid = [-cost if label == "ask" else 0.0 for label in problem.monitor.actions]
    visits, q = run.visit_counts[0].reshape(split), run.q[0].reshape(split)
    tried_one_way = (visits > 0).sum(2) == 1
    assert tried_one_way.sum() > 5
    gaps = (q - paid - (q - paid)[:, :, :1])[tried_one_way]
    assert np.isclose(gaps, 0.0).all(1).sum() > 5


@pytest.mark.parametrize("agent", ["DirectedModel(pool_monitor=False)", "MonitoredMBIE"])
def test_what_is_not_given_is_not_known(agent):
    """The control: without it, a pair that was never tried is worth what is feared, or hoped."""
    problem = monmdp.make("Loop", "Ask")
    run = monmdp.train(problem, agent, [3], steps=55, points=1)
    untried = run.visit_counts[0] == 0
    assert untried.sum() > 5
    assert len(np.unique(run.q[0][untried])) == 1


@agents
@pytest.mark.parametrize("monitor", ["Ask", "Button", "Level(n=2)"])
def test_whether_two_rewards_that_are_never_shown_are_equal(agent, monitor):
    """Two outcomes of a pair lead to the same state. If their rewards are equal, the table merges them."""

    def problem(second: float) -> monmdp.MonMDP:
        def rule(state, action):
            if action == "go":
                yield Step((state + 1) % 4, 0.5 if state == 1 else 0.0, 0.3)
                yield Step((state + 1) % 4, second if state == 1 else 0.0, 0.4)
                yield Step(0, 0.0, 0.3)
            else:
                yield Step(state, float(state == 3), 1.0, state == 3)

        rules = Rule(states=range(4), actions=("go", "stay"), rule=rule, start=0, step_limit=20)
        return monmdp.make(rules, monmdp.MONITORS.build(monitor, never_observable=[(1, "go")]))

    equal, different = problem(0.5), problem(-0.7)
    assert equal.n_outcomes < different.n_outcomes
    bounds = {"minimum_reward": -1.0} | ({"q_max": 5.0} if "MBIE" in agent else {})
    given = dataclasses.replace(monmdp.AGENTS.build(agent), **bounds)
    assert_one_run(*(monmdp.train(made, given, 8, steps=400, points=20) for made in (equal, different)))
