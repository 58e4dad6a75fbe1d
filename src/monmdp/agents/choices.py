"""Choosing actions: named random draws, ties broken at random, ε-greedy."""

from typing import NamedTuple

import numpy as np

from monmdp.agents.schedules import value_at
from monmdp.kernels.compile import inlined, kernel
from monmdp.kernels.random import choose_best, uniform

#: Distance between the keys of further draws.
_FURTHER = np.uint64(0xD1B54A32D192ED03)


class Draws(NamedTuple):
    """The random numbers of an agent at one training step.

    Draw 2 · step decides whether to explore, draw 2 · step + 1 chooses among actions, and there are further ones.
    """

    key: np.uint64
    step: int


@inlined
def further_draw(draws, number):
    """Any other draw of this step in [0, 1), numbered from 0."""
    return uniform(draws.key + np.uint64(number + 1) * _FURTHER, draws.step)


@inlined
def choose(values, draws):
    """The position of the largest of values [A], ties broken by the choice draw."""
    return choose_best(values, draws.key, 2 * draws.step + 1)


@inlined
def choose_any(n_actions, draws):
    """A uniformly random action."""
    return int(uniform(draws.key, 2 * draws.step + 1) * n_actions)


@inlined
def explores(epsilon, draws):
    """Whether this step takes a random action, by the schedule ε."""
    chance = value_at(epsilon, draws.step)
    return chance > 0.0 and uniform(draws.key, 2 * draws.step) < chance


@kernel
def largest(values):
    """The maximum of values [n]."""
    result = values[0]
    for value in values[1:]:
        result = max(result, value)
    return result


@kernel
def smallest(values):
    """The minimum of values [n]."""
    result = values[0]
    for value in values[1:]:
        result = min(result, value)
    return result
