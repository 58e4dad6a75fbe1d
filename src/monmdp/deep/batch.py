"""A batch of steps from replay, and what each of them teaches about other steps.

The environment does not depend on the monitor, so with pooled counts and exact codes a step (o, s_M, a) also teaches
- another monitor action, tried before in the same (o, s_M, a_E): its r_M and s_M′, with an o′ that followed (o, a_E);
- while what the monitor does has not varied for any (s_M, a_M), for half of the steps, any other (s_M, a_M): the r_M
  and s_M′ that followed it before or, if none of many episodes went on after it, the end of the episode.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from monmdp.deep.acting import explored_apart
from monmdp.deep.replay import History, draw, some_step
from monmdp.deep.state import Memory, Numbers, Plan, env_visits, joined, picture, scaled

#: A monitor pair after which none of so many episodes went on ends episodes.
MANY = 10


class Batch(NamedTuple):
    """Steps from replay: their numbers [n] and entries, scaled pictures, inputs of networks before and after.

    ways, way_inputs and tried [n, m]: what Q learns from, the steps themselves first; inputs after them, and whether
    there is such a way.
    """

    chosen: jax.Array
    entries: History
    pictures: jax.Array
    inputs: jax.Array
    next_inputs: jax.Array
    ways: History
    way_inputs: jax.Array
    tried: jax.Array


def replayed(numbers: Numbers, memory: Memory, rows: jax.Array, clocks: jax.Array) -> jax.Array:
    """Scaled pictures [n, D] of environment states at some moments, [n] each."""
    return scaled(memory.codes, jax.vmap(partial(picture, numbers, memory.key))(rows, clocks))


def new_batch(plan: Plan, numbers: Numbers, memory: Memory, key: jax.Array) -> Batch:
    """A batch of the steps so far."""
    chosen, other = draw(key, memory.weights, plan.batch), jax.random.fold_in(key, 1)
    entries = jax.tree.map(lambda array: array[chosen], memory.history)
    if plan.live and plan.directed and plan.n_monitor_states == 1:
        entries = with_any_monitor_action(plan, memory, entries, other)
    pictures = replayed(numbers, memory, entries.picture, chosen)
    monitors = entries.monitor
    if plan.pools:
        ways, moments, tried = two_ways(plan, numbers, memory, entries, chosen, other)
        if plan.n_monitor_states > 1:
            monitors, ways, tried = any_monitor_state(plan, memory, ways, tried, jax.random.fold_in(key, 2))
    else:
        ways, moments, tried = jax.tree.map(lambda array: array[:, None], (entries, chosen, entries.action >= 0))
    clocks = jnp.where(ways.ended, plan.steps + 1, 1) + moments
    after = replayed(numbers, memory, ways.next_picture.ravel(), clocks.ravel())
    way_inputs = joined(plan, after, ways.next_monitor.ravel()).reshape(*tried.shape, -1)
    entries, inputs = jax.tree.map(lambda array: array[:, 0], ways), joined(plan, pictures, monitors)
    return Batch(chosen, entries, pictures, inputs, way_inputs[:, 0], ways, way_inputs, tried)


def two_ways(
    plan: Plan, numbers: Numbers, memory: Memory, entries: History, chosen: jax.Array, key: jax.Array
) -> tuple[History, jax.Array, jax.Array]:
    """Steps and what followed another monitor action there, the steps after which that is seen, and whether there is
    one, [n, 2]; [n, 1] if the monitor has one action.

    The environment does not depend on the monitor. So a step also teaches a monitor action that was tried there before,
    with the same next environment state, which followed some step with the same environment pair: the environment's
    chance does not hide what the monitor is worth. Steps that end an episode are left alone.
    """
    action_key, way_key, outcome_key = jax.random.split(key, 3)
    n_monitor_actions, exact = plan.n_actions // plan.n_env_actions, numbers.squared_radius == 0.0
    steps, tried = chosen[:, None], jnp.ones((plan.batch, 1), jnp.bool_)
    if n_monitor_actions > 1:
        own = entries.action % n_monitor_actions
        drawn = (own + jax.random.randint(action_key, own.shape, 1, n_monitor_actions)) % n_monitor_actions
        pairs = entries.pair - own + drawn
        counts = memory.visits.ravel()[pairs]
        others = some_step(way_key, memory.steps_of_pair[pairs], counts)
        steps, tried = jnp.stack([chosen, others], 1), jnp.stack([tried[:, 0], (counts > 0) & exact], 1)
    counts = env_visits(plan, memory.visits)[entries.env_pair]
    outcomes = some_step(outcome_key, memory.steps_of_env_pair[entries.env_pair], counts)[:, None]
    ways, other = (jax.tree.map(lambda array, at=at: array[at], memory.history) for at in (steps, outcomes))
    pooled = ~ways.ended & ~other.ended & exact
    next_goal = other.next_goal // plan.n_monitor_states * plan.n_monitor_states + ways.next_monitor
    ways = ways._replace(
        next_picture=jnp.where(pooled, other.next_picture, ways.next_picture),
        next_goal=jnp.where(pooled, next_goal, ways.next_goal),
    )
    return ways, jnp.where(pooled, outcomes, steps), tried


def any_monitor_state(
    plan: Plan, memory: Memory, ways: History, tried: jax.Array, key: jax.Array
) -> tuple[jax.Array, History, jax.Array]:
    """Monitor states [n], and steps from there and whether there are such [n, m]: half of them from any monitor state.

    If what the monitor does has not varied for any monitor pair, it does not depend on the environment either. So what
    the environment did in a step also follows other monitor pairs, with what the monitor did after these before. Steps
    take part if an episode ever went on after their monitor pair: otherwise the monitor may have ended it. If none of
    many episodes went on after the other pair, the step ends one there.
    """
    (n, m), n_monitor_actions = tried.shape, plan.n_actions // plan.n_env_actions
    parts = -1, plan.n_monitor_states, plan.n_env_actions, n_monitor_actions
    outcomes, monitors = memory.monitor_outcomes, ways.monitor[:, 0]
    env_actions, own = jnp.divmod(ways.action[:, :1], n_monitor_actions)
    swap_key, state_key, action_key, other_key = jax.random.split(key, 4)
    drawn = jax.random.randint(state_key, (n,), 0, plan.n_monitor_states)
    first = jax.random.randint(action_key, (n, 1), 0, n_monitor_actions)
    others = first + jax.random.randint(other_key, (n, m - 1), 1, max(n_monitor_actions, 2))
    actions = jnp.concatenate([first, others], 1) % n_monitor_actions
    pairs = drawn[:, None] * n_monitor_actions + actions
    goes_on = outcomes.next[pairs] >= 0
    ends = ~goes_on & (memory.visits.reshape(parts).sum((0, 2)).ravel()[pairs] >= MANY)
    next_monitor = jnp.maximum(outcomes.next[pairs], 0)
    swaps = jax.random.bernoulli(swap_key, 0.5, (n,)) & explored_apart(plan, memory)
    follows = goes_on | ends
    swaps &= follows[:, 0] & (outcomes.next[monitors * n_monitor_actions + own[:, 0]] >= 0)
    same_outcome = jax.tree.map(lambda array: jnp.broadcast_to(array[:, :1], array.shape), ways)
    swapped = same_outcome._replace(
        monitor=jnp.broadcast_to(drawn[:, None], (n, m)),
        action=env_actions * n_monitor_actions + actions,
        monitor_reward=jnp.where(follows, outcomes.reward[pairs], 0.0),
        terminated=same_outcome.terminated | ends,
        next_monitor=next_monitor,
        next_goal=same_outcome.next_goal // plan.n_monitor_states * plan.n_monitor_states + next_monitor,
    )
    ways = jax.tree.map(lambda new, old: jnp.where(swaps[:, None], new, old), swapped, ways)
    return ways.monitor[:, 0], ways, jnp.where(swaps[:, None], follows, tried)


def with_any_monitor_action(plan: Plan, memory: Memory, entries: History, key: jax.Array) -> History:
    """Steps with other monitor actions, drawn at random, and their mean monitor rewards, for monitors with one state.

    Such a monitor's action changes the monitor reward only, so that all its actions can learn from every step.
    """
    n_monitor_actions = plan.n_actions // plan.n_env_actions
    taken = memory.visits.reshape(-1, n_monitor_actions).sum(0)
    drawn = jax.random.randint(key, entries.action.shape, 0, n_monitor_actions)
    own = entries.action % n_monitor_actions
    drawn = jnp.where(taken[drawn] > 0, drawn, own)
    means = memory.earned / jnp.maximum(taken, 1)
    return entries._replace(action=entries.action - own + drawn, monitor_reward=means[drawn])
