"""The reach network Ŝ(o, a; g): the discounted probability of reaching the state g, for all goals g at once.

target_g = 1 if the next state is g, else γ_S max_b Ŝ⁻(o′, b; g), and 0 instead of the latter after termination
loss = mean over steps and visited goals of the binary cross-entropy of Ŝ(o, a; g) = sigmoid(network(o)[a, g])

A goal is a code and a monitor state. Where the monitor has several states, the network has outputs for codes alone too,
Ŝ(o, a_E; c), with the same target and loss: they say how far it is to c whatever the monitor does. Where no episode
ever went on, as with an empty battery, the monitor may have ended it: such steps are left out, and of a step to such a
monitor state only the goal that it reaches is used. While the monitor is explored apart (`goals`), these learn, else
the others, since both at once are learned worse.
The network learns from transitions only, never from rewards.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from monmdp.deep.networks import Layers, network

#: Ŝ before any step is about this: logit(0.02).
FIRST_LOGIT = -3.9


class Logits(NamedTuple):
    """Logits of Ŝ for goals [..., A, goals] and for codes alone [..., environment actions, codes], or without these."""

    goals: jax.Array
    codes: jax.Array


def reach_logits(layers: Layers, inputs: jax.Array, possible: jax.Array, n_goals: int, n_env_actions: int) -> Logits:
    """Logits of Ŝ; possible [A]: whether the problem has an action."""
    outputs, n_actions = network(layers, inputs, precise=False), len(possible)
    parts = jnp.split(outputs, [n_actions * n_goals], -1)
    shape = outputs.shape[:-1]
    goals, codes = (part.reshape(*shape, n, -1) for part, n in zip(parts, (n_actions, n_env_actions), strict=True))
    env_possible = possible[:: n_actions // n_env_actions]
    allowed = possible[:, None], env_possible[:, None]
    return Logits(*(jnp.where(own, part, -jnp.inf) for own, part in zip(allowed, (goals, codes), strict=True)))


def reach_targets(logits: jax.Array, following: jax.Array, terminated: jax.Array, discount: jax.Array) -> jax.Array:
    """Targets [n, goals]; logits [n, A, goals]: of the next inputs, by the target network; following [n]: the goal that
    the next state is."""
    ahead = jax.nn.sigmoid(logits.max(-2))
    later = jnp.where(terminated[:, None], 0.0, discount * ahead)
    return jnp.where(jnp.arange(ahead.shape[-1]) == following[:, None], 1.0, later)


def reach_loss(logits: jax.Array, targets: jax.Array, used: jax.Array) -> jax.Array:
    """The mean binary cross-entropy of logits [n, goals] over those that are used, [goals] or [n, goals]."""
    losses, used = jax.nn.softplus(logits) - targets * logits, jnp.broadcast_to(used, logits.shape)
    return (used * losses).sum() / jnp.maximum(used.sum(), 1)
