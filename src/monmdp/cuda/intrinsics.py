"""Arrays at addresses for device code, and the function that rebuilds a named tuple from a row."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from typing import Any

import numpy as np  # noqa: F401
from llvmlite import ir
from numba import cuda
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic
from numba.cuda.np.arrayobj import make_array, populate_array

from monmdp.cuda.views import Schema

_WORD = ir.IntType(64)


def _array(context, builder, kind, address, lengths, spacing=1):
    """An array in C order at an address; spacing: distance between consecutive items, in items."""
    array = make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides: list[ir.Value] = []
    size = ir.Constant(_WORD, item * spacing)
    for length in reversed(lengths):
        strides.insert(0, size)
        size = builder.mul(size, length)
    populate_array(
        array,
        data=builder.inttoptr(address, array.data.type),
        shape=cgutils.pack_array(builder, lengths),
        strides=cgutils.pack_array(builder, strides),
        itemsize=ir.Constant(_WORD, item),
        meminfo=None,
    )
    return array._getvalue()


@intrinsic
def array_at(typing, address, shape, dtype):
    """The array of a shape (a tuple) and a type at an address."""
    kind = types.Array(dtype.dtype, len(shape), "C")

    def generate(context, builder, signature, arguments):
        return _array(context, builder, kind, arguments[0], cgutils.unpack_tuple(builder, arguments[1]))

    return kind(types.int64, types.UniTuple(types.int64, len(shape)), dtype), generate


@intrinsic
def lane_array_at(typing, address, length, dtype):
    """An array [length] at an address, interleaved item by item with those of the other 31 lanes of a warp."""
    kind = types.Array(dtype.dtype, 1, "A")

    def generate(context, builder, signature, arguments):
        return _array(context, builder, kind, arguments[0], [arguments[1]], spacing=32)

    return kind(types.int64, types.int64, dtype), generate


@intrinsic
def located(typing, address, onchip):
    """The address itself or, if it is -1 - offset, the address at that offset of on-chip memory."""

    def generate(context, builder, signature, arguments):
        address, base = arguments
        inside = builder.add(base, builder.sub(ir.Constant(_WORD, -1), address))
        return builder.select(builder.icmp_signed("<", address, ir.Constant(_WORD, 0)), inside, address)

    return types.int64(types.int64, types.int64), generate


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
