"""Codes of observations, for counting: every new observation becomes a prototype.

c(o) = argmin_i ‖o − p_i‖ if that distance is at most ρ or there is no room, else a new prototype p = o
p_c += (o − p_c) / n_c, so that the prototype of noisy observations is their mean
ρ² = 2 σ² D (1 + 5 √(2 / D)), five standard deviations above the mean for two observations of one state with D numbers
and noise σ; without noise, a code is one exact picture, which is found by its number in the table of pictures.

Networks see (o − p̄) / v, where p̄ is the mean of the prototypes and v² their mean variance: what all pictures share
cancels.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

#: Added to v², since it is zero after the first observation.
SMALLEST = 1e-4


class Codes(NamedTuple):
    """Prototypes [codes, D] and how many observations each of them stands for [codes]; 0 for room that is left."""

    prototypes: jax.Array
    counts: jax.Array


class ExactCodes(NamedTuple):
    """The same if every picture of the table has a code, and none is noisy: of_picture [pictures], -1 for none yet.

    n: the number of codes; mean [D] and squares []: the mean p̄ of their pictures, and Σ ‖p_i − p̄‖².
    """

    of_picture: jax.Array
    n: jax.Array
    mean: jax.Array
    squares: jax.Array


def new_codes(n_codes: int, n_numbers: int) -> Codes:
    """No codes yet."""
    return Codes(jnp.zeros((n_codes, n_numbers)), jnp.zeros(n_codes, jnp.int32))


def new_exact_codes(n_pictures: int, n_numbers: int) -> ExactCodes:
    """No codes yet."""
    zero = jnp.zeros((), jnp.int32)
    return ExactCodes(jnp.full(n_pictures, -1, jnp.int32), zero, jnp.zeros(n_numbers), jnp.zeros(()))


def radius(noise: float, n_numbers: int) -> float:
    """ρ² for a standard deviation and a number of numbers."""
    return float(2.0 * noise**2 * n_numbers * (1.0 + 5.0 * np.sqrt(2.0 / n_numbers)))


def encode(codes: Codes, observation: jax.Array, squared_radius: jax.Array) -> tuple[jax.Array, Codes]:
    """The code of an observation [D], and the codes with it."""
    used = codes.counts > 0
    distances = jnp.where(used, ((codes.prototypes - observation) ** 2).sum(-1), jnp.inf)
    free = used.sum()
    new = (distances.min() > squared_radius) & (free < len(used))
    code = jnp.where(new, free, distances.argmin())
    count = codes.counts[code] + 1
    prototype = codes.prototypes[code] + (observation - codes.prototypes[code]) / count
    return code, Codes(codes.prototypes.at[code].set(prototype), codes.counts.at[code].set(count))


def encode_exact(codes: ExactCodes, observation: jax.Array, number: jax.Array) -> tuple[jax.Array, ExactCodes]:
    """The same for the picture with a number; mean and squares by Welford's updates."""
    known = codes.of_picture[number]
    new = known < 0
    code, n = jnp.where(new, codes.n, known), codes.n + new
    change = jnp.where(new, observation - codes.mean, 0.0)
    mean = codes.mean + change / n
    squares = codes.squares + (change * (observation - mean)).sum()
    return code, ExactCodes(codes.of_picture.at[number].set(code), n, mean, squares)


class Scale(NamedTuple):
    """The mean prototype p̄ [D], and 1 / v."""

    mean: jax.Array
    factor: jax.Array


def scale(codes: Codes | ExactCodes) -> Scale:
    """The scale of the prototypes so far."""
    if isinstance(codes, ExactCodes):
        variance = codes.squares / (codes.n * len(codes.mean))
        factor = jax.lax.rsqrt(variance + SMALLEST)
        return Scale(codes.mean, jnp.where(jnp.isinf(variance), jnp.nan, factor))  # not 0, which would hide pictures
    used = (codes.counts > 0)[:, None]
    mean = (used * codes.prototypes).sum(0) / used.sum()
    variance = (used * (codes.prototypes - mean) ** 2).sum() / (used.sum() * len(mean))
    return Scale(mean, jax.lax.rsqrt(variance + SMALLEST))
