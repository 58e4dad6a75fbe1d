"""Bad input to training gets one clear sentence that names the culprit, never a stack trace from inside."""

from __future__ import annotations

import math

import gymnasium
import numpy as np
import pytest

import monmdp
from monmdp import MonMDPError


def refused(match: str, agent="Naive", seeds=1, steps=10, **more) -> None:
    with pytest.raises(MonMDPError, match=match) as error:
        monmdp.train(monmdp.make("Loop"), agent, seeds, steps=steps, **more)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith((".", "?"))


@pytest.mark.parametrize(
    ("agent", "match"),
    [
        ("Directd", "no agent called 'Directd'. Did you mean 'Directed'"),
        ("Naive(alhpa=1)", "Naive has no option 'alhpa'. Did you mean 'alpha'"),
        ("UCB(bonus=1)", "UCB has no option 'bonus'"),
        ("Directed(", "cannot be read|not a name"),
        ("Directed(0.5)", "every option needs its name"),
        ("Directed(successor_target='last visit')", "successor_target.* must be one of"),
        ("Directed(beta_bar=-1)", "beta_bar.* must be at least 0"),
        ("Directed(beta_bar=nan)", "beta_bar.* must be a number"),
        ("Directed(successor_discount=1)", "discount.* must be at least 0 and below 1"),
        ("QCounts(count_discount=1.0)", "discount.* must be at least 0 and below 1"),
        ("QCounts(count_discount=-0.1)", "discount.* must be at least 0 and below 1"),
        ("Intrinsic(bonus=inf)", "bonus.* must be a number"),
        ("Naive(initial_q=high)", "must be a number, not 'high'"),
        ("Naive(initial_q=1e999)", "must be finite, not inf"),
        ("Naive(alpha=1.1)", "must be between 0 and 1"),
        ("Naive(epsilon=(1, 0.5, 0))", r"must be a number, \(first, last\)"),
        ("Directed(balanced_wandering=no)", "balanced_wandering"),
        ("Directed(random_goal_policy=2)", "random_goal_policy"),
        (None, "The agent must be a name or an object of Agent"),
        (3, "The agent must be a name or an object of Agent"),
        (monmdp.Agent, "The agent must be a name or an object of Agent"),
    ],
)
def test_agents(agent, match):
    refused(match, agent)


@pytest.mark.parametrize(
    ("seeds", "match"),
    [
        (0, "number of seeds must be a whole number of at least 1, not 0"),
        (-3, "at least 1, not -3"),
        (2.5, "not 2.5"),
        (True, "not True"),
        ([], "at least one seed"),
        ([1, 2, 1], "given twice"),
        ([-1], "A seed must be a whole number of at least 0"),
        ([0.5], "A seed must be a whole number"),
        ("many", "A seed must be a whole number"),
    ],
)
def test_seeds(seeds, match):
    refused(match, seeds=seeds)


@pytest.mark.parametrize("steps", [0, -1, 1.5, math.nan, "ten", True])
def test_steps(steps):
    refused("number of steps must be a whole number of at least 1", steps=steps)


@pytest.mark.parametrize(
    ("points", "match"),
    [(11, r"more points \(11\) than steps \(10\)"), (0, "at least 1, not 0"), (2.5, "whole number")],
)
def test_points(points, match):
    refused(match, points=points)


def test_other_words():
    refused("evaluation is one of exact, sampled, none, not 'guess'", evaluation="guess")
    refused("number of threads must be a whole number of at least 1", threads=0)


def test_numpy_numbers_are_whole():
    curves = monmdp.train(monmdp.make("Loop"), "Naive", np.arange(2), steps=np.int64(10), points=np.int32(5))
    assert curves.seeds == [0, 1]


def test_a_name_is_not_a_problem():
    """A natural slip: the name of an environment where the joined problem is expected."""
    with pytest.raises(MonMDPError):
        monmdp.train("Empty", "Naive", 1, steps=10)


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"steps": 0}, "number of steps"),
        ({"steps": 10, "discount": 1.0}, "discount"),
        ({"steps": 10, "points": 0}, "points"),
        ({"steps": 10, "points": 11}, "points"),
        ({"steps": 10, "seed": -1}, "seed"),
        ({"steps": 10, "seed": 0.5}, "seed"),
        ({"steps": 10, "test_episodes": 0}, "test episodes"),
        ({"steps": 10, "monitor": "Asks"}, "'Asks'"),
        ({"steps": 10, "agent": "Naiv"}, "'Naiv'"),
        ({"steps": 10, "agent": "Naive(epsilon=2)"}, "between 0 and 1"),
        ({"steps": 10, "monitor": "Full(observability=2)"}, "between 0 and 1"),
        ({"steps": 10, "monitor": "Ask(never_observable=99)"}, "99"),
    ],
)
def test_the_live_loop(more, match):
    def make() -> gymnasium.Env:
        return gymnasium.make("FrozenLake-v1")

    with pytest.raises(MonMDPError, match=match):
        monmdp.train_live(make(), **{"agent": "Naive(initial_q=0.0)", "test_env": make(), **more})
