"""Base classes of all values: frozen, keyword-only, compared by content."""

from typing import TYPE_CHECKING, TypeVar, dataclass_transform

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
    class _FrozenMeta(msgspec.StructMeta):
        """Metaclass by which type checkers treat all subclasses as frozen and keyword-only, too."""

else:
    _FrozenMeta = type(msgspec.Struct)


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=_FrozenMeta):
    """An immutable value, strict about unknown fields."""


class Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=_FrozenMeta):
    """A value that is sent between processes. Unknown fields are ignored, so that processes of adjacent versions
    understand each other.
    """


class Spec(msgspec.Struct, frozen=True, kw_only=True, metaclass=_FrozenMeta):
    """Base class of the attributes of an object that tenants set and devices get: the stored class and the
    wire class both inherit them.
    """


def flatten_struct_fields(cls: type[T]) -> type[T]:
    """Return a copy of the struct class whose inherited fields are its own, required fields first.

    A row then becomes a value by position, in a third of the time that keyword arguments take. At runtime the copy is
    not a subclass of bases with fields.
    """
    return msgspec.defstruct(  # type: ignore[return-value]
        cls.__name__,
        [_struct_field(field) for field in sorted(msgspec.structs.fields(cls), key=lambda field: not field.required)],
        bases=tuple(base for base in cls.__bases__ if not msgspec.structs.fields(base)),
        module=cls.__module__,
        namespace={"__doc__": cls.__doc__},
    )


def _struct_field(field: msgspec.structs.FieldInfo) -> tuple[str, type] | tuple[str, type, object]:
    if field.required:
        return field.name, field.type
    if field.default is not msgspec.NODEFAULT:
        return field.name, field.type, field.default
    return field.name, field.type, msgspec.field(default_factory=field.default_factory)
