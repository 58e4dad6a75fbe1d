"""DirectedModel explores everything, gives up what cannot be observed, and needs little memory."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from comparing import CURVES, TABLES, same
from directed_models import trained
from test_memory_limits import size

import monmdp
from monmdp import MonMDPError, Rule, Step
from monmdp.protocol import paper_job, paper_steps


@pytest.mark.parametrize(
    ("names", "multiple"),
    [
        (("Empty(rows=12, columns=12)", "Ask"), 1.5),
        (("Loop", "Level"), 2.5),
        (("Hazard", "Button"), 3.0),
        (("Bottleneck", "Button"), 3.0),
        (("RiverSwim", "Experts"), 4.0),
        (("RiverSwim", "Button"), 30.0),  # 24 pairs against the current
    ],
    ids=lambda value: " + ".join(value) if isinstance(value, tuple) else "",
)
@pytest.mark.parametrize("known", [False, True])
def test_every_pair_is_visited_early(names, multiple, known):
    problem = monmdp.make(*names)
    pairs = int(problem.reachable_pairs.sum())
    steps = round(multiple * pairs)
    agent = f"DirectedModel(known_monitor={known}, cost_weight=0.0)"
    curves = monmdp.train(problem, agent, 5, steps=steps, points=1, evaluation="none")
    assert curves.visited[:, -1].tolist() == [pairs] * 5
    assert (curves.visit_counts[:, problem.reachable] > 0).all()


@pytest.mark.parametrize("known", [False, True])
def test_the_fraction_of_exploration_vanishes(known):
    """Exploration grows with log t: a run of ten times the length explores a smaller fraction, but more steps."""
    problem, agent = monmdp.make("Loop", "Ask"), f"DirectedModel(known_monitor={known})"
    runs = [monmdp.train(problem, agent, 3, steps=steps, points=1) for steps in (1000, 10_000, 100_000)]
    explored = [run.explored[:, -1] for run in runs]
    assert (explored[1] < 0.2 * explored[0]).all()
    assert (explored[2] < 0.2 * explored[1]).all()
    assert all(run.solved.all() for run in runs)
    done = [explored[i] * steps for i, steps in enumerate((1000, 10_000, 100_000))]
    assert (done[1] > done[0]).all()
    assert (done[2] > done[1]).all(), "exploration never ends"
    assert (runs[2].visit_counts[:, problem.reachable].min((1, 2)) >= runs[1].visit_counts.min((1, 2))).all()


def test_least_visits_grow_with_the_logarithm():
    """N ≥ log(t + 2) / β̄ for all pairs, with the options off that ask for more."""
    problem = monmdp.make("Loop", "Ask")
    agent = "DirectedModel(beta_bar=0.5, beta_certain=1000.0, beta_uncertain=1000.0, cost_weight=0.0)"
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
def test_problems_are_solved_in_a_tenth_of_the_papers_steps(names):
    problem = monmdp.make(*names)
    curves = monmdp.train(problem, "DirectedModel", 10, steps=paper_steps(problem) // 10, points=1)
    assert curves.solved.all()
    assert curves.target_return == curves.optimal_return
    assert curves.final_returns == pytest.approx([monmdp.solve(problem).optimal_return] * 10, abs=1e-6)
    assert curves.remarks == [[]] * 10


# Rewards that can never be observed


@pytest.mark.parametrize("agent", ["DirectedModel", "DirectedModel(known_monitor=True)", "MonitoredMBIE"])
def test_the_minimax_return_is_reached(agent):
    problem = monmdp.make("Bottleneck", "Ask(never_observable='column')")
    exact = monmdp.solve(problem)
    curves = monmdp.train(problem, agent, 5, steps=15_000, points=1)
    assert curves.target_return == pytest.approx(exact.minimax_return, abs=1e-9)
    assert curves.final_returns == pytest.approx([exact.minimax_return] * 5, abs=1e-6)
    assert curves.solved.all()


#: The reward of a cell on the path to the goal can never be observed, so the minimax policy earns less.
DETOUR = ("Hazard", "Ask(never_observable=[(1, 0)])")


def test_the_minimax_return_counts_as_solved_where_it_is_lower():
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
def test_remarks_name_the_rewards_that_can_never_be_observed(names, known):
    problem = monmdp.make(*names)
    hidden = {
        f"The reward of {action} in {state} was given up" for state, action in monmdp.solve(problem).hidden_rewards
    }
    agent = f"DirectedModel(known_monitor={known})"
    for remarks in monmdp.train(problem, agent, 3, steps=8000, points=1, evaluation="none").remarks:
        assert len(remarks) == len(set(remarks))
        assert {remark.partition(":")[0] for remark in remarks} <= hidden
        if not known:
            assert {remark.partition(":")[0] for remark in remarks} == hidden
        for remark in remarks:
            assert "should have been seen" in remark
            assert remark.endswith("times, and never was.")


def test_a_reward_observed_late_is_no_longer_given_up():
    """Observed with probability 0.05: given up at first, and observed when there is nothing else to explore."""
    problem = monmdp.make("Bottleneck", "Ask(observability=0.05)")
    curves = monmdp.train(problem, "DirectedModel", 3, steps=30_000, points=1)
    assert curves.remarks == [[]] * 3
    assert curves.solved.all()


def test_with_nothing_else_to_explore_rewards_are_looked_for_again():
    """They are given up at 2 log t expected observations, and looked for until there are 8 log t of them."""
    steps = 10_000
    memory = trained(monmdp.make("Loop", "Ask(never_observable=[(1, 0)])"), "DirectedModel", steps, seed=1)
    assert memory.given_up.sum() == 5
    expected = memory.missed[memory.given_up] / math.log(steps + 2)
    assert (expected > 7.9).all()
    assert (expected < 8.6).all()  # steps on the way count as well


# Noise


def reward_counts(agent: str, steps: int, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray, float]:
    """How often each reward was observed, half the width of its interval, and the range of mean rewards."""
    memory = trained(monmdp.make(f"Loop(reward_noise={noise})", "Ask"), agent, steps, seed=4)
    rewards, seen, outcomes = memory.rewards, memory.reward_counts, memory.rewards.found.first
    assert (rewards.seen[outcomes] == seen).all()  # one outcome each
    half = 1.96 * np.sqrt(rewards.squares[outcomes] / (seen - 1) / seen)
    return seen, half, float(rewards.status["highest_mean"][0] - rewards.status["lowest_mean"][0])


def test_noisy_rewards_are_observed_until_they_are_accurate():
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


@pytest.mark.parametrize(
    "names", [("Loop", "Ask"), ("RiverSwim", "Experts"), ("Hazard(reward_noise=0.3)", "Button")], ids=" + ".join
)
@pytest.mark.parametrize("known", [False, True])
def test_evaluation_does_not_change_a_run(names, known):
    problem, agent = monmdp.make(*names), f"DirectedModel(known_monitor={known})"
    one, many = (monmdp.train(problem, agent, 3, steps=2500, points=points) for points in (1, 50))
    for name in TABLES:
        assert same(getattr(one, name), getattr(many, name)), name
    for name in CURVES:
        assert same(getattr(one, name)[:, -1], getattr(many, name)[:, -1]), name


# Memory


def test_a_problem_too_large_for_a_quadratic_table(monkeypatch):
    """50 × 50 cells × 10 actions: 25,000 pairs, and 2.5 GB for Ŝ alone."""
    monkeypatch.setattr("monmdp.machine.available_bytes", lambda: 2**30)
    problem = monmdp.make("Empty(rows=50, columns=50)", "Ask")
    with pytest.raises(MonMDPError, match=r"25,000 pairs.*DirectedModel\.$") as error:
        monmdp.train(problem, "Directed", 1, steps=10)
    assert "\n" not in str(error.value)
    curves = monmdp.train(problem, "DirectedModel", 1, steps=40_000, points=1, evaluation="none")
    assert curves.visited[0, -1] == 25_000


def estimated_and_actual(names: tuple[str, str], agent: str, steps: int) -> tuple[int, int]:
    job = paper_job(monmdp.make(*names), agent, steps)
    return job.agent.memory_bytes(job.world, steps), size(job.agent.memory(job.world, steps, 0))


@pytest.mark.parametrize("options", ["", "pool_environment=False", "known_monitor=True"])
@pytest.mark.parametrize(
    "names",
    [("Empty(rows=20, columns=20)", "Ask"), ("Empty(rows=20, columns=20)", "Experts"), ("Hazard", "Level")],
    ids=" + ".join,
)
def test_estimated_memory(options, names):
    estimated, actual = estimated_and_actual(names, f"DirectedModel({options})", 10**6)
    assert actual / 2 <= estimated <= 2 * actual + 100_000


@pytest.mark.parametrize("known", [False, True])
def test_memory_grows_with_the_number_of_pairs(known):
    agent = f"DirectedModel(known_monitor={known})"
    sizes = [estimated_and_actual((f"Empty(rows={n}, columns={n})", "Ask"), agent, 10**7) for n in (10, 20, 40)]
    for small, large in pairwise(sizes):
        for before, after in zip(small, large, strict=True):
            assert 3 < after / before < 5
    assert sizes[-1][1] < 2**25


# Bad input


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ("beta_bar=-1", "'beta_bar' of DirectedModel must be at least 0, not -1"),
        ("beta_certain=-0.5", "'beta_certain' of DirectedModel must be at least 0"),
        ("beta_uncertain='x'", "'beta_uncertain' of DirectedModel must be a number, not 'x'"),
        ("accuracy=-0.1", "'accuracy' of DirectedModel must be between 0 and 1"),
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


def test_live_training_has_no_known_monitor():
    gymnasium = pytest.importorskip("gymnasium")
    agent = "DirectedModel(known_monitor=True, minimum_reward=0.0)"
    with pytest.raises(MonMDPError, match="Live training has no table of the monitor"):
        monmdp.train_live(gymnasium.make("FrozenLake-v1"), "Ask", agent, steps=10)


# Step limits


def one_way(rooms: int, step_limit: int) -> monmdp.MonMDP:
    """A row of rooms, each with a door to a den without an exit; the large reward is at the end of the row."""
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
def test_goals_that_can_be_reached_only_after_a_restart(known):
    """100 episodes for 40 pairs: each of them can begin with a path to a goal."""
    problem = one_way(8, 200)
    curves = monmdp.train(problem, f"DirectedModel(known_monitor={known})", 3, steps=20_000, points=1)
    assert curves.visited[:, -1].tolist() == [problem.n_pairs] * 3
    assert curves.solved.all()


# Regressions


def test_beta_continues_to_decrease():
    problem = monmdp.make(Rule(states=("a",), actions=("x", "y"), rule=lambda *_: [Step("a")], step_limit=50), "Full")
    curves = monmdp.train(problem, "DirectedModel(beta_bar=0.0)", [3], steps=20_000, points=1)
    assert curves.beta[0, -1] == pytest.approx(math.log(20_002) / curves.visit_counts.min())


def test_staying_in_place_does_not_solve_a_problem():
    """Hidden rewards that no policy avoids count the same for all policies."""
    problem = monmdp.make("Hazard", "Ask(never_observable=[(0, 0)])")
    exact = monmdp.solve(problem)
    assert monmdp.policy_return(problem, exact.minimax_policy) == pytest.approx(0.9135172)
    curves = monmdp.train(problem, "Naive", [0], steps=300, points=1)
    assert curves.final_returns[0] < 0.5
    assert not curves.solved[0]
    cautious = monmdp.train(problem, "DirectedModel", 5, steps=4000, points=1)
    assert cautious.target_return == pytest.approx(0.9135172)
    assert cautious.solved.all()


def test_any_policy_solves_where_the_minimax_return_is_lowest():
    """Both rewards are hidden, so all policies are minimax policies, and the worst of them earns nothing."""
    problem = monmdp.make("Empty", "Ask(never_observable=[(5, 0), (5, 5)])")
    exact = monmdp.solve(problem)
    assert (exact.minimax_return, exact.cautious_return) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert exact.optimal_return > 0.9
    assert monmdp.train(problem, "DirectedModel", 3, steps=2000, points=1).solved.all()


def test_agents_and_the_solver_use_the_same_minimum_reward():
    problem = monmdp.make("Penalty", "Ask(never_observable=[(0, 1)])")
    assert paper_job(problem, "DirectedModel", 10).agent.minimum_reward == monmdp.solve(problem).minimum_reward == -10.0
    curves = monmdp.train(problem, "DirectedModel", 3, steps=5000, points=1)
    assert curves.solved.all()


def test_a_path_through_quicksand():
    """The minimax policy leads through it; leaving it fails with probability 0.9."""
    problem = monmdp.make("Hazard", "Ask(never_observable=[(3, 1)])")
    assert monmdp.solve(problem).minimax_return == pytest.approx(0.849125, abs=1e-6)
    assert monmdp.train(problem, "DirectedModel", 20, steps=8000, points=1).solved.all()
