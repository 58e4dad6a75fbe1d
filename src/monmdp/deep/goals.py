"""The goal of exploration and the rule when to explore (the paper's Algorithm 1, with a network in place of tables).

goal = among the pairs (g, a) with the smallest N(g, a), the one with the largest max_b Ŝ(o, b; g)
β = log(t + 2) / N(goal); the agent explores while β > β̄
toward the goal: a if the agent is in g, else argmax_b Ŝ(o, b; g)
"""

import jax
import jax.numpy as jnp


def least_visits(visits: jax.Array, seen: jax.Array) -> jax.Array:
    """The smallest number of visits [] of pairs [goals, A] in states that were seen [goals]."""
    return jnp.where(seen[:, None], visits, jnp.iinfo(jnp.int32).max).min()


def ratio(step: jax.Array, least: jax.Array) -> jax.Array:
    """β of a step; infinite if a pair was never visited."""
    return jnp.log(step + 2.0) / least


def choose_goal(visits: jax.Array, seen: jax.Array, reach: jax.Array, here: jax.Array) -> jax.Array:
    """The goal pair; reach [A, goals]: Ŝ from here; here: the goal that the agent is in, which it has reached."""
    closeness = jnp.where(jnp.arange(len(seen)) == here, 1.0, reach.max(0))
    rarest = (visits == least_visits(visits, seen)) & seen[:, None]
    return jnp.where(rarest, closeness[:, None], -1.0).argmax()


def toward(goal: jax.Array, reach: jax.Array, here: jax.Array) -> jax.Array:
    """The action toward a goal pair."""
    state, action = goal // reach.shape[0], goal % reach.shape[0]
    return jnp.where(state == here, action, reach[:, state].argmax())
