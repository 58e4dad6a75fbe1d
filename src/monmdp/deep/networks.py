"""A multilayer perceptron with layer normalisation.

h ← relu(g ⊙ (z − mean z) / √(var z + 10⁻⁵) + c),  z = W h + b,  for every hidden layer; the output is W h + b
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

Layers = list[dict[str, jax.Array]]


def new_layers(key: jax.Array, inputs: int, hidden: tuple[int, ...], outputs: int, last_bias: Any = 0.0) -> Layers:
    """Random weights, normal with variance 2 / inputs; the last layer starts at zero weights and a given bias."""
    layers, before = [], inputs
    for part, size in zip(jax.random.split(key, len(hidden)), hidden, strict=True):
        weights = jax.random.normal(part, (before, size)) * jnp.sqrt(2.0 / before)
        zeros = jnp.zeros(size)
        layers.append({"weights": weights, "bias": zeros, "gain": zeros + 1.0, "shift": zeros})
        before = size
    layers.append({"weights": jnp.zeros((before, outputs)), "bias": jnp.zeros(outputs) + last_bias})
    return layers


def fixed_layers(key: jax.Array, inputs: int, hidden: tuple[int, ...], outputs: int) -> Layers:
    """Layers of a network that is never trained: the last weights are random too, and outputs have variance ≈ 1."""
    before, last = jax.random.split(key)
    *layers, output = new_layers(before, inputs, hidden, outputs)
    weights = jax.random.normal(last, output["weights"].shape) * jnp.sqrt(2.0 / hidden[-1])
    return [*layers, {**output, "weights": weights}]


def faster(layers: Layers, rates: jax.Array) -> Layers:
    """Changes of layers, with those of the weights of the first inputs multiplied by rates, one for each input."""
    first, *others = layers
    weights = first["weights"] * rates[: len(first["weights"]), None]
    return [{**first, "weights": weights}, *others]


def network(layers: Layers, inputs: jax.Array, precise: bool = True) -> jax.Array:
    """Outputs [..., outputs] of inputs [..., inputs]; an accelerator may round to three digits if not precise."""
    values, product = inputs, partial(jnp.matmul, precision="highest" if precise else "default")
    for layer in layers[:-1]:
        z = product(values, layer["weights"]) + layer["bias"]
        z = (z - z.mean(-1, keepdims=True)) * jax.lax.rsqrt(z.var(-1, keepdims=True) + 1e-5)
        values = jax.nn.relu(layer["gain"] * z + layer["shift"])
    return product(values, layers[-1]["weights"]) + layers[-1]["bias"]
