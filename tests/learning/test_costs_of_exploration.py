"""DirectedModel pays for what it learns and for nothing else, and learns rewards by outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from by_hand import TWINS
from comparing import KNOWN, TABLES, same
from directed_models import DrivenModel

import monmdp
from monmdp import Monitor, Outcome, Rule, Step
from monmdp.protocol import paper_steps


def solved_from(curves: monmdp.Curves) -> np.ndarray:
    """The first recording point from which on each seed is solved."""
    solved = np.abs(curves.returns - curves.target_return) < 1e-6
    assert solved[:, -1].all()
    return solved.shape[1] - np.argmin(solved[:, ::-1], axis=1)


@pytest.mark.parametrize("environment", ["Loop", "OneWay", "Corridor", "Empty", "TwoRoom2x11"])
def test_one_answer_for_each_reward(environment):
    """In the median seed, answers until solved are at most 1.1 of the rewards, and later one step in 100 pays, apart
    from one answer for each reward."""
    problem = monmdp.make(environment, "Ask")
    curves = monmdp.train(problem, "DirectedModel", 5, steps=paper_steps(problem) // 10, points=300)
    n_rewards = len(np.unique(problem.env_pair[problem.reachable_pairs]))
    first, seeds = solved_from(curves), np.arange(5)
    answers = curves.observed[seeds, first]
    again = curves.observed[:, -1] - np.maximum(answers, n_rewards)
    assert np.median(answers) <= 1.1 * n_rewards
    assert np.median(again / (curves.steps[-1] - curves.steps[first])) <= 0.01
    assert np.abs(curves.paid[:, -1]) == pytest.approx(0.2 * curves.observed[:, -1])


@pytest.mark.parametrize("names", [("Loop", "Ask"), ("Hazard", "Button"), ("OneWay", "Experts"), ("Loop", "Level")])
def test_costs_are_a_fraction_of_those_of_an_agent_that_ignores_them(names):
    problem = monmdp.make(*names)
    frugal, careless = (
        monmdp.train(problem, f"DirectedModel(cost_weight={weight})", 5, steps=paper_steps(problem) // 10, points=1)
        for weight in (1.0, 0.0)
    )
    assert frugal.solved.all()
    few, many = (np.median(np.abs(curves.paid[:, -1])) for curves in (frugal, careless))
    assert few < 0.25 * many


@pytest.mark.parametrize("answers", [5, 30])
def test_answers_are_limited(answers):
    problem = monmdp.make("Loop", "Ask")
    curves = monmdp.train(problem, f"DirectedModel(answers={answers})", 5, steps=1500, points=1500)
    assert (curves.observed[:, -1] == answers).all()
    assert np.abs(curves.paid[:, -1]) == pytest.approx(0.2 * answers)
    first = np.argmax(curves.observed > 2, axis=1)  # one or two tell what asking costs
    assert (first > len(np.unique(problem.env_pair[problem.reachable_pairs]))).all()  # each is tried once before


def test_enough_answers_are_as_good_as_no_limit():
    """There are 45 rewards; the others are for repetitions."""
    curves = monmdp.train(monmdp.make("Loop", "Ask"), "DirectedModel(answers=60)", 5, steps=1500, points=1)
    assert curves.solved.all()
    assert (curves.observed[:, -1] <= 60).all()


def test_a_known_price_that_was_never_paid_is_no_obstacle():
    """The end of an episode with the button on costs ten times a step, and shows the reward of the coin."""
    problem = monmdp.make("TwoRoom3x5", "Button")
    curves = monmdp.train(problem, "DirectedModel(known_monitor=True)", [5, 7, 10], steps=3000, points=1)
    assert curves.solved.all()


def test_a_known_chance_is_not_compared_with_a_frequency():
    """An expert that was asked three times in vain seems to answer with chance 1/4, while 1/20 is known."""
    problem = monmdp.make("Bottleneck", "Experts(never_observable='column', observability=0.05)")
    assert monmdp.train(problem, "DirectedModel(known_monitor=True)", 5, steps=12_000, points=1).solved.all()


def test_noise_is_found_although_each_reward_is_asked_for_once():
    curves = monmdp.train(monmdp.make("Loop(reward_noise=0.2)", "Ask"), "DirectedModel", 3, steps=3000, points=1)
    assert (curves.observed[:, -1] > 4 * 45).all()


# Rewards by outcome


def slippery(noise: float = 0.0) -> Rule:
    """A corridor with a trap at −5 beside the goal; a step slips back with probability 1/4."""

    def rule(state, action):
        ahead, back = (min(state + 1, 4), max(state - 1, 0)) if action == "right" else (max(state - 1, 0), state)
        paid = {0: -5.0, 4: 1.0}
        yield Step(ahead, paid.get(ahead, 0.0), 0.75, ahead == 4)
        yield Step(back, paid.get(back, 0.0), 0.25, back == 4)

    return Rule(states=range(5), actions=("left", "right"), rule=rule, start=2, step_limit=30, reward_noise=noise)


@pytest.mark.parametrize("how", TWINS)
def test_a_reward_by_outcome(how):
    """Asked once for each outcome: R̂ = 3/4 · 1 + 1/4 · (−5), from four steps of which two were shown."""
    driven = DrivenModel(how, monmdp.make(slippery(), "Ask"), minimum_reward=-5.0)
    for next_state, shown in ((4, 1.0), (2, math.nan), (4, math.nan), (4, math.nan)):
        driven.happened(3, 2, next_state, shown=shown)
    assert driven.beliefs[7] == pytest.approx(0.75 * 1.0 + 0.25 * -5.0)  # never seen: the minimum
    driven.happened(3, 2, 2, shown=-1.0)
    assert driven.beliefs[7] == pytest.approx(0.6 * 1.0 + 0.4 * -1.0)


@pytest.mark.parametrize("how", TWINS)
def test_an_end_is_an_outcome_of_its_own_unless_the_monitor_always_ends(how):
    """A step into the same state pays 1 if it ends the episode; one with an empty battery always ends it."""
    rule = lambda state, action: [Step(0, 0.0, 0.5), Step(0, 1.0, 0.5, True)]  # noqa: E731
    problem = monmdp.make(Rule(states=(0,), actions=("go",), rule=rule, start=0, step_limit=30), "Battery(n=1)")
    charged, empty, ask = problem.state_index(0, 1), problem.state_index(0, 0), 1
    driven = DrivenModel(how, problem)
    driven.happened(charged, 0, charged)  # continues, so that an end with this battery is the environment's
    driven.happened(charged, ask, charged, shown=0.0)
    driven.happened(charged, ask, charged, shown=1.0, ended=True)
    driven.happened(charged, 0, charged, ended=True)
    assert driven.beliefs[0] == pytest.approx(0.5)
    for _ in range(4):
        driven.happened(empty, 0, empty, ended=True)  # the end may be the battery's, which says nothing
    assert driven.beliefs[0] == pytest.approx(0.5)


@pytest.mark.parametrize("how", TWINS)
@pytest.mark.parametrize("first", ["charged", "empty"])
def test_an_end_with_an_empty_battery_is_no_outcome_of_its_own(how, first):
    """A coin that ends the episode is worth 1, whether its first end was one with an empty battery or not."""
    rule = lambda state, action: [Step(1, 1.0, terminated=True)] if state else [Step(action, 0.0)]  # noqa: E731
    problem = monmdp.make(Rule(states=(0, 1), actions=(0, 1), rule=rule, start=0, step_limit=30), "Battery(n=1)")
    driven, ask = DrivenModel(how, problem, minimum_reward=-10.0), 1
    charged, empty = problem.state_index(1, 1), problem.state_index(1, 0)
    driven.happened(problem.state_index(0, 1), ask, problem.state_index(0, 0), shown=0.0)  # continues
    for state in (charged, empty) if first == "charged" else (empty, charged):
        driven.happened(state, ask, empty, shown=1.0 if state == charged else math.nan, ended=True)
    assert driven.beliefs[2] == 1.0


@pytest.mark.parametrize(
    "names",
    [
        ("Garnet(seed=17, n_states=19, n_actions=4, branching=1)", "Battery(observability=0.69, n=6)"),
        ("Bottleneck", "Battery(n=3)"),
        ("Hazard", "Battery(n=1)"),
    ],
)
def test_an_empty_battery_is_not_the_end_of_the_environment(names):
    """Ends by the monitor once made transitions look as if they ended, and coins as if they could be worth −10."""
    assert monmdp.train(monmdp.make(*names), "DirectedModel", 5, steps=4000, points=1).solved.all()


def test_rewards_of_slippery_steps_are_asked_for_once_they_are_known_to_occur():
    """The goal of the slippery lake is reached with probability 1/3, at first without asking."""
    curves = monmdp.train(monmdp.make("FrozenLake-v1", "Ask"), "DirectedModel", 10, steps=50_000, points=1)
    assert curves.solved.all()
    assert (curves.observed[:, -1] < 400).all()


@pytest.mark.parametrize("monitor", ["Ask", "Ask(observability=0.2)", "Full(observability=0.2)"])
def test_rewards_that_depend_on_where_a_step_ends_are_learned_exactly(monitor):
    problem = monmdp.make(slippery(), monitor)
    curves = monmdp.train(problem, "DirectedModel", 5, steps=10_000, points=1)
    assert curves.solved.all()
    table = problem.environment
    pairs = np.repeat(np.arange(len(table.offsets) - 1), np.diff(table.offsets))
    true = np.bincount(pairs, table.probability * table.reward)
    tried = curves.visit_counts.reshape(5, -1)
    tries = np.stack([np.bincount(problem.env_pair, visits, len(true)) for visits in tried])
    error = np.abs(curves.reward_model - true)
    assert (error[tries > 50] < 5 * 6 * np.sqrt(0.25 * 0.75 / tries[tries > 50])).all()


@dataclass(frozen=True)
class HidesLarge(Monitor):
    """Shows rewards below 1 when asked."""

    actions = ("no-op", "ask")

    def outcomes(self, moment):
        asked = moment.action == "ask"
        yield Outcome(-0.2 * asked, float(asked and moment.env_reward < 1.0))


def test_a_hidden_outcome_changes_nothing():
    """A reward that is never shown may be anything, also where the other outcome of its pair is shown."""

    def hiding(reward: float) -> monmdp.MonMDP:
        def rule(state, action):
            if action == "stay":
                return [Step(state, 0.1)]
            return [Step((state + 1) % 3, 0.5, 0.7), Step(0, reward if state == 1 else 0.0, 0.3)]

        environment = Rule(states=range(3), actions=("stay", "go"), rule=rule, start=0, step_limit=20)
        return monmdp.make(environment, HidesLarge())

    runs = [
        monmdp.train(hiding(reward), "DirectedModel(minimum_reward=-1.0)", 3, steps=1500, points=10)
        for reward in (7.0, 90.0)
    ]
    for name in (*KNOWN, *TABLES):
        assert same(getattr(runs[0], name), getattr(runs[1], name)), name
    assert not same(runs[0].returns, runs[1].returns)
