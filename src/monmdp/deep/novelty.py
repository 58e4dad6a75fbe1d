"""Novelty of a pair by random network distillation (Burda et al., 2018): what was seen often is predicted well.

e(x, a) = mean_j (f̂(x)[a, j] − f(x)[a, j])²;  f: a random network that is never trained, f̂: its predictor
loss = mean of e over a batch;  bonus = b min(e / σ, 1),  σ: standard deviation of e over all batches so far

A pair has its own features, as a pair has its own count: asking for a reward can be new where moving is not.
"""

import jax
import jax.numpy as jnp

from monmdp.deep.networks import Layers, network

#: The smallest σ.
SMALLEST = 1e-8


def errors(predictor: Layers, fixed: Layers, inputs: jax.Array, actions: jax.Array, n_features: int) -> jax.Array:
    """e [n] of inputs [n, inputs] and actions [n]; n_features: the number of j."""
    differences = network(predictor, inputs) - network(fixed, inputs)
    own = differences.reshape(len(actions), -1, n_features)[jnp.arange(len(actions)), actions]
    return (own**2).mean(-1)


def updated(moments: jax.Array, found: jax.Array) -> jax.Array:
    """The number of batches and the mean of e and of e² over them [3], with another batch of errors [n]."""
    n = moments[0] + 1.0
    means = moments[1:] + (jnp.stack([found.mean(), (found**2).mean()]) - moments[1:]) / n
    return jnp.concatenate([n[None], means])


def bonuses(found: jax.Array, moments: jax.Array, bonus: jax.Array) -> jax.Array:
    """The intrinsic reward [n] of errors [n]; bonus: b."""
    spread = jnp.sqrt(jnp.maximum(moments[2] - moments[1] ** 2, 0.0))
    return bonus * jnp.minimum(found / jnp.maximum(spread, SMALLEST), 1.0)
