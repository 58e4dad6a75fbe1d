"""Named tuples of arrays that kernels get by reference.

Numba passes a named tuple by value: each of its arrays becomes seven arguments of every call. Calls of kernels that
get a tuple of many arrays are slow, and take long to compile. Instances of a class decorated with `by_reference` are
passed as one pointer, and `memory.field` reads the field through it. Kernels read fields by name only.

The Python caller owns the arrays while a kernel runs, so kernels do not count references to them, and must not return
them.
"""

import hashlib
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, models, register_model, typeof_impl, unbox


def by_reference(kind: Any) -> Any:
    """Pass instances of a named tuple class to kernels by reference."""

    @typeof_impl.register(kind)
    def type_of_instance(value: Any, context: Any) -> Any:
        return Reference(types.NamedTuple([typeof_impl(field, context) for field in value], kind))

    return kind


class Reference(types.Type):
    """The type of a pointer to a named tuple, by the type of the tuple."""

    def __init__(self, target: Any) -> None:
        self.target, self.types = target, target.types
        kind = self.instance_class = target.instance_class
        digest = hashlib.sha256(f"{kind.__module__} {target}".encode()).hexdigest()[:16]
        super().__init__(name=f"{kind.__name__}_{digest}")  # short, since it is part of the names of all symbols


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    """A reference is a pointer."""

    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, manager[kind.target].get_value_type().as_pointer())


@unbox(Reference)  # type: ignore[untyped-decorator]
def store_target(kind: Reference, value: Any, call: Any) -> NativeValue:
    """Store a Python tuple for the time of a call, and return the pointer to it."""
    native = call.unbox(kind.target, value)

    def release() -> None:
        if native.cleanup is not None:
            native.cleanup()
        call.context.nrt.decref(call.builder, kind.target, native.value)

    pointer = cgutils.alloca_once_value(call.builder, native.value)
    return NativeValue(pointer, cleanup=release, is_error=native.is_error)


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
    place = kind.target.fields.index(name)
    value = builder.load(cgutils.gep_inbounds(builder, pointer, 0, place))
    if isinstance(kind.target[place], types.Array):
        owner = context.data_model_manager[kind.target[place]].get_field_position("meminfo")
        value = builder.insert_value(value, ir.Constant(value.type.elements[owner], None), owner)
    return value
