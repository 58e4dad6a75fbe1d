"""One update of all networks from replay.

loss = loss_Q + loss_R̂ (+ loss_Ŝ) (+ loss_f̂), each with its own network
θ ← θ − α_t ρ Adam(∇ loss),  α_t = α (c + (1 − c) (1 + cos(π t / T)) / 2)
ρ = 1, but for weights of inputs that stand for several numbers of an observation (`observations`)
θ⁻ ← θ⁻ + τ_t (θ − θ⁻), τ_t like α_t, but for Ŝ with pooled counts (`reach`)
targets and modelled rewards are those of θ⁻
θ̄ ← θ̄ + (θ − θ̄) (k + 1) / (n + k) after update n, for Q: with k = 25, an average over the last 4% of the updates
or so; recorded policies are those of θ̄. A smaller α_t makes θ vary more slowly, and averages over the same time keep
more of that: so c is not small.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import optax

from monmdp.deep.acting import head_values, reward_values
from monmdp.deep.batch import Batch, new_batch, replayed
from monmdp.deep.ensemble import masks, members_loss
from monmdp.deep.later import Path, later_codes, least_values, paths
from monmdp.deep.networks import Layers, faster
from monmdp.deep.novelty import bonuses, errors, updated
from monmdp.deep.reach import TRACKING, reach_logits, reach_loss, reach_targets, with_later
from monmdp.deep.replay import draw
from monmdp.deep.rewards import modelled_rewards, reward_loss
from monmdp.deep.state import MASKS, Memory, Numbers, Plan, env_possible, pictures_of, possible
from monmdp.deep.values import double_targets, q_loss, q_targets

#: k of the average θ̄.
WINDOW = 25.0
#: A function from the layers of a network to its loss.
Loss = Callable[[Layers], jax.Array]


def learn(plan: Plan, numbers: Numbers, memory: Memory, step: jax.Array) -> Memory:
    """One update of all networks from replay, after `step` + 1 steps."""
    keys = jax.random.split(jax.random.fold_in(memory.key, 2 * step + 1))
    batch = new_batch(plan, numbers, memory, keys[0])
    bonus = numbers.bonus / jnp.sqrt(jnp.maximum(memory.visits.ravel()[batch.entries.pair], 1))
    path = paths(plan, memory, batch.chosen, step) if plan.pools else None
    losses: dict[str, Loss] = {"reward": reward_learning(plan, numbers, memory, keys[1])}
    if plan.features:

        def novelty(predictor: Layers) -> jax.Array:
            return errors(predictor, memory.fixed["novelty"], batch.inputs, batch.entries.action, plan.features)

        found = novelty(memory.networks["predictor"])
        memory = memory._replace(novelty=updated(memory.novelty, found))
        bonus = bonuses(found, memory.novelty, numbers.bonus)
        losses["predictor"] = lambda layers: novelty(layers).mean()
    losses["q"] = q_learning(plan, numbers, memory, batch, bonus, path)
    if plan.directed:
        losses["reach"] = reach_learning(plan, numbers, memory, batch, path)
    learned = {name: jax.value_and_grad(loss)(memory.networks[name]) for name, loss in losses.items()}
    gradient = {name: own for name, (_, own) in learned.items()}
    direction, moments = optax.scale_by_adam().update(gradient, memory.moments)
    decay = (1.0 + jnp.cos(jnp.pi * step / plan.steps)) / 2.0
    rate = numbers.learning_rate * (numbers.last_learning_rate + (1.0 - numbers.last_learning_rate) * decay)
    tracking = numbers.tracking * (numbers.last_tracking + (1.0 - numbers.last_tracking) * decay)
    direction = {name: faster(layers, numbers.rates) for name, layers in direction.items()}
    networks = jax.tree.map(lambda value, change: value - rate * change, memory.networks, direction)
    shares = dict.fromkeys(memory.slow, tracking) | ({"reach": TRACKING} if plan.knows_ways else {})
    slow = {
        name: jax.tree.map(lambda old, new, share=share: old + share * (new - old), memory.slow[name], networks[name])
        for name, share in shares.items()
    }
    share = (WINDOW + 1.0) / (step // plan.every + 1.0 + WINDOW)
    mean = jax.tree.map(lambda old, new: old + share * (new - old), memory.mean, networks["q"])
    losses_now = jnp.stack([loss for loss, _ in learned.values()])
    return memory._replace(networks=networks, slow=slow, mean=mean, moments=moments, loss=losses_now)


def q_learning(plan: Plan, numbers: Numbers, memory: Memory, batch: Batch, bonus: jax.Array, path: Path | None) -> Loss:
    """The loss of Q with rewards that are observed or modelled, and a bonus [n]; path: what came after the steps."""
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
        if path is not None:
            targets = targets.at[:, 0].max(least_values(plan, numbers, memory, path, entries))
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


def reach_learning(plan: Plan, numbers: Numbers, memory: Memory, batch: Batch, path: Path | None) -> Loss:
    """The loss of Ŝ of codes, by environment actions or, without pooled counts, of goals; path: as in `q_learning`."""
    entries, actions, following = batch.entries, batch.entries.action, batch.entries.next_goal
    inputs, next_inputs, used, allowed = batch.inputs, batch.next_inputs, memory.seen, possible(plan, numbers)
    if plan.pools:
        actions, monitor_actions = jnp.divmod(actions, plan.n_actions // plan.n_env_actions)
        following = jnp.where(entries.terminated, -1, following // plan.n_monitor_states)
        inputs, next_inputs = batch.pictures, pictures_of(plan, next_inputs)
        used, allowed = used.reshape(plan.n_codes, -1).any(1), env_possible(plan, numbers)
    ahead = reach_logits(memory.slow["reach"], next_inputs, allowed)
    targets = reach_targets(ahead, following, entries.terminated, numbers.goal_discount)
    if path is not None:
        targets = with_later(targets, *later_codes(plan, memory, path), numbers.goal_discount)
    if plan.plans:
        goes_on = (memory.monitor_outcomes.next >= 0).reshape(plan.n_monitor_states, -1)
        known = goes_on.any(1)[entries.next_monitor, None] | (targets == 1.0)
        used = used & goes_on[entries.monitor, monitor_actions, None] & known

    def loss(layers: Layers) -> jax.Array:
        return reach_loss(reach_logits(layers, inputs, allowed)[jnp.arange(plan.batch), actions], targets, used)

    return loss
