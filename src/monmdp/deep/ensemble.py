"""Ensembles of heads with random prior functions: many estimates F_k of action values or of rewards in one network.

F_k(x, a) = value(network(x)[k, a]) + β p_k(x, a);  p: a random network that is never trained, of variance about 1
loss = Σ_i,k m_ik H(two-hot(y_ik − β p_k(x_i, a_i)), network(x_i)[k, a_i]) / Σ_i,k m_ik,  m_ik ~ Bernoulli(ρ) for ever

BootstrappedDQN (Osband et al., 2016, 2018): F_k = Q_k, each with its own target, y_ik = r_i + γ Q_k⁻(x_i′, argmax Q_k)
DeepCautious (k of N, arXiv 2505.08988): F_k = R̂_k; the reward of a pair is the mean of its k smallest estimates
"""

import jax
import jax.numpy as jnp

from monmdp.deep import heads
from monmdp.deep.networks import Layers, network
from monmdp.deep.values import q_logits, q_values

#: Standard deviations of the prior by which bins go beyond the range of what is estimated.
PRIOR_ROOM = 3.0


def members(
    layers: Layers, prior: Layers, scale: jax.Array, inputs: jax.Array, bins: jax.Array, n_members: int
) -> jax.Array:
    """F [..., members, A] of inputs [..., inputs]; scale: β."""
    estimates = q_values(layers, inputs, bins) + scale * network(prior, inputs)
    return estimates.reshape(*estimates.shape[:-1], n_members, -1)


def members_loss(
    layers: Layers,
    prior: Layers,
    scale: jax.Array,
    inputs: jax.Array,
    actions: jax.Array,
    targets: jax.Array,
    masks: jax.Array,
    bins: jax.Array,
) -> jax.Array:
    """The mean cross-entropy of the actions taken [n] over steps and members, for targets and masks [n, members]."""
    rows, shape = jnp.arange(len(actions)), targets.shape
    logits = q_logits(layers, inputs, len(bins)).reshape(*shape, -1, len(bins))[rows, :, actions]
    known = scale * network(prior, inputs).reshape(*shape, -1)[rows, :, actions]
    return (masks * heads.loss(logits, targets - known, bins)).sum() / jnp.maximum(masks.sum(), 1.0)


def masks(key: jax.Array, steps: jax.Array, share: jax.Array, n_members: int) -> jax.Array:
    """m [n, members] of steps [n], always the same for the same step; share: ρ."""
    draw = jax.vmap(lambda step: jax.random.bernoulli(jax.random.fold_in(key, step), share, (n_members,)))
    return draw(steps).astype(jnp.float32)


def smallest(estimates: jax.Array, k: int) -> jax.Array:
    """The mean [..., A] of the k smallest of estimates [..., members, A]."""
    return jnp.sort(estimates, -2)[..., :k, :].mean(-2)


def mean_prior(prior: Layers, scale: jax.Array, n_members: int) -> Layers:
    """The network of β times the mean of p over members."""
    *layers, last = prior
    merged = {name: scale * array.reshape(*array.shape[:-1], n_members, -1).mean(-2) for name, array in last.items()}
    return [*layers, merged]
