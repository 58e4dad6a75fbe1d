"""Named tuples of arrays that kernels get by reference.

Numba passes a tuple by value: every array becomes seven arguments of every call. A memory with many arrays then takes
most of a minute to compile. A class registered here is passed as one pointer, and `memory.field` reads the field. The
caller in Python keeps the arrays alive, so that their references are not counted.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, models, register_model, typeof_impl, unbox


class Reference(types.Type):
    """The type of a pointer to the fields of a named tuple."""

    def __init__(self, fields: Any) -> None:
        self.fields = fields  # the type of the tuple itself
        super().__init__(name=f"Reference({fields})")


def by_reference(kind: Any) -> Any:
    """Let kernels get the instances of a named tuple class by reference."""

    @typeof_impl.register(kind)
    def typeof_reference(value: Any, context: Any) -> Any:
        return Reference(types.NamedTuple([typeof_impl(field, context) for field in value], kind))

    return kind


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Reference) -> None:
        super().__init__(manager, kind, manager[kind.fields].get_value_type().as_pointer())


@unbox(Reference)
def unbox_reference(kind: Reference, value: Any, context: Any) -> NativeValue:
    native = context.unbox(kind.fields, value)
    pointer = cgutils.alloca_once_value(context.builder, native.value)
    return NativeValue(pointer, cleanup=native.cleanup, is_error=native.is_error)


@infer_getattr
class ReferenceAttribute(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, kind: Reference, name: str) -> Any:
        if name in kind.fields.fields:
            return kind.fields[kind.fields.fields.index(name)]


@lower_getattr_generic(Reference)
def read_field(context: Any, builder: Any, kind: Reference, pointer: Any, name: str) -> Any:
    place = kind.fields.fields.index(name)
    value = builder.load(cgutils.gep_inbounds(builder, pointer, 0, place))
    if isinstance(kind.fields[place], types.Array):
        owner = context.data_model_manager[kind.fields[place]].get_field_position("meminfo")
        value = builder.insert_value(value, ir.Constant(value.type.elements[owner], None), owner)
    return value
