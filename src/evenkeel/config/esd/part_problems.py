"""Texts about parts that cannot be read: msgspec names the field, and this module adds the allowed values or fields."""

import re
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from evenkeel.config.esd.parts import Parts

_PLACE_PATTERN = re.compile(r"`\$\.([a-z_.]+)(?:\[\.{3}\])*`")
"""The field at the end of msgspec's error, as in ``$.https_redirect.code``."""


def part_problem(error: msgspec.ValidationError) -> str:
    """Return the text of msgspec's error, with the allowed values or fields added where msgspec omits them."""
    text = str(error)
    found = _PLACE_PATTERN.search(text)
    types = list(_field_types(found[1].split(".") if found else []))
    if text.startswith("Invalid enum value"):
        allowed = [str(value) for kind in types for value in _literal_values(kind)]
    elif text.startswith("Object contains unknown field"):
        allowed = [name for kind in types if _is_struct(kind) for name in kind.__struct_fields__]
    else:
        allowed = []
    return f"{text}; allowed: {', '.join(allowed)}" if allowed else text


def _field_types(path: list[str]) -> Iterator[Any]:
    """Yield the types that the field ``path`` of :class:`Parts` may have, with the types nested in them; none
    if there is no such field.
    """
    kinds: list[Any] = [Parts]
    for name in path:
        structs = [kind for kind in kinds if _is_struct(kind)]
        kinds = [one for kind in structs for one in _nested_types(typing.get_type_hints(kind).get(name))]
    yield from kinds


def _nested_types(kind: Any) -> list[Any]:
    if typing.get_origin(kind) is typing.Literal:
        return [kind]
    return [kind, *(one for each in typing.get_args(kind) for one in _nested_types(each))]


def _literal_values(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
