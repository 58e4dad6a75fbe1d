"""Named tuples of arrays that kernels get by reference.

Numba passes a named tuple by value: each of its arrays becomes seven arguments of every call. Calls of kernels that
get a tuple of many arrays are slow, and take long to compile. Instances of a class decorated with `by_reference` are
passed as one pointer to words of eight bytes, and `memory.field` reads the words of the field. A tuple writes its words
once, in Python, so that no code for this has to be compiled. Kernels read fields by name only.

The Python caller owns the arrays while a kernel runs, so kernels do not count references to them, and must not return
them.
"""

import hashlib
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.errors import NumbaTypeError
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, models, register_model, typeof_impl, unbox


def by_reference(kind: Any) -> Any:
    """Pass instances of a named tuple class, whose fields are arrays, numbers or such tuples, by reference."""

    class Referenced(kind):  # type: ignore[misc]
        __doc__, __module__, __qualname__ = kind.__doc__, kind.__module__, kind.__qualname__

        @cached_property
        def words(self) -> np.ndarray:
            return np.concatenate([_words(field) for field in self])

        @property
        def address(self) -> int:
            return self.words.ctypes.data

        def __reduce__(self) -> Any:  # without the words, which are valid in this process only
            return type(self), tuple(self)

    Referenced.__name__ = kind.__name__

    @typeof_impl.register(Referenced)
    def type_of_instance(value: Any, context: Any) -> Any:
        return Reference(types.NamedTuple([typeof_impl(field, context) for field in value], Referenced))

    return Referenced


def _words(value: Any) -> np.ndarray:
    """The words of a field, in the layout of Numba: an array is owner, parent, size, item size, data, shape, strides."""
    if isinstance(value, np.ndarray):
        data = value.__array_interface__["data"][0]
        return np.array([0, 0, value.size, value.itemsize, data, *value.shape, *value.strides], np.int64)
    number = np.array([value.address if isinstance(value, tuple) else value])
    return np.frombuffer(number.tobytes().ljust(8, b"\0"), np.int64)


def _n_words(kind: Any) -> int:
    """The number of words of a field."""
    if isinstance(kind, types.Array):
        return 5 + 2 * kind.ndim
    if not isinstance(kind, types.Number | types.Boolean | Reference) or getattr(kind, "bitwidth", 0) > 64:
        raise NumbaTypeError(f"A field of a tuple that is passed by reference cannot be {kind}.")
    return 1


class Reference(types.Type):
    """The type of a pointer to the words of a named tuple, by the type of the tuple."""

    def __init__(self, target: Any) -> None:
        self.target, self.types = target, target.types
        self.places = list(accumulate(map(_n_words, self.types), initial=0))
        kind = self.instance_class = target.instance_class
        digest = hashlib.sha256(f"{kind.__module__} {target}".encode()).hexdigest()[:16]
        super().__init__(name=f"{kind.__name__}_{digest}")  # short, since it is part of the names of all symbols


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    """A reference is a pointer."""

    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, ir.IntType(64).as_pointer())


@unbox(Reference)  # type: ignore[untyped-decorator]
def read_address(kind: Reference, value: Any, call: Any) -> NativeValue:
    """The pointer to the words of a tuple, which owns them."""
    address = call.pyapi.object_getattr_string(value, "address")
    pointer = call.builder.bitcast(call.pyapi.long_as_voidptr(address), call.context.get_value_type(kind))
    call.pyapi.decref(address)
    return NativeValue(pointer, is_error=call.pyapi.c_api_error())


@infer_getattr
class ReferenceFields(AttributeTemplate):
    """The types of fields."""

    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:  # type: ignore[override]
        """The type of a field, None if there is no such field."""
        names = kind.target.fields
        return kind.target[names.index(name)] if name in names else None


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def read_field(context: Any, builder: Any, kind: Reference, pointer: Any, name: str) -> Any:
    """The value of a field; an array has no owner, which means that no references to it are counted."""
    field = kind.target[kind.target.fields.index(name)]
    word = builder.gep(pointer, [ir.Constant(ir.IntType(64), kind.places[kind.target.fields.index(name)])])
    value = context.unpack_value(builder, field, builder.bitcast(word, context.get_data_type(field).as_pointer()))
    if isinstance(field, types.Array):
        owner = context.data_model_manager[field].get_field_position("meminfo")
        value = builder.insert_value(value, ir.Constant(value.type.elements[owner], None), owner)
    return value
