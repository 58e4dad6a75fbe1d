"""What device code needs beyond Python: arrays at an address, and barriers within a warp and a block."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic
from numba.cuda.np.arrayobj import make_array, populate_array


def _array(context, builder, kind, address, lengths):
    """An array of C order at an address, with the given lengths."""
    made = make_array(kind)(context, builder)
    item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides: list[ir.Value] = []
    size = ir.Constant(ir.IntType(64), item)
    for length in reversed(lengths):
        strides.insert(0, size)
        size = builder.mul(size, length)
    data = builder.inttoptr(address, made.data.type)
    populate_array(
        made,
        data=data,
        shape=cgutils.pack_array(builder, lengths),
        strides=cgutils.pack_array(builder, strides),
        itemsize=ir.Constant(ir.IntType(64), item),
        meminfo=None,
    )
    return made._getvalue()


@intrinsic
def vector_at(typing, address, length, dtype):
    """The array [length] of a type at an address."""
    kind = types.Array(dtype.dtype, 1, "C")

    def generate(context, builder, signature, arguments):
        return _array(context, builder, kind, arguments[0], [arguments[1]])

    return kind(types.int64, types.int64, dtype), generate


@intrinsic
def lane_vector_at(typing, address, length, dtype):
    """An array [length] of a type at an address, among those of the other 31 lanes of a warp, item by item."""
    kind = types.Array(dtype.dtype, 1, "A")

    def generate(context, builder, signature, arguments):
        made = make_array(kind)(context, builder)
        item = context.get_abi_sizeof(context.get_data_type(kind.dtype))
        populate_array(
            made,
            data=builder.inttoptr(arguments[0], made.data.type),
            shape=cgutils.pack_array(builder, [arguments[1]]),
            strides=cgutils.pack_array(builder, [ir.Constant(ir.IntType(64), 32 * item)]),
            itemsize=ir.Constant(ir.IntType(64), item),
            meminfo=None,
        )
        return made._getvalue()

    return kind(types.int64, types.int64, dtype), generate


@intrinsic
def matrix_at(typing, address, rows, columns, dtype):
    """The array [rows, columns] of a type at an address."""
    kind = types.Array(dtype.dtype, 2, "C")

    def generate(context, builder, signature, arguments):
        return _array(context, builder, kind, arguments[0], [arguments[1], arguments[2]])

    return kind(types.int64, types.int64, types.int64, dtype), generate


@intrinsic
def located(typing, address, near):
    """An address as it is, or, below zero, the offset it stands for in memory that begins at `near`."""

    def generate(context, builder, signature, arguments):
        given, base = arguments
        minus_one = ir.Constant(ir.IntType(64), -1)
        inside = builder.add(base, builder.sub(minus_one, given))
        return builder.select(builder.icmp_signed("<", given, ir.Constant(ir.IntType(64), 0)), inside, given)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def address_of(typing, array):
    """Where an array begins."""

    def generate(context, builder, signature, arguments):
        given = make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(given.data, ir.IntType(64))

    return types.int64(array), generate
