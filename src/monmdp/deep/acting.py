"""What an agent with networks does: greedy on Q, a random action with probability ε, or toward a goal (`goals`).

Q and R̂ are those of the networks. With several heads, Q is that of the episode's head, and their mean for the policy
that is recorded; with several models, R̂ is the mean of the smallest estimates (`ensemble`).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from monmdp.deep.ensemble import members, smallest
from monmdp.deep.goals import (
    UNANSWERED,
    MonitorModel,
    apart,
    choose_goal,
    closeness_of,
    discouraged,
    kept,
    least_visits,
    monitor_model,
    pooled,
    ratio,
    toward,
)
from monmdp.deep.networks import Layers
from monmdp.deep.reach import reach_logits
from monmdp.deep.state import HEADS, Memory, Numbers, Plan, env_possible, pictures_of, possible
from monmdp.deep.values import best_action, q_values


def head_values(plan: Plan, numbers: Numbers, memory: Memory, layers: Layers, inputs: jax.Array) -> jax.Array:
    """Q of every head, [..., heads, A], by these layers."""
    return members(layers, memory.fixed["q"], numbers.prior_scale, inputs, numbers.q_bins, plan.heads)


def followed_values(plan: Plan, numbers: Numbers, memory: Memory, inputs: jax.Array) -> jax.Array:
    """Q [A] that the agent follows in this episode: of several heads, one."""
    if not plan.heads:
        return q_values(memory.networks["q"], inputs, numbers.q_bins)
    own = jax.random.fold_in(jax.random.fold_in(memory.key, HEADS), memory.episode)
    head = jax.random.randint(own, (), 0, plan.heads)
    return head_values(plan, numbers, memory, memory.networks["q"], inputs)[head]


def recorded_values(plan: Plan, numbers: Numbers, memory: Memory, inputs: jax.Array) -> jax.Array:
    """Q [..., A] of inputs [..., inputs], whose greedy policy is recorded: of several heads, their mean."""
    if plan.heads:
        return head_values(plan, numbers, memory, memory.mean, inputs).mean(-2)
    return q_values(memory.mean, inputs, numbers.q_bins)


def reward_values(plan: Plan, numbers: Numbers, memory: Memory, pictures: jax.Array) -> jax.Array:
    """R̂ [..., environment actions] of scaled pictures [..., D]: of several models, the mean of the smallest."""
    layers, bins = memory.slow["reward"], numbers.reward_bins
    if plan.models:
        estimates = members(layers, memory.fixed["reward"], numbers.prior_scale, pictures, bins, plan.models)
        return smallest(estimates, plan.smallest)
    return q_values(layers, pictures, bins)


class Choice(NamedTuple):
    """An action, whether it explores, and the goal pair with its age, -1 for none."""

    action: jax.Array
    exploring: jax.Array
    goal: jax.Array
    goal_age: jax.Array


def act(plan: Plan, numbers: Numbers, memory: Memory, inputs: jax.Array, here: jax.Array, step: jax.Array) -> Choice:
    """Choose an action from what the networks say about inputs [inputs]; here: the goal that the agent is in."""
    any_key, random_key = jax.random.split(jax.random.fold_in(memory.key, 2 * step))
    anything = jax.random.randint(any_key, (), 0, numbers.n_actions.astype(jnp.int32))
    slips = jax.random.uniform(random_key) < numbers.epsilon[step]
    allowed = possible(plan, numbers)
    q = followed_values(plan, numbers, memory, inputs)
    greedy = best_action(q, allowed)
    if not plan.directed:
        return Choice(jnp.where(slips, anything, greedy), slips, memory.goal, memory.goal_age)
    counts, costs = goal_counts(plan, numbers, memory, step), mean_costs(plan, memory)
    exploring = ratio(step, least_visits(counts, candidates(plan, memory))) > numbers.beta_bar
    reach = reach_here(plan, numbers, memory, inputs, here)
    n_monitor_actions = plan.n_actions // plan.n_env_actions
    if plan.live and plan.n_monitor_states == 1:  # what the monitor does makes no goal nearer, and no state better
        parts = reach.reshape(plan.n_env_actions, n_monitor_actions, -1)
        reach = jnp.broadcast_to(parts.max(1, keepdims=True), parts.shape).reshape(reach.shape)
        greedy = best_action(q, allowed & (costs[0] == costs.min()))
    goal, age = current_goal(plan, numbers, memory, counts, costs, reach, here, step)
    if plan.knows_ways:
        reach = discouraged(reach, *tried(plan, memory, here))
    way = toward(goal, reach, here, costs[here % plan.n_monitor_states], 0.5 * (1.0 - numbers.goal_discount))
    # where environment and monitor are explored apart, random moves are those of the environment, and ask no questions
    moves = anything - anything % n_monitor_actions + way % n_monitor_actions
    anything = jnp.where(plan.live | explored_apart(plan, memory), moves, anything)
    action = jnp.where(exploring, jnp.where(slips, anything, way), greedy)
    reached = goal == here * plan.n_actions + action
    return Choice(action, exploring, jnp.where(exploring & ~reached, goal, -1), age + 1)


def explored_apart(plan: Plan, memory: Memory) -> jax.Array:
    """Whether what the monitor did so far does not depend on the environment."""
    return ~memory.monitor_outcomes.varies.any() & plan.plans


def known_monitor(plan: Plan, memory: Memory) -> MonitorModel:
    """What is known of a monitor with several states."""
    shape = plan.n_codes, plan.n_monitor_states, plan.n_env_actions, -1
    outcomes, followed = memory.pair_outcomes, memory.followed.reshape(plan.n_monitor_states, -1, plan.n_monitor_states)
    return monitor_model(outcomes.next.reshape(shape), outcomes.varies.reshape(shape), followed)


def candidates(plan: Plan, memory: Memory) -> jax.Array:
    """The states that can be goals [goals]: those in which the agent acted or, where the monitor is explored apart, all
    codes with all monitor states in which it did."""
    if not plan.plans:
        return memory.seen
    seen = memory.seen.reshape(plan.n_codes, plan.n_monitor_states)
    product = seen.any(1, keepdims=True) & seen.any(0)
    return jnp.where(explored_apart(plan, memory), product, seen).ravel()


def reach_here(plan: Plan, numbers: Numbers, memory: Memory, inputs: jax.Array, here: jax.Array) -> jax.Array:
    """Ŝ [A, goals] of inputs [inputs] in a goal."""
    layers = memory.networks["reach"]
    if not plan.pools:
        return jax.nn.sigmoid(reach_logits(layers, inputs, possible(plan, numbers)))
    reach = jax.nn.sigmoid(reach_logits(layers, pictures_of(plan, inputs), env_possible(plan, numbers)))
    if not plan.plans:
        return jnp.repeat(reach, plan.n_actions // plan.n_env_actions, 0)
    code, monitor = jnp.divmod(here, plan.n_monitor_states)
    return apart(reach, code, monitor, known_monitor(plan, memory), numbers.goal_discount)


def tried(plan: Plan, memory: Memory, here: jax.Array) -> tuple[jax.Array, jax.Array]:
    """How often each action [A] was taken here toward goals, if not left to chance, and whether it changes nothing."""
    pairs = memory.code * plan.n_env_actions + jnp.arange(plan.n_env_actions)
    env, n_monitor_actions = memory.env_outcomes, plan.n_actions // plan.n_env_actions
    certain = ~env.varies[pairs]
    tries, stays = (
        jnp.repeat(each, n_monitor_actions)
        for each in (jnp.where(certain, memory.tries[pairs], 0), certain & (env.next[pairs] == memory.code))
    )
    if plan.plans:
        after = memory.pair_outcomes.next.reshape(-1, plan.n_actions)[here]
        stays &= after == here % plan.n_monitor_states
    return tries, stays


def current_goal(
    plan: Plan,
    numbers: Numbers,
    memory: Memory,
    counts: jax.Array,
    costs: jax.Array,
    reach: jax.Array,
    here: jax.Array,
    step: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """The goal that the agent keeps, or else a new one, and its age."""
    closeness, enough = closeness_of(reach, here), ratio(step, numbers.beta_bar)
    near = jnp.ones(plan.n_goals, jnp.bool_)
    if plan.knows_ways:
        near = jnp.repeat(memory.leads[memory.code], plan.n_monitor_states) & (closeness > 0.0)
    keeps = kept(memory.goal, memory.goal_age, numbers.goal_steps, near, plan.n_actions)
    goal = jnp.where(keeps, memory.goal, choose_goal(counts, candidates(plan, memory), near, closeness, costs, enough))
    return goal, jnp.where(keeps, memory.goal_age, 0)


def goal_counts(plan: Plan, numbers: Numbers, memory: Memory, step: jax.Array) -> jax.Array:
    """The counts [goals, A] from which goals are chosen; impossible actions count as visited infinitely often."""
    counts = memory.visits
    if plan.pooled:
        enough = ratio(step, numbers.beta_bar)
        varies = memory.env_outcomes.varies & (numbers.squared_radius == 0.0)  # codes of a region always vary
        joint = ~explored_apart(plan, memory)
        goes_on = (memory.monitor_outcomes.next >= 0) | (plan.n_monitor_states == 1)
        least, sizes = 0.0 if plan.live else UNANSWERED, (plan.n_monitor_states, plan.n_env_actions)
        counts = pooled(counts, memory.reward_visits, memory.shown, enough, varies, joint, goes_on, least, *sizes)
    if plan.live:
        counts += jnp.repeat(memory.missed, plan.n_actions // plan.n_env_actions, 1)
    return jnp.where(possible(plan, numbers), counts, jnp.inf)


def mean_costs(plan: Plan, memory: Memory) -> jax.Array:
    """The mean monitor cost [monitor states, A] of joint actions so far; 0 if never taken, or without pooled counts."""
    shape = -1, plan.n_monitor_states, plan.n_env_actions, plan.n_actions // plan.n_env_actions
    taken = memory.visits.reshape(shape).sum((0, 2))
    costs = -memory.earned.reshape(taken.shape) / jnp.maximum(taken, 1) * plan.pooled
    if plan.plans:  # of equal ones, those that leave the monitor as it is
        after, varies = memory.monitor_outcomes.next.reshape(taken.shape), memory.pair_outcomes.varies.reshape(shape)
        changes = (after >= 0) & (after != jnp.arange(len(after))[:, None]) & ~varies.any((0, 2))
        costs += 0.01 * jnp.maximum(jnp.abs(costs).max(), 1e-3) * changes
    return jnp.tile(costs, plan.n_env_actions)
