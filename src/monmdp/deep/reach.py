"""The reach network Ŝ(o, a; g): the discounted probability of reaching the state g, for all goals g at once.

target_g = 1 if the next state is g, else γ_S max_b Ŝ⁻(o′, b; g), and 0 instead of the latter after termination
loss = mean over steps and visited goals of the binary cross-entropy of Ŝ(o, a; g) = sigmoid(network(o)[a, g])

A goal is a code and a monitor state. The network learns from transitions only, never from rewards.
"""

import jax
import jax.numpy as jnp

from monmdp.deep.networks import Layers, network

#: Ŝ before any step is about this: logit(0.02).
FIRST_LOGIT = -3.9


def reach_logits(layers: Layers, inputs: jax.Array, possible: jax.Array) -> jax.Array:
    """Logits of Ŝ, [..., A, goals]; possible [A]: whether the problem has an action."""
    outputs = network(layers, inputs, precise=False)
    return jnp.where(possible[:, None], outputs.reshape(*outputs.shape[:-1], len(possible), -1), -jnp.inf)


def reach_targets(
    slow: Layers,
    next_inputs: jax.Array,
    next_goals: jax.Array,
    terminated: jax.Array,
    discount: jax.Array,
    possible: jax.Array,
) -> jax.Array:
    """Targets [n, goals]; slow: the target network; next_goals [n]: the goal that the next state is."""
    ahead = jax.nn.sigmoid(reach_logits(slow, next_inputs, possible).max(-2))
    later = jnp.where(terminated[:, None], 0.0, discount * ahead)
    return jnp.where(jnp.arange(ahead.shape[-1]) == next_goals[:, None], 1.0, later)


def reach_loss(
    layers: Layers, inputs: jax.Array, actions: jax.Array, targets: jax.Array, visited: jax.Array, possible: jax.Array
) -> jax.Array:
    """The mean binary cross-entropy over steps and visited goals [goals]."""
    logits = reach_logits(layers, inputs, possible)[jnp.arange(len(actions)), actions]
    losses = jax.nn.softplus(logits) - targets * logits
    return (visited * losses).sum() / (len(actions) * jnp.maximum(visited.sum(), 1))
