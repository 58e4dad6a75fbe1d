"""Named tuples of arrays that kernels get by reference.

Numba passes a named tuple by value: each of its arrays becomes seven arguments of every call. Calls of kernels that
get a tuple of many arrays are slow, and take long to compile. Instances of a class decorated with `by_reference` are
passed as one pointer to words of eight bytes, and `memory.field` reads the words of the field. A tuple writes its words
once, in Python, so that no code for this has to be compiled. Kernels read fields by name only, and index arrays from
their beginning: negative indices are not checked.

The Python caller owns the arrays while a kernel runs, so kernels do not count references to them, and must not return
them.
"""

import hashlib
import operator
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import NumbaTypeError
from numba.core.imputils import lower_builtin, lower_cast, lower_getattr, lower_getattr_generic
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global, signature
from numba.extending import NativeValue, infer_getattr, models, register_model, typeof_impl, unbox

WORD = ir.IntType(64)
#: Numba tries templates for a target first; there are many others, and to try them takes long.
FIRST = {"target": "cpu"}
#: The words of an array: owner, parent, size, item size, data, shape, strides.
_DATA, _SHAPE = 4, 5


def by_reference(kind: Any) -> Any:
    """Pass instances of a named tuple class, whose fields are arrays, numbers or such tuples, by reference."""

    class Referenced(kind):  # type: ignore[misc]
        __doc__, __module__, __qualname__ = kind.__doc__, kind.__module__, kind.__qualname__

        @cached_property
        def words(self) -> np.ndarray:
            """What kernels read of the fields."""
            return np.concatenate([_words(field) for field in self])

        @property
        def address(self) -> int:
            """Where the words are."""
            return self.words.ctypes.data

        def __reduce__(self) -> Any:  # without the words, which are valid in this process only
            return type(self), tuple(self)

    Referenced.__name__ = kind.__name__

    @typeof_impl.register(Referenced)
    def type_of_instance(value: Any, context: Any) -> Any:
        return Reference(types.NamedTuple([typeof_impl(field, context) for field in value], Referenced))

    return Referenced


def _words(value: Any) -> Any:
    """The words of a field, in the layout of Numba."""
    if isinstance(value, np.ndarray):
        data = value.__array_interface__["data"][0]
        return np.array([0, 0, value.size, value.itemsize, data, *value.shape, *value.strides], np.int64)
    number = np.array([getattr(value, "address", value)])
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
        places = accumulate(map(_n_words, self.types), initial=0)
        self.fields = {
            name: (place, View(field) if isinstance(field, types.Array) and field.layout == "C" else field)
            for name, place, field in zip(target.fields, places, self.types, strict=False)
        }
        kind = self.instance_class = target.instance_class
        digest = hashlib.sha256(f"{kind.__module__} {target}".encode()).hexdigest()[:16]
        super().__init__(name=f"{kind.__name__}_{digest}")  # short, since it is part of the names of all symbols


class View(types.Type):
    """The type of a pointer to the words of an array: what a kernel reads of it is loaded when it is needed.

    Items are read and written without the steps that Numba takes for arrays that may be owned, not contiguous, or
    indexed from the end, which are most of what there is to compile. For everything else a view becomes an array.
    """

    def __init__(self, array: types.Array) -> None:
        self.array = array
        super().__init__(name=f"view({array})")

    def can_convert_to(self, context: Any, other: Any) -> Any:
        """A view becomes an array where both are possible."""
        return Conversion.safe if other == self.array else None


