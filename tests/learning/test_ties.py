"""Ties in every argmax are broken uniformly at random, and only ties are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from comparing import Q_LEARNERS

import monmdp
from monmdp.agents.choices import choose_best
from monmdp.rng import stream

N = 4000


@pytest.mark.parametrize(
    ("values", "best"),
    [
        ([0.0, 0.0, 0.0], {0, 1, 2}),
        ([1.0, 2.0, 2.0, 0.0, 2.0], {1, 2, 4}),
        ([3.0, 1.0, 3.0], {0, 2}),
        ([-1.0, -2.0], {0}),
        ([math.inf, 5.0, math.inf], {0, 2}),
        ([-math.inf, -math.inf], {0, 1}),
        ([7.0], {0}),
    ],
)
def test_the_best_share_evenly(values, best):
    """Five standard errors around an even share, over the draws of one stream."""
    key = np.uint64(stream(1, "agent"))
    chosen = np.bincount([choose_best(np.array(values), key, index) for index in range(N)], minlength=len(values))
    assert set(np.flatnonzero(chosen)) == best
    share = 1 / len(best)
    assert all(abs(chosen[i] - N * share) <= 5 * math.sqrt(N * share * (1 - share)) for i in best)


@pytest.mark.parametrize("agent", monmdp.AGENTS)
def test_the_first_action_is_uniform_over_seeds(agent):
    """At the start everything is tied for every agent."""
    learner = monmdp.AGENTS.build(agent, **({"epsilon": 0.0} if agent in Q_LEARNERS else {}))
    counts = monmdp.train(monmdp.make("Empty", "Ask"), learner, 1000, steps=1).visit_counts
    first = counts[:, 0].sum(0)
    assert first.sum() == 1000
    assert abs(first - 100).max() < 5 * math.sqrt(1000 * 0.1 * 0.9)
