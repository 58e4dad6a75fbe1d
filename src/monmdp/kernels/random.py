"""The draws of `monmdp.rng`, compiled; equal bit for bit."""

import math

import numpy as np

from monmdp import rng
from monmdp.kernels.compile import kernel

_GOLDEN = np.uint64(rng.GOLDEN)
_MULTIPLIER_1 = np.uint64(rng.MULTIPLIER_1)
_MULTIPLIER_2 = np.uint64(rng.MULTIPLIER_2)
_ONE = np.uint64(1)
_11, _27, _30, _31 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31)


@kernel
def uniform(key, index):
    """Draw number `index` of the stream with this uint64 key, uniform in [0, 1)."""
    word = key + (np.uint64(index) + _ONE) * _GOLDEN
    word = (word ^ (word >> _30)) * _MULTIPLIER_1
    word = (word ^ (word >> _27)) * _MULTIPLIER_2
    word = word ^ (word >> _31)
    return np.float64(word >> _11) * 2.0**-53


@kernel
def normal(key, index):
    """Draw number `index` of the stream, standard normal."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(key, 2 * index)))
    return radius * math.cos(2.0 * math.pi * uniform(key, 2 * index + 1))


@kernel
def uniforms(key, n):
    """The first n uniform draws of a stream."""
    draws = np.empty(n, np.float32)
    for index in range(n):
        draws[index] = uniform(key, index)
    return draws


@kernel
def normals(key, n):
    """The first n standard normal draws of a stream."""
    draws = np.empty(n, np.float32)
    for index in range(n):
        draws[index] = normal(key, index)
    return draws


@kernel
def choose_best(values, key, index):
    """The position of the largest of values [A]; draw number `index` of the stream decides among exact ties."""
    best, count = values[0], 1
    choice = 0
    for action in range(1, len(values)):
        if values[action] > best:
            best, count, choice = values[action], 1, action
        elif values[action] == best:
            count += 1
    if count > 1:
        rank = int(uniform(key, index) * count)
        for action in range(choice, len(values)):
            if values[action] == best:
                if rank == 0:
                    return action
                rank -= 1
    return choice