@register_model(Reference)
@register_model(View)
class PointerModel(models.PrimitiveModel):
    """A pointer to words."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


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
        return kind.fields[name][1] if name in kind.fields else None


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def read_field(context: Any, builder: Any, kind: Reference, pointer: Any, name: str) -> Any:
    """The value of a field."""
    place, field = kind.fields[name]
    if isinstance(field, View):
        return builder.gep(pointer, [WORD(place)])
    return (
        _read_array(context, builder, field, pointer, place)
        if isinstance(field, types.Array)
        else _load(context, builder, field, pointer, place)
    )


def _load(context: Any, builder: Any, kind: Any, pointer: Any, place: int) -> Any:
    """A value in the words, marked for LLVM as one that never changes while a kernel runs."""
    place = builder.bitcast(builder.gep(pointer, [WORD(place)]), context.get_data_type(kind).as_pointer())
    value = builder.load(place)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return context.data_model_manager[kind].from_data(builder, value)


def _read_array(context: Any, builder: Any, kind: Any, pointer: Any, place: int = 0) -> Any:
    """An array without an owner, which means that no references to it are counted."""
    value = context.unpack_value(
        builder, kind, builder.bitcast(builder.gep(pointer, [WORD(place)]), context.get_data_type(kind).as_pointer())
    )
    owner = context.data_model_manager[kind].get_field_position("meminfo")
    return builder.insert_value(value, ir.Constant(value.type.elements[owner], None), owner)


@lower_cast(View, types.Array)  # type: ignore[untyped-decorator]
def view_to_array(context: Any, builder: Any, view: View, kind: types.Array, pointer: Any) -> Any:
    """The array of a view."""
    return _read_array(context, builder, kind, pointer)


def _is_item(view: View, index: Any) -> bool:
    """Whether an index selects an item."""
    indices = getattr(index, "types", (index,))
    return len(indices) == view.array.ndim and all(isinstance(part, types.Integer) for part in indices)


@infer_global(operator.getitem)
class ViewGetItem(AbstractTemplate):
    """The types of items and of parts of views."""

    metadata = FIRST

    def generic(self, args: Any, kws: Any) -> Any:
        """The signature for a view and an index, None for others."""
        if isinstance(args[0], View):
            view, index = args
            if _is_item(view, index):
                return signature(view.array.dtype, view, index)
            part = self.context.resolve_function_type(operator.getitem, (view.array, index), {})
            return signature(part.return_type, view, part.args[1])
        return None


@infer_global(operator.setitem)
class ViewSetItem(AbstractTemplate):
    """The types of items and of parts that are written."""

    metadata = FIRST

    def generic(self, args: Any, kws: Any) -> Any:
        """The signature for a view, an index and a value, None for others."""
        if isinstance(args[0], View) and args[0].array.mutable:
            view, index, value = args
            if _is_item(view, index):
                return signature(types.none, view, index, view.array.dtype)
            part = self.context.resolve_function_type(operator.setitem, (view.array, index, value), {})
            return signature(types.none, view, *part.args[1:])
        return None


def _item(context: Any, builder: Any, view: View, pointer: Any, index_type: Any, index: Any) -> Any:
    """The pointer to an item of a contiguous array."""
    single = isinstance(index_type, types.Integer)
    kinds = (index_type,) if single else index_type.types
    indices = (index,) if single else cgutils.unpack_tuple(builder, index)
    place: Any = None
    for axis, (kind, number) in enumerate(zip(kinds, indices, strict=True)):
        wide = context.cast(builder, number, kind, types.intp)
        if place is None:
            place = wide
        else:
            length = _load(context, builder, types.intp, pointer, _SHAPE + axis)
            place = builder.add(builder.mul(place, length), wide)
    data = _load(context, builder, types.CPointer(view.array.dtype), pointer, _DATA)
    return builder.gep(data, [place])


@lower_builtin(operator.getitem, View, types.Any)  # type: ignore[untyped-decorator]
def get_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """An item, or a part as an array."""
    (view, index_type), (pointer, index) = sig.args, args
    if _is_item(view, index_type):
        return context.unpack_value(
            builder, view.array.dtype, _item(context, builder, view, pointer, index_type, index)
        )
    own = signature(sig.return_type, view.array, index_type)
    array = _read_array(context, builder, view.array, pointer)
    return context.get_function(operator.getitem, own)(builder, (array, index))


@lower_builtin(operator.setitem, View, types.Any, types.Any)  # type: ignore[untyped-decorator]
def set_item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Write an item, or a part."""
    (view, index_type, _), (pointer, index, value) = sig.args, args
    if _is_item(view, index_type):
        context.pack_value(builder, view.array.dtype, value, _item(context, builder, view, pointer, index_type, index))
        return context.get_dummy_value()
    own = signature(types.none, view.array, *sig.args[1:])
    array = _read_array(context, builder, view.array, pointer)
    return context.get_function(operator.setitem, own)(builder, (array, index, value))


@infer_getattr
class ViewAttributes(AttributeTemplate):
    """The attributes of views."""

    key = View

    def resolve_shape(self, view: View) -> Any:
        """The type of the shape."""
        return types.UniTuple(types.intp, view.array.ndim)


@lower_getattr(View, "shape")  # type: ignore[untyped-decorator]
def read_shape(context: Any, builder: Any, view: View, pointer: Any) -> Any:
    """The shape."""
    return _load(context, builder, types.UniTuple(types.intp, view.array.ndim), pointer, _SHAPE)


@infer_global(len)
class ViewLength(AbstractTemplate):
    """The type of the length of the first axis."""

    metadata = FIRST

    def generic(self, args: Any, kws: Any) -> Any:
        """The signature for a view, None for others."""
        return signature(types.intp, *args) if isinstance(args[0], View) else None


@lower_builtin(len, View)  # type: ignore[untyped-decorator]
def read_length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """The length of the first axis."""
    return _load(context, builder, types.intp, args[0], _SHAPE)
