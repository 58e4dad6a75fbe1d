"""Numbers as distributions over bins: cross-entropy learns values of very different sizes, where squares do not.

symlog(x) = sign(x) log(1 + |x|); the bins b_1 < … < b_n are evenly spaced in symlog
two-hot(x): probability (b_{k+1} − x) / (b_{k+1} − b_k) for b_k and the rest for b_{k+1}, where b_k ≤ x ≤ b_{k+1}
value of logits z: Σ_k softmax(z)_k b_k;  loss for a target x: − Σ_k two-hot(x)_k log softmax(z)_k
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

#: Bins go beyond the range of values by this share of it on both sides, in symlog, so that its ends are inside.
MARGIN = 0.1
#: Two bins are this far apart, in symlog, if their number is not given, but there are no more than this.
SPACING, MOST_BINS = 0.02, 256
#: The smallest logit before any update.
UNLIKELY = -8.0


def new_bins(low: float, high: float, n: int | None) -> np.ndarray:
    """Bins for values from `low` to `high`, [n]; by default as many as the range needs."""
    ends = np.sign([low, high]) * np.log1p(np.abs([low, high]))
    margin = MARGIN * max(float(ends[1] - ends[0]), 0.1)
    first, last = ends[0] - margin, ends[1] + margin
    even = np.linspace(first, last, n or min(1 + math.ceil((last - first) / SPACING), MOST_BINS))
    return (np.sign(even) * np.expm1(np.abs(even))).astype(np.float32)


def near_zero(bins: jax.Array) -> jax.Array:
    """Logits [n] of a distribution around the bin closest to zero; others are unlikely, but soon learned."""
    distance = jnp.arange(len(bins)) - jnp.argmin(jnp.abs(bins))
    return jnp.maximum(-0.5 * distance**2, UNLIKELY)


def value(logits: jax.Array, bins: jax.Array) -> jax.Array:
    """The mean [...] of distributions [..., n]."""
    return (jax.nn.softmax(logits) * bins).sum(-1)  # an accelerator's products of matrices round to three digits


def two_hot(x: jax.Array, bins: jax.Array) -> jax.Array:
    """Distributions [..., n] on two neighbouring bins whose means are x [...], cut at the ends."""
    x = jnp.clip(x, bins[0], bins[-1])
    # comparing with all bins is one kernel, where a search is a loop of several
    lower = jnp.clip(jnp.searchsorted(bins, x, side="right", method="compare_all") - 1, 0, len(bins) - 2)
    share = ((x - bins[lower]) / (bins[lower + 1] - bins[lower]))[..., None]
    n = len(bins)
    return (1.0 - share) * jax.nn.one_hot(lower, n) + share * jax.nn.one_hot(lower + 1, n)


def loss(logits: jax.Array, x: jax.Array, bins: jax.Array) -> jax.Array:
    """Cross-entropy [...] of logits [..., n] for targets x [...]."""
    return -(two_hot(x, bins) * jax.nn.log_softmax(logits)).sum(-1)
