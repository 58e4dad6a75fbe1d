"""DirectedModel: its plans are exact on the true model, its model becomes true, and it explores all there is."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from by_hand import TWINS, Driven
from comparing import CURVES, TABLES, same
from reference.agents import plain_agent
from reference.loop import training

import monmdp
from monmdp import MonMDPError, Rule, Step
from monmdp.agents.factored_model import lay_out
from monmdp.protocol import agent_defaults, paper_steps
from monmdp.training.evaluation import new_evaluator
from monmdp.training.job import Job, as_agent
from monmdp.training.loop import new_cursor, new_record, stream_keys
from monmdp.world import compact


class DrivenModel(Driven):
    """A DirectedModel that is told what happened."""

    def __init__(self, how: str, problem: monmdp.MonMDP, steps: int = 100, **options: Any) -> None:
        built = monmdp.AGENTS.build("DirectedModel", **{"minimum_reward": 0.0, **options})
        self.how, self.problem, self.kind, self.step = how, problem, type(built), 0
        self.key = stream_keys(0)[4]
        if how == "plain":
            self.memory: Any = plain_agent(built, problem, steps, 0)
        else:
            self.memory = built.memory(compact(problem), steps, 0)


def trained(problem: monmdp.MonMDP, agent: str, steps: int, seed: int = 0) -> Any:
    """The memory of an agent after so many steps."""
    job = Job(problem, agent, steps, 1, "none")
    memory, keys = job.agent.memory(job.world, steps, seed), stream_keys(seed)
    job.loop(
        job.world, memory, keys, new_cursor(job.world, keys), job.point_steps, job.episodes,
        new_evaluator(job.world), new_record(2), np.zeros(2, np.int64), job.stop,
    )  # fmt: skip
    assert memory.visits.sum() == steps
    return memory


def laid_out(memory: Any) -> tuple[np.ndarray, np.ndarray]:
    """Chances of next states [pair, S] and of ends [pair] that a model believes in; NaN where it knows nothing."""
    n_states, n_actions = memory.q.shape
    bounds, ending = np.zeros(n_states * n_actions + 1, np.int64), np.zeros((n_states, n_actions))
    chances, targets = np.zeros(len(memory.plan.chances)), np.zeros(len(memory.plan.targets), np.int64)
    lay_out(memory.model, np.arange(n_states), bounds, chances, targets, ending)
    found = np.zeros((n_states * n_actions, n_states))
    for pair in range(n_states * n_actions):
        rows = slice(bounds[pair], bounds[pair + 1])
        np.add.at(found[pair], targets[rows], chances[rows])
    unknown = ending.ravel() < 0
    found[unknown] = np.nan
    return found, np.where(unknown, np.nan, ending.ravel())


def truth(problem: monmdp.MonMDP) -> tuple[np.ndarray, np.ndarray]:
    """The same of the problem itself."""
    assert problem.reachable.all()
    moves, ends = np.zeros((problem.n_pairs, problem.n_states)), np.zeros(problem.n_pairs)
    goes_on = ~problem.terminated
    np.add.at(moves, (problem.pair_of_outcome[goes_on], problem.next_state[goes_on]), problem.probability[goes_on])
    np.add.at(ends, problem.pair_of_outcome[~goes_on], problem.probability[~goes_on])
    return moves, ends


# Plans


def told_the_truth(how: str, problem: monmdp.MonMDP, each: int, **options: Any) -> DrivenModel:
    """An agent that has met every outcome of every pair as often as its chance demands, `each` times in all.

    What stands for the rewards is their mean given the outcome; every reward is shown.
    """
    assert problem.reachable.all()
    driven = DrivenModel(how, problem, steps=each * problem.n_pairs, **options)
    driven.begins(int(problem.start.argmax()))
    for state in range(problem.n_states):
        driven.chooses(state)
    dynamics = problem.dynamics
    for outcome, pair in enumerate(problem.pair_of_outcome):
        times = each * problem.probability[outcome]
        assert times == pytest.approx(round(times)), "choose another number of times"
        state, action = divmod(int(pair), problem.n_actions)
        for _ in range(round(times)):
            driven.happened(
                state, action, int(problem.next_state[outcome]), float(dynamics.env_reward[outcome]),
                bool(problem.terminated[outcome]), float(dynamics.monitor_reward[outcome]),
            )  # fmt: skip
    driven.plans()
    return driven


#: Problem, and how often each pair is met so that all chances come out even.
EXACT = {
    "deterministic": (("Loop", "Ask"), 1),
    "quicksand, a button that stands apart, an end that costs": (("Hazard", "Button"), 20),
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
    driven = told_the_truth("compiled", problem, each, **options)
    moves, ends = laid_out(driven.memory)
    true_moves, true_ends = truth(problem)
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
    driven = told_the_truth(how, problem, 4)
    assert driven.q.ravel() == pytest.approx([0.8, 1.6], abs=1e-6)


@pytest.mark.parametrize("how", TWINS)
def test_a_reward_never_seen_is_feared(how):
    """Both states pay 3 to leave; nobody saw that of the second: Q(b) = −2 + Q(a)/2, Q(a) = 3 + Q(b)/2 = 8/3."""

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


# The model


@pytest.mark.parametrize("options", ["", "pool_environment=False", "pool_monitor=False"])
def test_counts_are_those_of_the_trajectory(options):
    """Counted once more from what the plain run says it did, pair by pair."""
    problem, agent, steps = monmdp.make("RiverSwim", "Experts"), f"DirectedModel({options})", 500
    told = as_agent(agent).resolved(agent_defaults(problem, "DirectedModel"))
    met = [
        (stepped.state * problem.n_actions + stepped.action, stepped.next_state)
        for stepped in training(problem, plain_agent(told, problem, steps, 1), steps, 1)
        if not stepped.ended
    ]
    memory = trained(problem, agent, steps, 1)
    model, n_monitor = memory.model, len(problem.monitor.states)
    pairs = np.arange(problem.n_pairs)
    states, actions = pairs // problem.n_actions, pairs % problem.n_actions
    rows = problem.env_pair if model.pools_environment else pairs
    contexts = states % n_monitor * model.n_monitor_actions + actions % model.n_monitor_actions
    visits = memory.visits.ravel()
    assert np.array_equal(model.own_visits, visits)
    assert np.array_equal(model.tries, np.bincount(rows, visits, len(model.tries)))
    assert np.array_equal(model.context_visits, np.bincount(contexts, visits, len(model.context_visits)))
    assert np.array_equal(model.ends.sum(1), model.tries)  # nothing stands apart: nothing ends
    assert not model.ends_apart.any()
    assert np.array_equal(model.own_moves.sum(1), visits)
    together = np.zeros_like(model.pooled_moves)
    np.add.at(together, contexts[~model.moves_apart], model.own_moves[~model.moves_apart])
    assert np.array_equal(model.pooled_moves, together)
    counted: Counter[tuple[int, int]] = Counter()
    for row in range(len(model.tries)):
        node = model.moves.first[row]
        while node >= 0:
            counted[row, int(model.moves.next_state[node])] += int(model.moves.times[node])
            node = model.moves.following[node]
    expected = Counter((int(rows[pair]), after // n_monitor) for pair, after in met)
    # the step limit hides where its steps led: two of 500
    assert (counted - expected).total() == steps - len(met) == 2
    assert (expected - counted).total() == 0


def test_the_pooled_model_becomes_the_true_one():
    problem = monmdp.make("RiverSwim", "Experts")
    memory = trained(problem, "DirectedModel", 20_000)
    true_moves, _ = truth(problem)
    chances, ends = laid_out(memory)
    assert not ends.any()
    assert chances.sum(1) == pytest.approx(np.ones(problem.n_pairs))
    env = chances.reshape(problem.n_pairs, -1, len(problem.monitor.states)).sum(2)
    true_env = true_moves.reshape(env.shape[0], env.shape[1], -1).sum(2)
    tries = memory.model.tries[problem.env_pair]
    spread = np.sqrt(true_env * (1 - true_env) / tries[:, None])
    assert (np.abs(env - true_env) <= 5 * spread + 1e-12).all()
    assert np.abs(env - true_env)[tries > 1000].max() < 0.05
    first = {}
    for pair, row in zip(problem.env_pair, env, strict=True):  # the environment does not know the monitor
        assert row == pytest.approx(first.setdefault(pair, row), abs=1e-12)


@pytest.mark.parametrize("steps", [1000, 5000])
@pytest.mark.parametrize(("option", "axis"), [("pool_environment", 3), ("pool_monitor", 2)])
def test_pooling_makes_the_model_truer(steps, option, axis):
    """Each on its own factor: what is left when the other one is summed over."""
    problem = monmdp.make("RiverSwim", "Experts")
    true_moves, _ = truth(problem)
    split = (3, problem.n_pairs, len(problem.environment.states), len(problem.monitor.states))
    errors = []
    for pools in (True, False):
        found = [laid_out(trained(problem, f"DirectedModel({option}={pools})", steps, seed))[0] for seed in range(3)]
        errors.append(np.abs((np.stack(found) - true_moves).reshape(split).sum(axis)).sum(2).mean())
    assert errors[0] < 0.7 * errors[1]


@pytest.mark.parametrize(("others", "visits"), [(5, 2), (26, 2), (27, 1), (100, 1)])
@pytest.mark.parametrize("how", TWINS)
def test_how_soon_a_button_stands_apart(how, others, visits):
    """It does once 2 n log((others + 1) / 0.5) > 8, two outcomes being known: 7.98 for 26 others, 8.05 for 27."""
    problem = monmdp.make("RiverSwim", "Button")
    assert 2 * math.log(2 * 27) < 8 < 2 * math.log(2 * 28)
    driven = DrivenModel(how, problem, steps=1000)
    off, on = (problem.state_index(0, light) for light in problem.monitor.states)
    right_off = problem.state_index(3, problem.monitor.states[0])
    left, right = 0, 1
    for _ in range(others):
        driven.happened(right_off, right, right_off)
    for visit in range(1, visits + 1):
        assert not is_apart(driven, off * problem.n_actions + left)
        driven.happened(off, left, on)
        assert is_apart(driven, off * problem.n_actions + left) == (visit == visits)
    assert not is_apart(driven, right_off * problem.n_actions + right)


def is_apart(driven: DrivenModel, pair: int) -> bool:
    model = driven.memory.model
    return bool(model.moves_apart[pair]) if driven.how == "compiled" else pair in model.shifts.apart


@pytest.mark.parametrize("names", [("Hazard", "Button"), ("RiverSwim", "Button")], ids=" + ".join)
def test_only_the_button_flips(names):
    """The pairs that push it, found in the monitor's table, and no others; the flip is certain to the model."""
    problem = monmdp.make(*names)
    n_monitor = len(problem.monitor.states)
    flips = problem.next_state % n_monitor != problem.pair_of_outcome // problem.n_actions % n_monitor
    pushing = np.unique(problem.pair_of_outcome[flips])
    assert 0 < len(pushing) < problem.n_pairs / 10
    memory = trained(problem, "DirectedModel", 2000)
    assert np.flatnonzero(memory.model.moves_apart).tolist() == pushing.tolist()
    assert memory.model.own_visits[pushing].max() < 100
    chances, ends = laid_out(memory)
    true_moves, _ = truth(problem)
    light = chances.reshape(problem.n_pairs, -1, n_monitor).sum(1)
    true_light = true_moves.reshape(problem.n_pairs, -1, n_monitor).sum(1)
    goes_on = true_light.sum(1) > 0.99
    assert light[goes_on] == pytest.approx(true_light[goes_on], abs=1e-9)
    assert np.isfinite(ends).all()


