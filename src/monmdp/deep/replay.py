"""Replay of all steps of a run; rare pairs are drawn more often, so that what was learned about them is kept.

P(step i) ∝ N(s_i, a_i)^(−ω): ω = 0 draws all steps alike, ω = 1 all visited pairs alike
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from monmdp.deep.memory import accelerated


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
    method = "scan_unrolled" if accelerated() else "scan"  # the same numbers, in fewer programs on a device
    return jnp.minimum(jnp.searchsorted(cumulative, places, side="right", method=method), len(weights) - 1)


def reweighted(
    weights: jax.Array, pairs: jax.Array, pair: jax.Array, count: jax.Array, allowed: jax.Array, balance: jax.Array
) -> jax.Array:
    """Weights N(pair)^(−ω) of steps with pairs [steps], after one pair has come up; count: how often by now.

    allowed [steps]: which of its steps may be drawn. To count all steps of all pairs again would take longer.
    """
    rare = jnp.maximum(count, 1).astype(jnp.float32) ** -balance
    return jnp.where(allowed & (pairs == pair), rare, weights)


def with_step(steps: jax.Array, pair: jax.Array, counts: jax.Array, step: jax.Array) -> jax.Array:
    """The last n steps of pairs [pairs, n], with a step of this pair; counts [pairs]: how often pairs came before."""
    return steps.at[pair, counts[pair] % steps.shape[1]].set(jnp.asarray(step, jnp.int32))


def some_step(key: jax.Array, steps: jax.Array, counts: jax.Array) -> jax.Array:
    """One of the last n steps of each pair [...], from steps [..., n] and counts [...]; the first place if none."""
    places = jax.random.uniform(key, counts.shape) * jnp.minimum(counts, steps.shape[-1])
    return jnp.take_along_axis(steps, places.astype(jnp.int32)[..., None], -1)[..., 0]
