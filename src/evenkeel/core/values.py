"""The bases of every value class: frozen, keyword-only, compared by content."""

from typing import TYPE_CHECKING, TypeVar, dataclass_transform

import msgspec

T = TypeVar("T", bound=msgspec.Struct)

if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
    class _FrozenMeta(msgspec.StructMeta):
        """Tells type checkers that subclasses are frozen and keyword-only too."""

else:
    _FrozenMeta = type(msgspec.Struct)


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, metaclass=_FrozenMeta):
    """An immutable value, strict about unknown fields."""


class Wire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=_FrozenMeta):
    """A value that crosses processes. Unknown fields are ignored, so that neighbouring versions understand each
    other."""


class Spec(msgspec.Struct, frozen=True, kw_only=True, metaclass=_FrozenMeta):
    """What a tenant wants of one object and its device is told: what a value and a wire value have in common."""


def flat(cls: type[T]) -> type[T]:
    """The same struct with the fields of its bases as its own, those without a default first: so that a row becomes a
    value by position, in a third of the time that keywords take. At runtime it is no subclass of bases with fields.
    """
    return msgspec.defstruct(  # type: ignore[return-value]
        cls.__name__,
        [_declared(field) for field in sorted(msgspec.structs.fields(cls), key=lambda field: not field.required)],
        bases=tuple(base for base in cls.__bases__ if not msgspec.structs.fields(base)),
        module=cls.__module__,
        namespace={"__doc__": cls.__doc__},
    )


def _declared(field: msgspec.structs.FieldInfo) -> tuple[str, type] | tuple[str, type, object]:
    if field.required:
        return field.name, field.type
    if field.default is not msgspec.NODEFAULT:
        return field.name, field.type, field.default
    return field.name, field.type, msgspec.field(default_factory=field.default_factory)
