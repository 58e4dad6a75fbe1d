"""A known monitor is the monitor's factor, whole, and nothing of the environment's."""

from __future__ import annotations

import dataclasses

import gymnasium
import numpy as np
import pytest
from by_hand import TWINS, Driven
from comparing import same
from reference.loop import training

import monmdp
from monmdp import MonMDPError, Rule, Step
from monmdp.agents.known_monitor import KnownMonitor, count_experience, known_monitor
from monmdp.kernels.compile import kernel
from monmdp.world import compact

PROBLEMS = [
    ("Hazard", "Button"),
    ("RiverSwim", "Experts"),
    ("Cliff(random_action=0.3)", "Level"),
    ("Walk", "Battery(n=2)"),
    ("Loop(random_action=0.2)", "LimitedTime"),
    ("Bottleneck", "PaidExperts(observability=0.3, never_observable='column')"),
]
problems = pytest.mark.parametrize("names", PROBLEMS, ids=" + ".join)


@kernel
def count(known, pair, env_next_state, next_state, terminated):
    """`count_experience` as Python can call it."""
    return count_experience(known, pair, env_next_state, next_state, terminated)


def with_environment(problem: monmdp.MonMDP, **changes: np.ndarray) -> monmdp.MonMDP:
    return dataclasses.replace(problem, environment=dataclasses.replace(problem.environment, **changes))


def scrambled(problem: monmdp.MonMDP) -> monmdp.MonMDP:
    """Other environment rewards, noise and probabilities; the same outcomes are possible."""
    table, random = problem.environment, np.random.default_rng(5)
    weights = table.probability * random.uniform(0.1, 1.0, len(table.probability))
    sums = np.repeat(np.add.reduceat(weights, table.offsets[:-1]), np.diff(table.offsets))
    changes = {"reward": random.normal(size=len(weights)), "reward_noise": random.uniform(size=len(weights))}
    return with_environment(problem, probability=weights / sums, **changes)


@problems
def test_with_the_environment_it_is_the_whole_model(names):
    """Chances of environment outcomes times the monitor's rows are the joint chances, rewards and observations."""
    problem = monmdp.make(*names)
    world, known = compact(problem), known_monitor(compact(problem))
    table = problem.environment
    for pair in range(len(world.offsets) - 1):
        env_pair = world.env_pair[pair]
        chances: dict[tuple[int, bool], float] = {}
        for k in range(table.offsets[env_pair], table.offsets[env_pair + 1]):
            seen = int(table.next_state[k]), bool(table.terminated[k])
            chances[seen] = chances.get(seen, 0.0) + table.probability[k]
        found, reward, shown = np.zeros((world.n_states, 2)), 0.0, 0.0
        first = known.first_outcome[env_pair]
        for outcome in range(first, known.first_outcome[env_pair + 1]):
            chance = chances[int(known.env_next_state[outcome]), bool(known.env_terminated[outcome])]
            branch = known.first_branch[pair] + outcome - first
            reward += chance * known.monitor_reward[branch]
            shown += chance * known.observe_probability[branch]
            for row in range(known.offsets[branch], known.offsets[branch + 1]):
                found[known.next_state[row], int(known.terminated[row])] += chance * known.probability[row]
        expected, rows = np.zeros_like(found), slice(world.offsets[pair], world.offsets[pair + 1])
        np.add.at(expected, (world.next_state[rows], world.terminated[rows].astype(int)), world.probability[rows])
        assert found == pytest.approx(expected, abs=1e-12)
        assert reward == pytest.approx(world.probability[rows] @ world.monitor_reward[rows], abs=1e-12)
        assert shown == pytest.approx(world.probability[rows] @ world.observe_probability[rows], abs=1e-12)