# Exploring


@pytest.mark.parametrize(
    ("names", "multiple"),
    [
        (("Empty(rows=12, columns=12)", "Ask"), 1.5),
        (("Loop", "Level"), 2.5),
        (("Hazard", "Button"), 3.0),
        (("Bottleneck", "Button"), 3.0),
        (("RiverSwim", "Experts"), 4.0),
        (("RiverSwim", "Button"), 30.0),  # 24 pairs against the stream
    ],
    ids=lambda value: " + ".join(value) if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("known", [False, True])
def test_every_pair_is_visited_soon(names, multiple, known):
    problem = monmdp.make(*names)
    pairs = int(problem.reachable_pairs.sum())
    steps = round(multiple * pairs)
    curves = monmdp.train(problem, f"DirectedModel(known_monitor={known})", 5, steps=steps, points=1, evaluation="none")
    assert curves.visited[:, -1].tolist() == [pairs] * 5
    assert (curves.visit_counts[:, problem.reachable] > 0).all()


@pytest.mark.parametrize("known", [False, True])
def test_exploring_vanishes(known):
    """Goals are due while log t exceeds what was done so far: each tenfold run explores a smaller part, not none."""
    problem, agent = monmdp.make("Loop", "Ask"), f"DirectedModel(known_monitor={known})"
    runs = [monmdp.train(problem, agent, 3, steps=steps, points=1) for steps in (1000, 10_000, 100_000)]
    explored = [run.explored[:, -1] for run in runs]
    assert (explored[1] < 0.2 * explored[0]).all()
    assert (explored[2] < 0.2 * explored[1]).all()
    assert all(run.solved.all() for run in runs)
    done = [explored[i] * steps for i, steps in enumerate((1000, 10_000, 100_000))]
    assert (done[1] > done[0]).all()
    assert (done[2] > done[1]).all(), "it never stops for good"
    assert (runs[2].visit_counts[:, problem.reachable].min((1, 2)) >= runs[1].visit_counts.min((1, 2))).all()


def test_least_visits_grow_with_the_logarithm():
    """No pair is left behind: N ≥ log(t + 2) / β̄, whatever the options that ask for more."""
    problem = monmdp.make("Loop", "Ask")
    agent = "DirectedModel(beta_bar=0.5, beta_certain=1000.0, beta_uncertain=1000.0)"
    for steps in (3000, 30_000):
        curves = monmdp.train(problem, agent, 2, steps=steps, points=1)
        least = curves.visit_counts.min((1, 2))
        assert (least >= math.floor(math.log(steps) / 0.5)).all()
        assert curves.beta[:, -1] == pytest.approx(math.log(steps + 2) / least)


@pytest.mark.parametrize(
    "names",
    [
        ("Loop", "Ask"),
        ("Empty", "Random"),
        ("Hazard", "Random"),
        ("Hazard", "Button"),
        ("OneWay", "Experts"),
        ("TwoRoom3x5", "Full"),
        ("Corridor", "Button"),
        ("RiverSwim", "Random"),
        ("RiverSwim", "Level"),
    ],
    ids=" + ".join,
)
def test_a_tenth_of_the_papers_steps_is_enough(names):
    problem = monmdp.make(*names)
    curves = monmdp.train(problem, "DirectedModel", 10, steps=paper_steps(problem) // 10, points=1)
    assert curves.solved.all()
    assert curves.target_return == curves.optimal_return
    assert curves.final_returns == pytest.approx([monmdp.solve(problem).optimal_return] * 10, abs=1e-6)
    assert curves.remarks == [[]] * 10


# Rewards that can never be seen


@pytest.mark.parametrize("agent", ["DirectedModel", "DirectedModel(known_monitor=True)", "MonitoredMBIE"])
def test_the_minimax_return_is_reached(agent):
    problem = monmdp.make("Bottleneck", "Ask(never_observable='column')")
    exact = monmdp.solve(problem)
    curves = monmdp.train(problem, agent, 5, steps=15_000, points=1)
    assert curves.target_return == pytest.approx(exact.minimax_return, abs=1e-9)
    assert curves.final_returns == pytest.approx([exact.minimax_return] * 5, abs=1e-6)
    assert curves.solved.all()


#: A cell on the way to the goal whose reward is a secret: caution is content with less, and needs no quicksand.
DETOUR = ("Hazard", "Ask(never_observable=[(1, 0)])")


def test_caution_costs_and_is_what_solves():
    problem = monmdp.make(*DETOUR)
    exact = monmdp.solve(problem)
    assert exact.minimax_return < exact.optimal_return - 0.05
    curves = monmdp.train(problem, "DirectedModel", 5, steps=4000, points=4)
    assert curves.target_return == pytest.approx(exact.minimax_return, abs=1e-9)
    assert curves.optimal_return == exact.optimal_return
    assert curves.final_returns == pytest.approx([exact.minimax_return] * 5, abs=1e-6)
    assert curves.solved.all()
    assert not (curves.final_returns >= curves.optimal_return - 1e-6).any()


@pytest.mark.parametrize(
    "names",
    [("Bottleneck", "Ask(never_observable='column')"), DETOUR, ("Hazard", "Experts(never_observable=[(1, 0)])")],
)
@pytest.mark.parametrize("known", [False, True])
def test_what_was_given_up_is_what_can_never_be_seen(names, known):
    problem = monmdp.make(*names)
    hidden = {
        f"The reward of {action} in {state} was given up" for state, action in monmdp.solve(problem).hidden_rewards
    }
    agent = f"DirectedModel(known_monitor={known})"
    for told in monmdp.train(problem, agent, 3, steps=8000, points=1, evaluation="none").remarks:
        assert len(told) == len(set(told))
        assert {remark.partition(":")[0] for remark in told} <= hidden
        if not known:
            assert {remark.partition(":")[0] for remark in told} == hidden
        for remark in told:
            assert "should have been seen" in remark
            assert remark.endswith("times, and never was.")


def test_a_reward_that_is_shown_at_last_is_no_longer_given_up():
    """Shown once in 20 times that others are: given up at first, and found when there is nothing better to do."""
    problem = monmdp.make("Bottleneck", "Ask(observability=0.05)")
    curves = monmdp.train(problem, "DirectedModel", 3, steps=30_000, points=1)
    assert curves.remarks == [[]] * 3
    assert curves.solved.all()


# Noise


def reward_counts(agent: str, steps: int, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray, float]:
    """How often each reward was seen, half the width of its interval, and the range of all rewards seen."""
    memory = trained(monmdp.make(f"Loop(reward_noise={noise})", "Ask"), agent, steps, seed=4)
    seen = memory.reward_counts
    half = 1.96 * np.sqrt(memory.explorer.reward_squares / (seen - 1) / seen)
    return seen, half, float(memory.explorer.scales[1] - memory.explorer.scales[0])


def test_noisy_rewards_are_seen_until_they_are_accurate():
    steps, accuracy = 20_000, 0.05
    seen, half, width = reward_counts("DirectedModel", steps)
    enough = 10 * math.log(steps + 2)
    assert ((half <= accuracy * width) | (seen >= enough)).all()
    assert (half <= accuracy * width).mean() > 0.9
    careless, wide, _ = reward_counts("DirectedModel(accuracy=1.0)", steps)
    assert (wide > accuracy * width).any()
    assert seen.sum() > 1.3 * careless.sum()
    assert np.median(seen) >= 1.4 * np.median(careless)
    careful, narrow, width = reward_counts("DirectedModel(accuracy=0.02)", steps)
    assert careful.sum() > seen.sum()
    assert np.median(narrow) < np.median(half)


def test_without_noise_accuracy_changes_nothing():
    problem = monmdp.make("Loop", "Ask")
    runs = [
        monmdp.train(problem, f"DirectedModel(accuracy={accuracy})", 2, steps=2000, points=5)
        for accuracy in (0.01, 1.0)
    ]
    for name in (*CURVES, *TABLES):
        assert same(getattr(runs[0], name), getattr(runs[1], name)), name


@pytest.mark.parametrize("how", TWINS)
def test_the_mean_and_spread_of_a_reward(how):
    """Seen as 1, 4 and 7: mean 4, squared deviations 9 + 0 + 9."""
    driven = DrivenModel(how, monmdp.make("Loop", "Ask"))
    for reward in (1.0, 4.0, np.nan, 7.0):
        driven.happened(0, 0, 0, shown=reward)
    memory = driven.memory
    assert driven.beliefs[0] == pytest.approx(4.0)
    squares = memory.explorer.reward_squares if how == "compiled" else memory.squares
    assert squares[0] == pytest.approx(18.0)


# Looking on


@pytest.mark.parametrize(
    "names", [("Loop", "Ask"), ("RiverSwim", "Experts"), ("Hazard(reward_noise=0.3)", "Button")], ids=" + ".join
)
@pytest.mark.parametrize("known", [False, True])
def test_looking_at_a_run_does_not_change_it(names, known):
    problem, agent = monmdp.make(*names), f"DirectedModel(known_monitor={known})"
    one, many = (monmdp.train(problem, agent, 3, steps=2500, points=points) for points in (1, 50))
    for name in TABLES:
        assert same(getattr(one, name), getattr(many, name)), name
    for name in CURVES:
        assert same(getattr(one, name)[:, -1], getattr(many, name)[:, -1]), name


# Memory


def test_what_a_quadratic_table_cannot_do(monkeypatch):
    """50 × 50 cells × 10 actions: 25,000 pairs, and 2.5 GB for Ŝ alone."""
    monkeypatch.setattr("monmdp.training.job.available_bytes", lambda: 2**30)
    problem = monmdp.make("Empty(rows=50, columns=50)", "Ask")
    with pytest.raises(MonMDPError, match=r"25,000 pairs.*DirectedModel\.$") as error:
        monmdp.train(problem, "Directed", 1, steps=10)
    assert "\n" not in str(error.value)
    curves = monmdp.train(problem, "DirectedModel", 1, steps=40_000, points=1, evaluation="none")
    assert curves.visited[0, -1] == 25_000


def size_of(memory: Any) -> int:
    """Bytes of all arrays, at any depth."""
    if isinstance(memory, np.ndarray):
        return memory.nbytes
    return sum(map(size_of, memory)) if isinstance(memory, tuple) else 0


def said_and_taken(environment: str, monitor: str, agent: str, steps: int) -> tuple[int, int]:
    problem = monmdp.make(environment, monitor)
    built = as_agent(agent).resolved(agent_defaults(problem, "DirectedModel"))
    world = compact(problem)
    return built.memory_bytes(world, steps), size_of(built.memory(world, steps, 0))


@pytest.mark.parametrize("agent", ["DirectedModel", "DirectedModel(pool_environment=False)"])
@pytest.mark.parametrize(
    "names",
    [("Empty(rows=20, columns=20)", "Ask"), ("Empty(rows=20, columns=20)", "Experts"), ("Hazard", "Level")],
    ids=" + ".join,
)
def test_what_is_said_is_what_is_taken(agent, names):
    said, taken = said_and_taken(*names, agent, 10**6)
    assert taken / 2 <= said <= 2 * taken + 100_000


def test_what_is_said_is_what_is_taken_with_a_known_monitor():
    said, taken = said_and_taken("Empty(rows=20, columns=20)", "Experts", "DirectedModel(known_monitor=True)", 10**6)
    assert taken / 2 <= said <= 2 * taken


@pytest.mark.parametrize("known", [False, True])
def test_memory_grows_with_the_number_of_pairs(known):
    agent = f"DirectedModel(known_monitor={known})"
    sizes = [said_and_taken(f"Empty(rows={n}, columns={n})", "Ask", agent, 10**7) for n in (10, 20, 40)]
    for small, large in pairwise(sizes):
        for before, after in zip(small, large, strict=True):
            assert 3 < after / before < 5
    assert sizes[-1][1] < 2**25


# Bad input


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ("beta_bar=-1", "beta_bar must be at least 0, not -1"),
        ("beta_certain=-0.5", "beta_certain must be at least 0"),
        ("beta_uncertain='x'", "'beta_uncertain' of DirectedModel must be a number, not 'x'"),
        ("accuracy=-0.1", "accuracy must be at least 0"),
        ("accuracy=None", "'accuracy' of DirectedModel must be a number"),
        ("minimum_reward='low'", "'minimum_reward' of DirectedModel must be a number, not 'low'"),
        ("minimum_reward=1e999", "finite"),
        ("observe=3", "'observe' of DirectedModel must be True or False, not 3"),
        ("pool_monitor='yes'", "'pool_monitor' of DirectedModel must be True or False"),
        ("known_monitor=True, pool_environment=False", "the environment is always pooled"),
        ("beta=1", "Did you mean 'beta_bar'"),
    ],
)
def test_bad_options(options, culprit):
    with pytest.raises(MonMDPError) as error:
        monmdp.train(monmdp.make("Loop", "Ask"), f"DirectedModel({options})", 1, steps=10)
    assert culprit in str(error.value)
    assert "\n" not in str(error.value)


