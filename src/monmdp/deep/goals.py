"""The goal of exploration and the rule when to explore (the paper's Algorithm 1, with a network in place of tables).

goal = among the pairs (g, a) with the smallest N(g, a), the one with the largest max_b Ŝ(o, b; g)
β = log(t + 2) / N(goal); the agent explores while β > β̄
toward the goal: a if the agent is in g, else argmax_b Ŝ(o, b; g)

Pooled counts share what is learned: with N_E(c, a_E) and N_M(s_M, a_M) the visits of the parts of a pair, N_R(c, a_E)
rewards observed, and T(c, a_E) visits with a monitor pair that has ever shown a reward,
N(g, a) = min{N_E, N_M, N_A} + F, where N_A = max{κ N_R, T} while that is less than log(t + 2) / β̄ and if the monitor
pair of (g, a) has ever shown a reward, else infinite, and F(g, a) counts how often the goal was not reached;
and toward the goal, of all b with Ŝ(o, b; g) ≥ (1 − δ) max Ŝ, one with the largest mean monitor reward is taken.
"""

import jax
import jax.numpy as jnp

#: κ: an observed reward counts as this number of visits, since a reward model generalises; δ.
REWARD_WEIGHT, SLACK = 10, 0.1


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


def pooled(
    visits: jax.Array,
    reward_visits: jax.Array,
    shown: jax.Array,
    enough: jax.Array,
    n_monitor_states: int,
    n_env_actions: int,
) -> jax.Array:
    """Pooled counts [goals, A] from visits [goals, A] and rewards observed, by env pair and by monitor pair [pairs].

    enough: the number of visits from which on no answer is needed.
    """
    parts = visits.reshape(-1, n_monitor_states, n_env_actions, visits.shape[1] // n_env_actions)
    env = parts.sum((1, 3))[:, None, :, None]
    monitor = parts.sum((0, 2))[None, :, None, :]
    shows = (shown > 0).reshape(monitor.shape)
    tries = (parts * shows).sum((1, 3))[:, None, :, None]
    rewards = jnp.maximum(REWARD_WEIGHT * reward_visits.reshape(env.shape), tries)
    counts = jnp.minimum(env, monitor)
    return jnp.where(shows & (rewards < enough), jnp.minimum(counts, rewards), counts).reshape(visits.shape)


def frugal(goal: jax.Array, reach: jax.Array, here: jax.Array, monitor_rewards: jax.Array) -> jax.Array:
    """The action toward a goal pair that costs least; monitor_rewards [A]: those expected here."""
    state, action = goal // reach.shape[0], goal % reach.shape[0]
    near = reach[:, state]
    enough = near >= (1.0 - SLACK) * near.max()
    cheap = enough & (monitor_rewards == jnp.where(enough, monitor_rewards, -jnp.inf).max())
    return jnp.where(state == here, action, jnp.where(cheap, near, -1.0).argmax())
