"""One update of all networks from replay.

loss = loss_Q + loss_R̂ (+ loss_Ŝ) (+ loss_f̂), each with its own network
θ ← θ − α_t Adam(∇ loss),  α_t = α (c + (1 − c) (1 + cos(π t / T)) / 2)
θ⁻ ← θ⁻ + τ_t (θ − θ⁻), τ_t like α_t; targets, modelled rewards and recorded policies are those of θ⁻
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from monmdp.deep.acting import explored_apart, head_values, planned, reward_values
from monmdp.deep.ensemble import masks, members_loss
from monmdp.deep.networks import Layers
from monmdp.deep.novelty import bonuses, errors, updated
from monmdp.deep.reach import code_layers, goal_layers, reach_logits, reach_loss, reach_targets
from monmdp.deep.replay import History, draw, some_step
from monmdp.deep.rewards import modelled_rewards, reward_loss
from monmdp.deep.state import (
    MASKS,
    Memory,
    Numbers,
    Plan,
    apart_from_monitor,
    env_possible,
    env_visits,
    joined,
    picture,
    possible,
    scaled,
)
from monmdp.deep.values import double_targets, q_loss, q_targets


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


#: A monitor pair after which none of so many episodes went on ends episodes.
MANY = 10
#: A function from the layers of a network to its loss.
Loss = Callable[[Layers], jax.Array]


def learn(plan: Plan, numbers: Numbers, memory: Memory, step: jax.Array) -> Memory:
    """One update of all networks from replay, after `step` + 1 steps."""
    keys = jax.random.split(jax.random.fold_in(memory.key, 2 * step + 1))
    batch = new_batch(plan, numbers, memory, keys[0])
    bonus = numbers.bonus / jnp.sqrt(jnp.maximum(memory.visits.ravel()[batch.entries.pair], 1))
    losses: dict[str, Loss] = {"reward": reward_learning(plan, numbers, memory, keys[1])}
    if plan.features:

        def novelty(predictor: Layers) -> jax.Array:
            return errors(predictor, memory.fixed["novelty"], batch.inputs, batch.entries.action, plan.features)

        found = novelty(memory.networks["predictor"])
        memory = memory._replace(novelty=updated(memory.novelty, found))
        bonus = bonuses(found, memory.novelty, numbers.bonus)
        losses["predictor"] = lambda layers: novelty(layers).mean()
    losses["q"] = q_learning(plan, numbers, memory, batch, bonus)
    if plan.directed:
        losses["reach"] = reach_learning(plan, numbers, memory, batch)

    def total(networks: dict[str, Any]) -> tuple[jax.Array, jax.Array]:
        parts = [losses[name](layers) for name, layers in networks.items()]
        return sum(parts, jnp.zeros(())), jnp.stack(parts)

    gradient, parts = jax.grad(total, has_aux=True)(memory.networks)
    direction, moments = optax.scale_by_adam().update(gradient, memory.moments)
    decay = (1.0 + jnp.cos(jnp.pi * step / plan.steps)) / 2.0
    rate = numbers.learning_rate * (numbers.last_learning_rate + (1.0 - numbers.last_learning_rate) * decay)
    tracking = numbers.tracking * (numbers.last_tracking + (1.0 - numbers.last_tracking) * decay)
    networks = jax.tree.map(lambda value, change: value - rate * change, memory.networks, direction)
    slow = {
        name: jax.tree.map(lambda old, new: old + tracking * (new - old), layers, networks[name])
        for name, layers in memory.slow.items()
    }
    return memory._replace(networks=networks, slow=slow, moments=moments, loss=parts)


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


def q_learning(plan: Plan, numbers: Numbers, memory: Memory, batch: Batch, bonus: jax.Array) -> Loss:
    """The loss of Q with rewards that are observed or modelled, and a bonus [n]."""
    entries, bins, allowed = batch.entries, numbers.q_bins, possible(plan, numbers)
    env_actions = entries.action // (plan.n_actions // plan.n_env_actions)
    if plan.models:
        modelled = reward_values(plan, numbers, memory, batch.pictures)[jnp.arange(plan.batch), env_actions]
    else:
        ever = memory.reward_visits[entries.env_pair] > 0
        modelled = modelled_rewards(
            memory.slow["reward"], batch.pictures, env_actions, ever, numbers.minimum_reward, numbers.reward_bins
        )
    rewards = jnp.where(numbers.uses_model > 0.0, modelled, entries.env_reward)
    rewards += bonus
    used = jnp.where(entries.known, 1.0, 1.0 - numbers.ignores)
    if not plan.heads:
        both, ways = (memory.networks["q"], memory.slow["q"]), batch.ways
        rewards = rewards[:, None] + ways.monitor_reward
        discounts = jnp.where(ways.terminated, 0.0, numbers.discount)
        targets = q_targets(*both, rewards, batch.way_inputs, discounts, allowed, bins)
        used = used[:, None] * batch.tried
        return lambda layers: q_loss(layers, batch.inputs, ways.action, targets, used, bins)
    rewards += entries.monitor_reward
    discounts = jnp.where(entries.terminated, 0.0, numbers.discount)
    q, slow = (
        head_values(plan, numbers, memory, each["q"], batch.next_inputs) for each in (memory.networks, memory.slow)
    )
    targets = double_targets(q, slow, rewards[:, None], discounts[:, None], allowed)
    own = used[:, None] * masks(jax.random.fold_in(memory.key, MASKS), batch.chosen, numbers.share, plan.heads)
    prior, scale = memory.fixed["q"], numbers.prior_scale
    return lambda layers: members_loss(layers, prior, scale, batch.inputs, entries.action, targets, own, bins)


def reward_learning(plan: Plan, numbers: Numbers, memory: Memory, key: jax.Array) -> Loss:
    """The loss of R̂, from a batch of the steps so far whose reward is known."""
    history, bins = memory.history, numbers.reward_bins
    chosen = draw(key, memory.reward_weights, plan.batch)
    pictures = replayed(numbers, memory, history.picture[chosen], chosen)
    actions = history.action[chosen] // (plan.n_actions // plan.n_env_actions)
    rewards, any_known = history.env_reward[chosen], jnp.full(plan.batch, memory.shown.any(), jnp.float32)
    if not plan.models:
        return lambda layers: reward_loss(layers, pictures, actions, rewards, any_known, bins)
    targets, used = (jnp.tile(each[:, None], plan.models) for each in (rewards, any_known))
    prior, scale = memory.fixed["reward"], numbers.prior_scale
    return lambda layers: members_loss(layers, prior, scale, pictures, actions, targets, used, bins)


def reach_learning(plan: Plan, numbers: Numbers, memory: Memory, batch: Batch) -> Loss:
    """The loss of Ŝ: of goals or, while the way to monitor states is planned, of codes alone."""
    entries, slow, inputs = batch.entries, memory.slow["reach"], jnp.stack([batch.inputs, batch.next_inputs])

    def logits_and_targets(
        layers: Layers, slow: Layers, inputs: jax.Array, allowed: jax.Array, actions: jax.Array, following: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        ahead = reach_logits(slow, inputs[1], allowed)
        targets = reach_targets(ahead, following, entries.terminated, numbers.goal_discount)
        return reach_logits(layers, inputs[0], allowed)[jnp.arange(plan.batch), actions], targets

    def of_goals(layers: Layers) -> jax.Array:
        networks, allowed = (goal_layers(layers), goal_layers(slow)), possible(plan, numbers)
        parts = logits_and_targets(*networks, inputs, allowed, entries.action, entries.next_goal)
        return reach_loss(*parts, memory.seen)

    def of_codes(layers: Layers) -> jax.Array:
        n_monitor_actions = plan.n_actions // plan.n_env_actions
        actions, monitor_actions = jnp.divmod(entries.action, n_monitor_actions)
        networks, following = (code_layers(layers), code_layers(slow)), entries.next_goal // plan.n_monitor_states
        parts = apart_from_monitor(plan, inputs), env_possible(plan, numbers), actions, following
        logits, targets = logits_and_targets(*networks, *parts)
        goes_on = (memory.monitor_outcomes.next >= 0).reshape(-1, n_monitor_actions)
        used = goes_on[entries.monitor, monitor_actions, None]
        known = goes_on.any(1)[entries.next_monitor, None] | (targets == 1.0)
        return reach_loss(logits, targets, memory.seen.reshape(plan.n_codes, -1).any(1) & used & known)

    if not plan.n_code_goals:
        return of_goals
    return lambda layers: jax.lax.cond(planned(plan, memory), of_codes, of_goals, layers)
