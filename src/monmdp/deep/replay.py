"""Replay of all steps of a run; rare pairs are drawn more often, so that what was learned about them is kept.

P(step i) ∝ N(s_i, a_i)^(−ω): ω = 0 draws all steps alike, ω = 1 all visited pairs alike
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class History(NamedTuple):
    """Steps of a run, arrays [steps]; pictures are stored as rows of the table of observations.

    pair and env_pair are indices of (code, monitor state, action) and (code, environment action). known: whether the
    agent may use env_reward, which is 0 where it may not; observed: whether the monitor showed it. ended: whether the
    episode ended, by termination or by the step limit. outcome: the world's, for metrics only.
    """

    picture: jax.Array
    monitor: jax.Array
    action: jax.Array
    pair: jax.Array
    env_pair: jax.Array
    next_picture: jax.Array
    next_monitor: jax.Array
    next_goal: jax.Array
    outcome: jax.Array
    env_reward: jax.Array
    monitor_reward: jax.Array
    known: jax.Array
    observed: jax.Array
    terminated: jax.Array
    ended: jax.Array
    exploring: jax.Array


#: Fields of `History` that are not whole numbers.
TYPES = {"env_reward": jnp.float32, "monitor_reward": jnp.float32} | dict.fromkeys(History._fields[-5:], jnp.bool_)


def new_history(steps: int) -> History:
    """No steps yet."""
    return History(*(jnp.zeros(steps, TYPES.get(name, jnp.int32)) for name in History._fields))


def draw(key: jax.Array, weights: jax.Array, n: int) -> jax.Array:
    """n indices [n] with probability ∝ weights; some index if all are zero."""
    cumulative = jnp.cumsum(weights)
    places = jax.random.uniform(key, (n,)) * cumulative[-1]
    return jnp.minimum(jnp.searchsorted(cumulative, places, side="right"), len(weights) - 1)


def weights(pairs: jax.Array, counts: jax.Array, allowed: jax.Array, balance: jax.Array) -> jax.Array:
    """N(pair)^(−ω) of steps with these pairs [steps], 0 where not allowed [steps]; counts [pairs]."""
    rare = jnp.maximum(counts, 1).astype(jnp.float32) ** -balance
    return jnp.where(allowed, rare[pairs], 0.0)
