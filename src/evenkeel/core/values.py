"""The bases of every value class: frozen, keyword-only, compared by content."""

from typing import TYPE_CHECKING, dataclass_transform

import msgspec

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
