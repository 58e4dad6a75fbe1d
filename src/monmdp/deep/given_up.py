"""Rewards that an agent gives up, since it should have observed them often enough and never did.

ĉ(m) = fraction of observed rewards among the steps with a monitor pair m and an environment pair ever observed
missed(e) = Σ max(ĉ(m), 0.01) over the steps with an environment pair e = (code, a_E) and their monitor pairs m
e is given up if its reward was never observed and missed(e) ≥ 2 log(t + 2); constants as for DirectedModel (`goals`)

Then R̂ stays at the lower bound of rewards.
"""

import math

import numpy as np

from monmdp.agents.goals import GIVE_UP_FACTOR, LEAST_CHANCE
from monmdp.problem import Booleans, Floats, Integers


def missed_rewards(env_pairs: Integers, monitor_pairs: Integers, observed: Booleans) -> Floats:
    """missed(e) of every environment pair, 0 where its reward was observed; the pairs of all steps [steps]."""
    seen = np.bincount(env_pairs, observed) > 0
    shown, asked = (np.bincount(monitor_pairs, seen[env_pairs] * counted) for counted in (observed, 1))
    chance = np.maximum(shown / np.maximum(asked, 1), LEAST_CHANCE)
    return np.where(seen, 0.0, np.bincount(env_pairs, chance[monitor_pairs]))


def given_up(env_pairs: Integers, monitor_pairs: Integers, observed: Booleans) -> dict[int, float]:
    """Environment pairs that are given up after all steps [steps], and how often each should have been observed."""
    missed = missed_rewards(env_pairs, monitor_pairs, observed)
    enough = GIVE_UP_FACTOR * math.log(len(env_pairs) + 2.0)
    return {int(pair): float(missed[pair]) for pair in np.flatnonzero(missed >= enough)}