def test_live_training_has_no_monitor_to_give():
    gymnasium = pytest.importorskip("gymnasium")
    with pytest.raises(MonMDPError, match="Live training has no table of the monitor"):
        monmdp.train_live(gymnasium.make("FrozenLake-v1"), "Ask", "DirectedModel(known_monitor=True)", steps=10)


# Step limits


def one_way(rooms: int, step_limit: int) -> monmdp.MonMDP:
    """A row of rooms, each with a door to a den that nobody leaves; the treasure is at the end of the row."""
    names = ["hall", *range(1, rooms + 1), "den"]

    def rule(state, action):
        if state == "den":
            return [Step("den", 0.1)]
        if action == "leave":
            return [Step("den")]
        after = names[names.index(state) + 1]
        return [Step(after, 50.0 if after == "den" else 0.0)]

    return monmdp.make(Rule(states=tuple(names), actions=("leave", "go"), rule=rule, step_limit=step_limit), "Ask")


@pytest.mark.parametrize("known", [False, True])
def test_what_cannot_be_reached_from_here_can_after_a_restart(known):
    """100 episodes for 40 pairs: every one of them can begin with a walk to a goal. Directed does it in as many."""
    problem = one_way(8, 200)
    curves = monmdp.train(problem, f"DirectedModel(known_monitor={known})", 3, steps=20_000, points=1)
    assert curves.visited[:, -1].tolist() == [problem.n_pairs] * 3
    assert curves.solved.all()


