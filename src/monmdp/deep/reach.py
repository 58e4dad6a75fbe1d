"""The reach network Ŝ(o, a; g): the discounted probability of reaching the state g, for all goals g at once.

target_g = 1 if the next state is g, else γ_S max_b Ŝ⁻(o′, b; g), and 0 instead of the latter after termination; with
pooled counts at least γ_S^k if g came k steps later (`later`)
loss = mean over steps and visited goals of the binary cross-entropy of Ŝ(o, a; g) = sigmoid(network(o)[a, g])

With pooled counts, goals of the network are codes, and it sees nothing of the monitor, Ŝ(o, a_E; c): what the monitor
does is planned (`goals`). After termination no action follows, so all targets are 0. Where no episode ever
went on, as with an empty battery, the monitor may have ended it: such steps are left out, and of a step to such a
monitor state only the goal that it reaches is used.
Without, a goal is a code and a monitor state, and the network sees both.
The network learns from transitions only, never from rewards.
"""

import jax
import jax.numpy as jnp

from monmdp.deep.networks import Layers, network

#: The logit of Ŝ before any update: 0.02.
FIRST_LOGIT = -3.9
#: τ of its target network with pooled counts: Ŝ is at most 1, so that targets may follow fast.
TRACKING = 0.3


def reach_logits(layers: Layers, inputs: jax.Array, possible: jax.Array) -> jax.Array:
    """Logits of Ŝ, [..., actions, goals]; possible [actions]: whether the problem has an action."""
    outputs = network(layers, inputs, precise=False)
    return jnp.where(possible[:, None], outputs.reshape(*outputs.shape[:-1], len(possible), -1), -jnp.inf)


def reach_targets(logits: jax.Array, following: jax.Array, terminated: jax.Array, discount: jax.Array) -> jax.Array:
    """Targets [n, goals]; logits [n, A, goals]: of the next inputs, by the target network; following [n]: the goal that
    the next state is."""
    ahead = jax.nn.sigmoid(logits.max(-2))
    later = jnp.where(terminated[:, None], 0.0, discount * ahead)
    return jnp.where(jnp.arange(ahead.shape[-1]) == following[:, None], 1.0, later)


def with_later(targets: jax.Array, following: jax.Array, sure: jax.Array, discount: jax.Array) -> jax.Array:
    """Targets [n, goals] that are at least γ_S^k for the goals [n, k] that came 1, 2, … steps later, if sure [n, k]."""
    least = jnp.where(sure, discount ** jnp.arange(1, following.shape[1] + 1), 0.0)
    return targets.at[jnp.arange(len(targets))[:, None], following].max(least)


def reach_loss(logits: jax.Array, targets: jax.Array, used: jax.Array) -> jax.Array:
    """The mean binary cross-entropy of logits [n, goals] over those that are used, [goals] or [n, goals]."""
    losses, used = jax.nn.softplus(logits) - targets * logits, jnp.broadcast_to(used, logits.shape)
    return (used * losses).sum() / jnp.maximum(used.sum(), 1)