@problems
def test_the_environments_numbers_are_not_in_it(names):
    problem = monmdp.make(*names)
    one, other = known_monitor(compact(problem)), known_monitor(compact(scrambled(problem)))
    for name in KnownMonitor._fields:
        assert same(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("odds", [0.1, 0.5, 0.9])
def test_outcomes_that_look_alike_count_evenly(odds):
    """Zero is always shown and one half of the time, so 3/4 on average, whatever the odds of the two."""

    def rule(state, action):
        return [Step("a", 0.0, probability=odds), Step("a", 1.0, probability=1 - odds)]

    known = known_monitor(compact(monmdp.make(Rule(states=("a",), actions=("go",), rule=rule), "Random")))
    assert known.observe_probability.tolist() == [0.75]
    assert known.probability.sum() == 1.0


def test_who_ended_the_episode():
    """A battery ends it when empty; the environment may or may not. What cannot be told apart is not counted."""

    def rule(state, action):
        return [Step("b", terminated=True, probability=0.5), Step("b", probability=0.25), Step("a", probability=0.25)]

    problem = monmdp.make(Rule(states=("a", "b"), actions=("go",), rule=rule), "Battery(n=1)")
    world = compact(problem)
    known = known_monitor(world)
    empty, full = (problem.state_index("a", charge) for charge in problem.monitor.states)
    assert known.env_next_state[:3].tolist() == [0, 1, 1]
    assert known.env_terminated[:3].tolist() == [False, False, True]
    kept = problem.n_actions * full  # not asking keeps the unit
    assert count(known, kept, 1, problem.state_index("b", problem.monitor.states[1]), True) == 2
    assert count(known, kept, 1, problem.state_index("b", problem.monitor.states[1]), False) == 1
    lost = problem.n_actions * empty
    assert count(known, lost, 1, problem.state_index("b", problem.monitor.states[0]), True) == -1
    assert count(known, lost, 0, problem.state_index("a", problem.monitor.states[0]), True) == 0


@pytest.mark.parametrize("how", TWINS)
@pytest.mark.parametrize("names", [("RiverSwim", "Experts"), ("Hazard(random_action=0.3)", "Button")], ids=" + ".join)
def test_the_same_experience_in_another_environment_is_the_same_to_it(how, names):
    """One trajectory, told to agents in environments of different odds and hidden rewards: one plan."""
    problem = monmdp.make(*names)
    assert problem.reachable.all()
    driven = Driven("plain", problem, "Naive", epsilon=1.0, steps=400)
    told = list(training(problem, driven.memory, 400, seed=2))
    agents = [
        Driven(how, given, "MonitoredMBIE", steps=1000, known_monitor=True, minimum_reward=-10.0)
        for given in (problem, scrambled(problem))
    ]
    for agent in agents:
        for before in told:
            if not before.ended:
                agent.happened(before.state, before.action, before.next_state, shown=1.5 if before.observed else np.nan)
        agent.begins()
        agent.begins()
    assert same(agents[0].q, agents[1].q)
    assert same(agents[0].memory.observe_q, agents[1].memory.observe_q)
    agents[1].happened(0, 0, 0, shown=-3.0)
    agents[1].begins()
    assert not same(agents[0].q, agents[1].q)


def test_what_was_never_experienced_does_not_matter():
    """Odds that lead nowhere new: the right half of the map, which the agent never enters, is another one."""

    def rule(right: float):
        def step(state, action):
            if state == "c":
                return [Step("a", right, probability=0.5), Step("c", -right, terminated=True, probability=0.5)]
            if (state, action) == ("b", "go"):
                return [Step("c", right)]
            return [Step("b" if action == "go" else state)]

        return Rule(states=("a", "b", "c"), actions=("wait", "go"), rule=step, step_limit=2)

    runs = [
        monmdp.train(monmdp.make(rule(right), "Ask(never_observable=['b', 'c'])"), "MonitoredMBIE(known_monitor=True)",
                     2, steps=300, points=20)
        for right in (1.0, -50.0)
    ]  # fmt: skip
    assert same(runs[0].visit_counts, runs[1].visit_counts)
    assert same(runs[0].q, runs[1].q)
    assert not same(runs[0].returns, runs[1].returns)


def test_it_helps():
    """Experts: an agent that is told who they are needs not meet each of them in every cell."""
    problem = monmdp.make("Empty", "Experts")
    told, learning = (
        monmdp.train(problem, f"MonitoredMBIE(known_monitor={known})", 6, steps=4000, points=1).solved.mean()
        for known in (True, False)
    )
    assert told == 1.0
    assert learning < told


def test_live_training_has_no_known_monitor():
    agent = "MonitoredMBIE(known_monitor=True, q_max=1.0, minimum_reward=0.0)"
    with pytest.raises(MonMDPError, match="Live training has no table of the monitor"):
        monmdp.train_live(gymnasium.make("FrozenLake-v1"), "Ask", agent, steps=10)