# Mistakes that were made once


def test_beta_goes_on_falling():
    problem = monmdp.make(Rule(states=("a",), actions=("x", "y"), rule=lambda *_: [Step("a")], step_limit=50), "Full")
    curves = monmdp.train(problem, "DirectedModel(beta_bar=0.0)", [3], steps=20_000, points=1)
    assert curves.beta[0, -1] == pytest.approx(math.log(20_002) / curves.visit_counts.min())


def test_nobody_solves_a_problem_by_standing_still():
    """Hidden rewards that cannot be avoided are feared by everybody alike, and earned by everybody alike."""
    problem = monmdp.make("Hazard", "Ask(never_observable=[(0, 0)])")
    exact = monmdp.solve(problem)
    assert monmdp.policy_return(problem, exact.minimax_policy) == pytest.approx(0.9135172)
    curves = monmdp.train(problem, "Naive", [0], steps=300, points=1)
    assert curves.final_returns[0] < 0.5
    assert not curves.solved[0]
    cautious = monmdp.train(problem, "DirectedModel", 5, steps=4000, points=1)
    assert cautious.target_return == pytest.approx(0.9135172)
    assert cautious.solved.all()


def test_where_caution_does_not_mind_anything_solves():
    """Both rewards are secrets and nothing is feared, so that the least lucky of many equal ways earns nothing."""
    problem = monmdp.make("Empty", "Ask(never_observable=[(5, 0), (5, 5)])")
    exact = monmdp.solve(problem)
    assert (exact.minimax_return, exact.cautious_return) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert exact.optimal_return > 0.9
    assert monmdp.train(problem, "DirectedModel", 3, steps=2000, points=1).solved.all()


def test_agents_and_the_solver_fear_the_same():
    problem = monmdp.make("Penalty", "Ask(never_observable=[(0, 1)])")
    assert agent_defaults(problem, "DirectedModel")["minimum_reward"] == monmdp.solve(problem).minimum_reward == -10.0
    curves = monmdp.train(problem, "DirectedModel", 3, steps=5000, points=1)
    assert curves.solved.all()


def test_a_way_through_quicksand():
    """The cautious way leads through it: a move out of it fails nine times in ten, and 17 times in a row one in six."""
    problem = monmdp.make("Hazard", "Ask(never_observable=[(3, 1)])")
    assert monmdp.solve(problem).minimax_return == pytest.approx(0.849125, abs=1e-6)
    assert monmdp.train(problem, "DirectedModel", 20, steps=8000, points=1).solved.all()
