"""Small kernels that the lanes of a warp compute together, in place of the CPU's kernels of the same name.

All lanes of a warp run a training loop in step: they read and write the same values and never take different branches.
Where a row of actions is searched, each lane looks at one action. The results are those of the CPU.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import math
import types
from functools import cache
from typing import Any

import numpy as np
from numba import cuda
from numba.core.dispatcher import Dispatcher

from monmdp.agents import baselines, choices
from monmdp.kernels import random, stepping
from monmdp.kernels.random import uniform

#: Threads of a warp.
WARP = 32
#: All lanes of a warp.
EVERYONE = 0xFFFFFFFF
choose_by_one_lane = random.choose_best


@cuda.jit(device=True)
def largest_of_lanes(value):
    """The largest value of all lanes."""
    distance = 1
    while distance < WARP:
        value = max(value, cuda.shfl_xor_sync(EVERYONE, value, distance))
        distance *= 2
    return value


@cuda.jit(device=True)
def pick_tied(tied, key, index, lane):
    """The lane that draw number `index` selects among the tied ones."""
    ties = cuda.ballot_sync(EVERYONE, tied)
    count, rank = cuda.popc(ties), 0
    if count > 1:
        rank = int(uniform(key, index) * count)
    chosen = tied and cuda.popc(ties & ((1 << lane) - 1)) == rank
    return np.int64(cuda.ffs(cuda.ballot_sync(EVERYONE, chosen)) - 1)


@cuda.jit(device=True)
def choose_best(values, key, index):
    """The position of the largest of values [A]; draw number `index` decides among exact ties."""
    cuda.syncwarp(EVERYONE)
    if len(values) > WARP:
        return np.int64(choose_by_one_lane(values, key, index))
    lane = cuda.threadIdx.x % WARP
    mine = lane < len(values)
    value = np.float64(values[lane]) if mine else -math.inf
    best = largest_of_lanes(value)
    return pick_tied(mine and value == best, key, index, lane)


@cuda.jit(device=True)
def largest(values):
    """The maximum of values [n]."""
    cuda.syncwarp(EVERYONE)
    best = -math.inf
    for i in range(cuda.threadIdx.x % WARP, len(values), WARP):
        best = max(best, values[i])
    return largest_of_lanes(best)


@cuda.jit(device=True)
def smallest(values):
    """The minimum of values [n]."""
    cuda.syncwarp(EVERYONE)
    least = math.inf
    for i in range(cuda.threadIdx.x % WARP, len(values), WARP):
        least = min(least, values[i])
    return -largest_of_lanes(-least)


@cuda.jit(device=True)
def confidence_bounds(values, counts, scale, log_total, bounds):
    """Upper confidence bounds [A] from values [A] and counts [A] · scale; undefined ones are infinite."""
    cuda.syncwarp(EVERYONE)
    top = 2.0 * log_total
    for action in range(cuda.threadIdx.x % WARP, len(counts), WARP):
        count = scale * counts[action]
        bounds[action] = values[action] + math.sqrt(top / count) if top >= 0.0 and count > 0.0 else np.inf
    cuda.syncwarp(EVERYONE)


@cuda.jit(device=True)
def draw_plain_reward(dynamics, outcome, key, clock):
    """The environment reward of an outcome that has no noise."""
    return dynamics.env_reward[outcome]


#: The CPU's kernel → that of a warp.
REPLACEMENTS: dict[Any, Any] = {
    random.choose_best: choose_best,
    choices.largest: largest,
    choices.smallest: smallest,
    baselines.confidence_bounds: confidence_bounds,
}


def adapted(function: Any, noisy: bool = True, **names: Any) -> Any:
    """A device function from a CPU kernel or a body, with REPLACEMENTS at any depth, and `names` in its globals."""
    body = function.py_func if isinstance(function, Dispatcher) else function
    used = {name: body.__globals__[name] for name in body.__code__.co_names if name in body.__globals__} | names
    kernels = {name: _for_warps(value, noisy) for name, value in used.items() if isinstance(value, Dispatcher)}
    copy = types.FunctionType(
        body.__code__, {**body.__globals__, **names, **kernels}, body.__name__, body.__defaults__, body.__closure__
    )
    inline = function.targetoptions.get("inline", "never") if isinstance(function, Dispatcher) else "never"
    return cuda.jit(device=True, inline=inline)(copy)


@cache
def _for_warps(kernel: Any, noisy: bool) -> Any:
    if kernel is stepping.draw_reward and not noisy:
        return draw_plain_reward
    return REPLACEMENTS[kernel] if kernel in REPLACEMENTS else adapted(kernel, noisy)
