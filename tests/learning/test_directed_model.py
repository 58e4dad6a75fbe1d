"""DirectedModel's model and plans: the model becomes true, and plans on the true model are exact."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from by_hand import TWINS
from directed_models import DrivenModel, learned_model, trained, true_model
from reference.agents import plain_agent
from reference.loop import training

import monmdp
from monmdp import Rule, Step
from monmdp.protocol import paper_job


def given_the_truth(how: str, problem: monmdp.MonMDP, each: int, **options: Any) -> DrivenModel:
    """An agent that has experienced every pair `each` times, its outcomes in proportion to their probabilities.

    Every reward is observed, without noise.
    """
    assert problem.reachable.all()
    driven = DrivenModel(how, problem, steps=each * problem.n_pairs, **options)
    driven.begins(int(problem.start.argmax()))
    for state in range(problem.n_states):
        driven.chooses(state)
    dynamics = problem.dynamics
    for outcome, pair in enumerate(problem.pair_of_outcome):
        times = each * problem.probability[outcome]
        assert times == pytest.approx(round(times)), "choose another number `each`"
        state, action = divmod(int(pair), problem.n_actions)
        for _ in range(round(times)):
            driven.happened(
                state, action, int(problem.next_state[outcome]), float(dynamics.env_reward[outcome]),
                bool(problem.terminated[outcome]), float(dynamics.monitor_reward[outcome]),
            )  # fmt: skip
    driven.plans()
    return driven


#: Problem, and how often each pair is experienced, so that all outcomes occur a whole number of times.
EXACT = {
    "deterministic": (("Loop", "Ask"), 1),
    "quicksand, a button that is separated, an end with a cost": (("Hazard", "Button"), 20),
    "random moves": (("RiverSwim", "Level(n=2)"), 20),
    "random monitor states": (("OneWay", "Experts"), 4),
    "random actions": (("Loop(random_action=0.2)", "Ask"), 50),
}


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize(
    "options",
    [{}, {"pool_environment": False}, {"pool_monitor": False}, {"known_monitor": True}],
    ids=lambda options: next(iter(options), "default"),
)
def test_planned_values_are_exact_on_the_true_model(kind, options):
    (environment, monitor), each = EXACT[kind]
    problem = monmdp.make(environment, monitor)
    driven = given_the_truth("compiled", problem, each, **options)
    moves, ends = learned_model(driven.memory)
    true_moves, true_ends = true_model(problem)
    assert moves == pytest.approx(true_moves, abs=1e-9)
    assert ends == pytest.approx(true_ends, abs=1e-9)
    exact = monmdp.solve(problem)
    assert driven.q == pytest.approx(exact.q, abs=1e-6 * max(1.0, abs(exact.q).max()))
    assert monmdp.policy_return(problem, monmdp.greedy_policy(driven.q, tie=1e-5)) == pytest.approx(
        exact.optimal_return, abs=1e-6
    )


@pytest.mark.parametrize("how", TWINS)
def test_a_plan_by_hand(how):
    """Going pays 0 or 2 evenly, and ends one time in four: Q = 1 + 0.5 · 3/4 · Q = 1.6; waiting is 0.5 Q = 0.8."""

    def rule(state, action):
        if action == "wait":
            return [Step("a", 0.0)]
        return [Step("a", 0.0, probability=0.5), Step("a", 2.0, probability=0.25),
                Step("a", 2.0, terminated=True, probability=0.25)]  # fmt: skip

    problem = monmdp.make(Rule(states=("a",), actions=("wait", "go"), rule=rule), "Full", discount=0.5)
    driven = given_the_truth(how, problem, 4)
    assert driven.q.ravel() == pytest.approx([0.8, 1.6], abs=1e-6)


@pytest.mark.parametrize("how", TWINS)
def test_a_reward_never_observed_counts_as_the_minimum(how):
    """Both states pay 3, never observed in the second: Q(b) = −2 + Q(a)/2, Q(a) = 3 + Q(b)/2 = 8/3."""

    def rule(state, action):
        return [Step("b" if state == "a" else "a", 3.0)]

    problem = monmdp.make(Rule(states=("a", "b"), actions=("go",), rule=rule), "Full", discount=0.5)
    for pessimism, values in ((True, [8 / 3, -2 / 3]), (False, [4.0, 2.0])):
        driven = DrivenModel(how, problem, minimum_reward=-2.0, pessimism=pessimism)
        for state in (0, 1):
            driven.chooses(state)
        driven.happened(0, 0, 1, shown=3.0)
        driven.happened(1, 0, 0)
        driven.plans()
        assert driven.q.ravel() == pytest.approx(values, abs=1e-6)


def test_a_long_run_in_a_deterministic_problem_ends_with_exact_values():
    problem = monmdp.make("Loop", "Ask")
    curves = monmdp.train(problem, "DirectedModel", [5], steps=1500, points=1)
    assert curves.q[0] == pytest.approx(monmdp.solve(problem).q, abs=1e-6)


@pytest.mark.parametrize("options", ["", "pool_environment=False", "pool_monitor=False"])
def test_counts_are_those_of_the_trajectory(options):
    """Counts are compared with those of the reference run."""
    problem, agent, steps = monmdp.make("RiverSwim", "Experts"), f"DirectedModel({options})", 500
    options = paper_job(problem, agent, steps).agent
    transitions = [
        (stepped.state * problem.n_actions + stepped.action, stepped.next_state)
        for stepped in training(problem, plain_agent(options, problem, steps, 1), steps, 1)
        if not stepped.ended
    ]
    memory = trained(problem, agent, steps, 1)
    model, n_monitor, n_monitor_actions = memory.model, len(problem.monitor.states), len(problem.monitor.actions)
    pairs = np.arange(problem.n_pairs)
    states, actions = pairs // problem.n_actions, pairs % problem.n_actions
    rows = problem.env_pair if options.pool_environment else pairs
    monitor_pairs = states % n_monitor * n_monitor_actions + actions % n_monitor_actions
    visits = memory.visits.ravel()
    assert np.array_equal(model.visits, visits)
    assert np.array_equal(model.tries, np.bincount(rows, visits, len(model.tries)))
    assert np.array_equal(model.monitor_tries, np.bincount(monitor_pairs, visits, len(model.monitor_tries)))
    assert np.array_equal(model.ends.pooled.sum(1), model.tries)  # no pair is separated, since no episode ends
    assert not model.ends.separated.any()
    assert np.array_equal(model.shifts.own.sum(1), visits)
    together = np.zeros_like(model.shifts.pooled)
    np.add.at(together, monitor_pairs[~model.shifts.separated], model.shifts.own[~model.shifts.separated])
    assert np.array_equal(model.shifts.pooled, together)
    counted: Counter[tuple[int, int]] = Counter()
    for row in range(len(model.tries)):
        node = model.moves.first[row]
        while node >= 0:
            counted[row, int(model.moves.next_state[node])] += int(model.moves.times[node])
            node = model.moves.following[node]
    expected = Counter((int(rows[pair]), after // n_monitor) for pair, after in transitions)
    # the reference run does not report the next state of the two steps at the step limit
    assert (counted - expected).total() == steps - len(transitions) == 2
    assert (expected - counted).total() == 0


def test_the_pooled_model_converges_to_the_true_one():
    problem = monmdp.make("RiverSwim", "Experts")
    memory = trained(problem, "DirectedModel", 20_000)
    true_moves, _ = true_model(problem)
    chances, ends = learned_model(memory)
    assert not ends.any()
    assert chances.sum(1) == pytest.approx(np.ones(problem.n_pairs))
    env = chances.reshape(problem.n_pairs, -1, len(problem.monitor.states)).sum(2)
    true_env = true_moves.reshape(env.shape[0], env.shape[1], -1).sum(2)
    tries = memory.model.tries[problem.env_pair]
    spread = np.sqrt(true_env * (1 - true_env) / tries[:, None])
    assert (np.abs(env - true_env) <= 5 * spread + 1e-12).all()
    assert np.abs(env - true_env)[tries > 1000].max() < 0.05
    first = {}
    for pair, row in zip(problem.env_pair, env, strict=True):  # the environment does not depend on the monitor
        assert row == pytest.approx(first.setdefault(pair, row), abs=1e-12)


@pytest.mark.parametrize("steps", [1000, 5000])
@pytest.mark.parametrize(("option", "axis"), [("pool_environment", 3), ("pool_monitor", 2)])
def test_pooling_makes_the_model_more_accurate(steps, option, axis):
    """Each option is measured on its own factor, by summing over the other."""
    problem = monmdp.make("RiverSwim", "Experts")
    true_moves, _ = true_model(problem)
    split = (3, problem.n_pairs, len(problem.environment.states), len(problem.monitor.states))
    errors = []
    for pools in (True, False):
        found = [
            learned_model(trained(problem, f"DirectedModel({option}={pools}, cost_weight=0.0)", steps, seed))[0]
            for seed in range(3)
        ]
        errors.append(np.abs((np.stack(found) - true_moves).reshape(split).sum(axis)).sum(2).mean())
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize(("others", "visits"), [(5, 2), (26, 2), (27, 1), (100, 1)])
@pytest.mark.parametrize("how", TWINS)
def test_when_a_button_is_separated(how, others, visits):
    """It is once 2 n log((others + 1) / 0.5) > 8, with two known outcomes: 7.98 for 26 others, 8.05 for 27."""
    problem = monmdp.make("RiverSwim", "Button")
    assert 2 * math.log(2 * 27) < 8 < 2 * math.log(2 * 28)
    driven = DrivenModel(how, problem, steps=1000)
    off, on = (problem.state_index(0, light) for light in problem.monitor.states)
    right_off = problem.state_index(3, problem.monitor.states[0])
    left, right = 0, 1
    for _ in range(others):
        driven.happened(right_off, right, right_off)
    for visit in range(1, visits + 1):
        assert not is_separated(driven, off * problem.n_actions + left)
        driven.happened(off, left, on)
        assert is_separated(driven, off * problem.n_actions + left) == (visit == visits)
    assert not is_separated(driven, right_off * problem.n_actions + right)


def is_separated(driven: DrivenModel, pair: int) -> bool:
    model = driven.memory.model
    return bool(model.shifts.separated[pair]) if driven.how == "compiled" else pair in model.shifts.separated


@pytest.mark.parametrize("names", [("Hazard", "Button"), ("RiverSwim", "Button")], ids=" + ".join)
def test_only_the_button_flips(names):
    """The pairs that push it, by the monitor's table, and no others are separated; the model is certain of the flip."""
    problem = monmdp.make(*names)
    n_monitor = len(problem.monitor.states)
    flips = problem.next_state % n_monitor != problem.pair_of_outcome // problem.n_actions % n_monitor
    pushing = np.unique(problem.pair_of_outcome[flips])
    assert 0 < len(pushing) < problem.n_pairs / 10
    memory = trained(problem, "DirectedModel", 2000)
    assert np.flatnonzero(memory.model.shifts.separated).tolist() == pushing.tolist()
    assert memory.model.visits[pushing].max() < 100
    chances, ends = learned_model(memory)
    true_moves, _ = true_model(problem)
    light = chances.reshape(problem.n_pairs, -1, n_monitor).sum(1)
    true_light = true_moves.reshape(problem.n_pairs, -1, n_monitor).sum(1)
    goes_on = true_light.sum(1) > 0.99
    assert light[goes_on] == pytest.approx(true_light[goes_on], abs=1e-9)
    assert np.isfinite(ends).all()


@pytest.mark.parametrize("how", TWINS)
def test_mean_and_squared_deviations_of_a_reward(how):
    """Observed as 1, 4 and 7: mean 4, squared deviations 9 + 0 + 9."""
    driven = DrivenModel(how, monmdp.make("Loop", "Ask"))
    for reward in (1.0, 4.0, np.nan, 7.0):
        driven.happened(0, 0, 0, shown=reward)
    rewards = driven.memory.rewards
    assert driven.beliefs[0] == pytest.approx(4.0)
    squares = rewards.squares[0] if how == "compiled" else rewards.squares[0, 0]
    assert squares == pytest.approx(18.0)
