"""Gymnasium's own transition tables, taken over with start, termination and step limit."""

from __future__ import annotations

from collections import defaultdict

import gymnasium
import numpy as np
import pytest
from reading import steps

import monmdp
from monmdp import MonMDPError, from_gymnasium

G = 0.99

#: id with options: (states, actions, step limit)
TABLES = {
    "FrozenLake-v1": (16, 4, 100),
    "FrozenLake-v1(is_slippery=False)": (16, 4, 100),
    "FrozenLake8x8-v1": (64, 4, 200),
    "FrozenLake8x8-v1(is_slippery=False)": (64, 4, 200),
    "Taxi-v4": (500, 6, 200),
    "CliffWalking-v1": (48, 4, None),
}


def original(text: str) -> gymnasium.Env:
    name, _, options = text.partition("(")
    return gymnasium.make(name, **({"is_slippery": False} if options else {}))


@pytest.mark.parametrize("text", TABLES)
def test_sizes_and_step_limit(text):
    states, actions, limit = TABLES[text]
    for problem in (monmdp.make(text, "Full"), monmdp.make(original(text), "Full")):
        assert (problem.n_states, problem.n_actions, problem.step_limit) == (states, actions, limit)
        problem.validate()


@pytest.mark.parametrize("text", TABLES)
def test_outcomes_are_those_of_the_table(text):
    table, core = from_gymnasium(original(text)).table(), original(text).unwrapped
    for state in range(0, TABLES[text][0], 7):
        for a, action in enumerate(table.actions):
            expected: dict = defaultdict(float)
            for chance, after, reward, ends in core.P[state][a]:
                expected[int(after), float(reward), bool(ends)] += chance
            assert steps(table, state, action) == pytest.approx(dict(expected))


@pytest.mark.parametrize("text", TABLES)
def test_original_transitions_are_in_the_table(text):
    """Played by itself, the Gymnasium environment starts, moves, pays and ends only as our arrays allow."""
    env, table = original(text), from_gymnasium(original(text)).table()
    env.action_space.seed(0)
    state, _ = env.reset(seed=0)
    assert table.start[state] > 0
    for _ in range(500):
        action = int(env.action_space.sample())
        after, reward, terminated, truncated, info = env.step(action)
        pair = int(state) * len(table.actions) + action
        here = range(table.offsets[pair], table.offsets[pair + 1])
        chance = sum(
            table.probability[o]
            for o in here
            if (table.next_state[o], table.reward[o], table.terminated[o]) == (after, reward, terminated)
        )
        assert chance > info["prob"] - 1e-12  # several entries of the original may be one outcome of ours
        state = after
        if terminated or truncated:
            state, _ = env.reset()
            assert table.start[state] > 0


def test_start_states_of_taxi():
    """25 places × 4 passengers × 3 other destinations, even odds."""
    start = from_gymnasium(gymnasium.make("Taxi-v4")).table().start
    assert (start > 0).sum() == 300
    assert start[start > 0] == pytest.approx(1 / 300)


@pytest.mark.parametrize(("text", "first"), [("FrozenLake-v1", 0), ("CliffWalking-v1", 36)])
def test_a_single_start(text, first):
    assert np.flatnonzero(monmdp.make(text).environment.start).tolist() == [first]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FrozenLake-v1(is_slippery=False)", G**5),  # six moves, paid on the last
        ("FrozenLake8x8-v1(is_slippery=False)", G**13),
        ("FrozenLake-v1(map_name='8x8', is_slippery=False)", G**13),
        ("CliffWalking-v1", -sum(G**k for k in range(13))),  # up, eleven right, down, at -1 each
    ],
)
def test_optimum_by_hand(text, expected):
    assert monmdp.solve(monmdp.make(text)).optimal_return == pytest.approx(expected, abs=1e-12)


def test_holes_end_the_episode():
    """State 5 of the 4x4 map is a hole, in which no action is taken."""
    problem = monmdp.make("FrozenLake-v1", "Ask")
    assert not problem.reachable[5]
    assert problem.reachable[[0, 1, 2, 3, 4]].all()


def test_the_cliff_does_not_end_the_episode():
    """Falling costs 100 and leads back to the start."""
    outcomes = steps(from_gymnasium(gymnasium.make("CliffWalking-v1")), 36, "RIGHT")
    assert outcomes == {(36, -100.0, False): 1.0}


def test_a_time_limit_is_the_step_limit():
    env = gymnasium.make("CliffWalking-v1", max_episode_steps=30)
    assert from_gymnasium(env).table().step_limit == 30
    assert from_gymnasium(gymnasium.wrappers.TimeLimit(env, 12)).table().step_limit == 12
    assert from_gymnasium(env, step_limit=None).table().step_limit is None


def test_options_of_monmdp_are_applied():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    outcomes = steps(from_gymnasium(env, random_action=0.4), 0, "RIGHT")
    assert outcomes == pytest.approx({(1, 0.0, False): 0.7, (0, 0.0, False): 0.2, (4, 0.0, False): 0.1})


def test_the_unwrapped_environment_has_no_limit():
    assert from_gymnasium(gymnasium.make("FrozenLake-v1").unwrapped).table().step_limit is None


def test_every_monitor_joins():
    for name in monmdp.MONITORS:
        monmdp.make("FrozenLake-v1", name).validate()


def test_a_wrapper_that_changes_rewards_is_rejected():
    env = gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda reward: 2 * reward)
    with pytest.raises(MonMDPError, match="TransformReward"):
        monmdp.make(env)


@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1"])
def test_environments_without_a_table_are_rejected(name):
    for given in (name, gymnasium.make(name)):
        with pytest.raises(MonMDPError, match=name) as error:
            monmdp.make(given)
        assert "\n" not in str(error.value)


def test_a_discrete_environment_without_a_table_is_rejected():
    class Bare(gymnasium.Env):
        observation_space = gymnasium.spaces.Discrete(2)
        action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(MonMDPError, match="Bare has no transition table"):
        monmdp.make(Bare())


def test_a_fickle_passenger_is_rejected():
    with pytest.raises(MonMDPError, match="fickle"):
        monmdp.make(gymnasium.make("Taxi-v4", fickle_passenger=True))
