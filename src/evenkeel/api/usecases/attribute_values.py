"""Conversion of the attributes in a request to those of the value class.

Attributes of request and value class correspond by name. The request's type defines which attributes are allowed; the
conversion, and the meaning of null, follow from the value class.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, inspect

from evenkeel.api.usecases.parents import without_duplicates
from evenkeel.core.resources.attributes import (
    CHANGEABLE_ATTRIBUTES,
    LINK_ATTRIBUTES,
    attribute_shape,
    defaults_of,
    fields_of,
)
from evenkeel.core.resources.model import L7Policy, L7Rule
from evenkeel.core.tls.certificate_references import REFERENCES

R = TypeVar("R", bound=msgspec.Struct)
Attributes = dict[str, Any]
_KINDS_WITH_CLEARED_TAGS = (L7Policy, L7Rule)
"""Kinds of objects whose tags a null clears, like in Octavia; for other kinds null leaves the tags unchanged."""


def derive_change_request(new: type[Any], kind: type[Any], **instead: Any) -> Callable[[type[R]], type[R]]:
    """Return a decorator that adds to a change request the attributes of the create request ``new`` that an
    update may set, besides its own. Absent attributes stay unchanged; null is allowed where ``new`` allows
    it. ``instead``: types that differ in a change.
    """

    def derive_class(change: type[R]) -> type[R]:
        own = {field.name for field in msgspec.structs.fields(change)}
        fields = [
            (field.name, instead.get(field.name, field.type) | UnsetType, UNSET)
            for field in msgspec.structs.fields(new)
            if field.name in CHANGEABLE_ATTRIBUTES[kind] and field.name not in own
        ]
        return msgspec.defstruct(  # type: ignore[return-value]
            change.__name__, fields, bases=(change,), module=change.__module__, namespace={"__doc__": change.__doc__}
        )

    return derive_class


def values_to_create(body: Any, kind: type[Any], *besides: str) -> Attributes:
    """Return ``{attribute: value}`` of a create request, without null and absent attributes, for which the
    value class has defaults, and without ``besides``, which the caller converts.
    """
    return {
        name: attribute.convert(value)
        for name, attribute in _common_attributes(type(body), kind).items()
        if name not in besides and not _is_null(name, value := getattr(body, name)) and value is not UNSET
    }


def values_to_change(body: Any, kind: type[Any]) -> Attributes:
    """Return ``{attribute: value}`` of a change request, without absent attributes; null, and an empty text
    in a reference to a key manager, are replaced by the default.

    Null leaves tags unchanged, except those of L7 policies and rules.
    """
    changes: Attributes = {}
    for name, attribute in _common_attributes(type(body), kind).items():
        value = getattr(body, name)
        if value is not UNSET and not (value is None and name == "tags" and kind not in _KINDS_WITH_CLEARED_TAGS):
            changes[name] = attribute.default if _is_null(name, value) else attribute.convert(value)
    return changes


def _is_null(name: str, value: Any) -> bool:
    """Whether a value means null; also an empty reference does, because clients clear references with an
    empty text.
    """
    return value is None or (value == "" and name in REFERENCES)


class _Attribute(NamedTuple):
    convert: Callable[[Any], Any]
    """Conversion of the value in the request."""
    default: Any


_known: dict[tuple[type[Any], type[Any]], dict[str, _Attribute]] = {}
"""Cache: ``{(request type, value class): {attribute: conversion}}``."""


def _common_attributes(request: type[Any], kind: type[Any]) -> dict[str, _Attribute]:
    """Return the attributes that request and value class have in common, except attributes that identify the object."""
    found = _known.get((request, kind))
    if found is None:
        defaults, fields = defaults_of(kind), fields_of(kind)
        settable = (defaults.keys() | CHANGEABLE_ATTRIBUTES[kind]) - set(LINK_ATTRIBUTES[kind])
        found = _known[request, kind] = {
            name: _Attribute(_converter_to(fields[name].type), defaults.get(name))
            for name in request.__struct_fields__
            if name in settable
        }
    return found


def _converter_to(annotation: Any) -> Callable[[Any], Any]:
    node, _ = attribute_shape(annotation)
    if isinstance(node, inspect.IntType):
        return int  # requests may contain some numbers as text
    return without_duplicates if isinstance(node, inspect.VarTupleType) else _return_unchanged


def _return_unchanged(value: Any) -> Any:
    return value
