"""Decoding of requests: an unknown field is refused by name, never ignored.

The structs of :mod:`wire` ignore unknown fields, which is right for responses; a daemon that ignored a part of a
configuration would apply another configuration than the agent sent.
"""

import functools
import types
import typing
from typing import Any, TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


class BodyRefused(ValueError):
    """The body is not of the expected type. The text names field and rule; of the body it repeats names of
    unknown fields, and a value that is none of the allowed words.
    """


def decode_body(content: bytes, kind: type[T]) -> T:
    """Decode a request's body as JSON of type ``kind``. Raises :class:`BodyRefused` if it is not JSON, or has
    a missing, unknown or wrong field.
    """
    try:
        # The strict copy of the type only checks; the second decoding gives the type that the rest of the daemon uses.
        _strict_decoder(kind).decode(content)
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise BodyRefused(f"body: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BodyRefused("body: not JSON") from error


@functools.cache
def _strict_decoder(kind: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(_strict_struct(kind))


@functools.cache
def _strict_struct(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a copy of a struct type that forbids unknown fields, also in nested structs."""
    hints = typing.get_type_hints(kind, include_extras=True)
    # Only whether a field has a default matters, because values of the copy are never used.
    fields = [
        (field.name, _strict_type(hints[field.name]), None if not field.required else msgspec.NODEFAULT)
        for field in msgspec.structs.fields(kind)
    ]
    return msgspec.defstruct(kind.__name__, fields, kw_only=True, forbid_unknown_fields=True)


def _strict_type(hint: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _strict_struct(hint)
    inner = tuple(_strict_type(part) for part in typing.get_args(hint))
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return typing.Union[inner]  # noqa: UP007 - built at run time
    if origin is tuple:
        return tuple[inner]  # type: ignore[valid-type]
    return hint
