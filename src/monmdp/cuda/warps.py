"""What device code consists of: arrays at addresses, and small kernels that the lanes of a warp compute together.

The kernels replace the CPU's kernels of the same name. All lanes of a warp run a training loop in step: they read and
write the same values and never take different branches. Where a row of actions is searched, each lane looks at one
action. The results are those of the CPU.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
import math
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.core.dispatcher import Dispatcher
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic
from numba.cuda.np.arrayobj import make_array, populate_array

from monmdp.agents import baselines, choices, schedules
from monmdp.cuda.packing import Schema
from monmdp.kernels import random, stepping
from monmdp.kernels.random import uniform

#: Threads of a warp.
WARP = 32
#: All lanes of a warp.
EVERYONE = 0xFFFFFFFF
choose_by_one_lane = random.choose_best
_WORD = ir.IntType(64)


@intrinsic
def array_at(typing, address, shape, dtype):
    """The array in C order of a shape (a tuple) and a type at an address."""
    kind = types.Array(dtype.dtype, len(shape), "C")

    def generate(context, builder, signature, arguments):
        array = make_array(kind)(context, builder)
        lengths = cgutils.unpack_tuple(builder, arguments[1])
        item = ir.Constant(_WORD, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        strides = [item]
        for length in reversed(lengths[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        populate_array(
            array,
            data=builder.inttoptr(arguments[0], array.data.type),
            shape=cgutils.pack_array(builder, lengths),
            strides=cgutils.pack_array(builder, strides),
            itemsize=item,
            meminfo=None,
        )
        return array._getvalue()

    return kind(types.int64, types.UniTuple(types.int64, len(shape)), dtype), generate


@cuda.jit(device=True)
def located(address, onchip):
    """The address itself or, if it is -1 - offset, the address at that offset of on-chip memory."""
    return address if address >= 0 else onchip - 1 - address


@intrinsic
def address_of(typing, array):
    """The address of an array's first item."""

    def generate(context, builder, signature, arguments):
        return builder.ptrtoint(make_array(signature.args[0])(context, builder, arguments[0]).data, _WORD)

    return types.int64(array), generate


def rebuild_function(schema: Schema) -> Any:
    """The device function (words, floats, onchip) → named tuple; see `Schema`."""
    names = {f"kind_{i}": kind for i, kind in enumerate(schema.kinds)}
    source = f"def rebuild(words, floats, onchip):\n    return {schema.expression}\n"
    exec(compile(source, "<views>", "exec"), names := {**globals(), **names})
    return cuda.jit(device=True)(names["rebuild"])


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
def draw_plain_reward(mean, noise, key, clock):
    """An environment reward without noise."""
    return mean


@cuda.jit(device=True, inline="always")
def look_up_value(table, number):
    """The value of a schedule at a step, or a logarithm; on a GPU both are tables."""
    return table[number]


#: The CPU's kernel → that of a warp.
REPLACEMENTS: dict[Any, Any] = {
    random.choose_best: choose_best,
    choices.largest: largest,
    choices.smallest: smallest,
    baselines.confidence_bounds: confidence_bounds,
    schedules.value_at: look_up_value,
    schedules.log_of: look_up_value,
}


def adapted(function: Any, noisy: bool = True, **names: Any) -> Any:
    """A device function from a CPU kernel or a body, with REPLACEMENTS at any depth, and `names` in its globals."""
    body = function.py_func if isinstance(function, Dispatcher) else function
    used = {name: body.__globals__[name] for name in body.__code__.co_names if name in body.__globals__} | names
    kernels = {name: _for_warps(value, noisy) for name, value in used.items() if isinstance(value, Dispatcher)}
    copy = FunctionType(
        body.__code__, {**body.__globals__, **names, **kernels}, body.__name__, body.__defaults__, body.__closure__
    )
    inline = function.targetoptions.get("inline", "never") if isinstance(function, Dispatcher) else "never"
    return cuda.jit(device=True, inline=inline)(copy)


@cache
def _for_warps(kernel: Any, noisy: bool) -> Any:
    if kernel is stepping.draw_reward and not noisy:
        return draw_plain_reward
    return REPLACEMENTS[kernel] if kernel in REPLACEMENTS else adapted(kernel, noisy)
