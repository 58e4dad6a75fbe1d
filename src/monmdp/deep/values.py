"""Double Q-learning with a distribution over bins (`heads`).

target = r + γ Q⁻(o′, argmax_a Q(o′, a)), or r after termination; r = R̂(o, a) + r_M (+ bonus / √N)
loss = Σ_i w_i H(two-hot(target_i), Q(o_i, a_i)) / Σ_i w_i
An accelerator may round products of matrices in targets and losses to three digits; values that are followed or
recorded have full precision.
"""

import jax
import jax.numpy as jnp

from monmdp.deep import heads
from monmdp.deep.networks import Layers, network


def q_logits(layers: Layers, inputs: jax.Array, n_bins: int, precise: bool = True) -> jax.Array:
    """Logits [..., A, bins] of inputs [..., inputs]; precise: see `network`."""
    outputs = network(layers, inputs, precise)
    return outputs.reshape(*outputs.shape[:-1], -1, n_bins)


def q_values(layers: Layers, inputs: jax.Array, bins: jax.Array, precise: bool = True) -> jax.Array:
    """Action values [..., A]; precise: see `network`."""
    return heads.value(q_logits(layers, inputs, len(bins), precise), bins)


def best_action(q: jax.Array, possible: jax.Array) -> jax.Array:
    """The action [...] with the largest value of q [..., A] that is possible [A]."""
    return jnp.where(possible, q, -jnp.inf).argmax(-1)


def double_targets(
    q: jax.Array, slow: jax.Array, rewards: jax.Array, discounts: jax.Array, possible: jax.Array
) -> jax.Array:
    """Targets [...] from the next action values [..., A] of the network and of its target network."""
    ahead = jnp.take_along_axis(slow, best_action(q, possible)[..., None], -1)[..., 0]
    return rewards + discounts * ahead


def value_of(layers: Layers, inputs: jax.Array, actions: jax.Array, bins: jax.Array, precise: bool = True) -> jax.Array:
    """Values [...] of one action [...] each; faster than those of all. precise: see `network`."""
    logits = q_logits(layers, inputs, len(bins), precise)
    return heads.value(jnp.take_along_axis(logits, actions[..., None, None], -2)[..., 0, :], bins)


def q_targets(
    layers: Layers,
    slow: Layers,
    rewards: jax.Array,
    next_inputs: jax.Array,
    discounts: jax.Array,
    possible: jax.Array,
    bins: jax.Array,
) -> jax.Array:
    """Targets [...]; slow: the target network; discounts [...]: γ, or 0 after termination; possible [A]: actions."""
    best = best_action(q_values(layers, next_inputs, bins, precise=False), possible)
    return rewards + discounts * value_of(slow, next_inputs, best, bins, precise=False)


def q_loss(
    layers: Layers, inputs: jax.Array, actions: jax.Array, targets: jax.Array, weights: jax.Array, bins: jax.Array
) -> jax.Array:
    """The mean cross-entropy of actions [n] or [n, m] in n places, weighted like them; 0 if all weights are."""
    logits = jax.vmap(lambda own, which: own[which])(q_logits(layers, inputs, len(bins), precise=False), actions)
    return (weights * heads.loss(logits, targets, bins)).sum() / jnp.maximum(weights.sum(), 1.0)
