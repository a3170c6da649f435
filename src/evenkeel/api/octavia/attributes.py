"""Views and list filters of Octavia's API, derived from the value classes in :mod:`evenkeel.core.resources.model`,
without the attributes in :data:`evenkeel.core.resources.attributes.HIDDEN_ATTRIBUTES`.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from evenkeel.api.http.call import parse_bool
from evenkeel.api.http.lists import Filters, Parse, parse_integer, parse_number, parse_optional, parse_text, parse_time
from evenkeel.core.resources.attributes import HIDDEN_ATTRIBUTES, LINK_ATTRIBUTES, attribute_shape, fields_of

V = TypeVar("V", bound=msgspec.Struct)

NONE: Mapping[str, str] = MappingProxyType({})


def shown_fields(kind: type[Any]) -> dict[str, msgspec.structs.FieldInfo]:
    """Return the attributes of a value class that tenants see, by name, except ids of children, which are
    shown as references.
    """
    return {
        name: field
        for name, field in fields_of(kind).items()
        if name not in {*HIDDEN_ATTRIBUTES[kind], *LINK_ATTRIBUTES[kind]}
    }


# -- views

_FIRST_ATTRIBUTES = (
    "id",
    "name",
    "description",
    "provisioning_status",
    "operating_status",
    "admin_state_up",
    "protocol",
    "protocol_port",
    "project_id",
)
"""Attributes that come first in responses; the others follow in the order of the value class, then attributes that the
view adds.
"""
_COPIED_FIELDS_NAME = "COPIED"


def derive_view(kind: type[Any], *, without: frozenset[str] = frozenset()) -> Callable[[type[V]], type[V]]:
    """Return a decorator that adds to a view the attributes of a value class that tenants see, except
    ``without`` and attributes that the view declares. Enumerations are plain text in a view.
    """

    def derive_class(view: type[V]) -> type[V]:
        own = [(field.name, field.type, field) for field in msgspec.structs.fields(view)]
        names = {name for name, _, _ in own} | without
        copied = sorted(
            (field for name, field in shown_fields(kind).items() if name not in names),
            key=lambda field: (
                _FIRST_ATTRIBUTES.index(field.name) if field.name in _FIRST_ATTRIBUTES else len(_FIRST_ATTRIBUTES)
            ),
        )
        base = msgspec.defstruct(
            f"{kind.__name__}Attributes",
            [(field.name, _view_type(field.type)) for field in copied],
            bases=view.__bases__,
        )
        return msgspec.defstruct(  # type: ignore[return-value]
            view.__name__,
            [(name, type_) if field.required else (name, type_, field.default) for name, type_, field in own],
            bases=(base,),
            module=view.__module__,
            namespace={"__doc__": view.__doc__, _COPIED_FIELDS_NAME: tuple(field.name for field in copied)},
            kw_only=True,
        )

    return derive_class


def view_function(view: Callable[..., V]) -> Callable[..., V]:
    """Return a function that makes the view (of :func:`derive_view`) from an object and, as keyword
    arguments, the attributes that the view declares itself.
    """
    make_view, values = view_and_getter(view)

    def make(row: Any, **own: Any) -> V:
        return make_view(*values(row), **own)

    return make


def view_and_getter(view: Callable[..., V]) -> tuple[Callable[..., V], Callable[[Any], tuple[Any, ...]]]:
    """Return the two parts of :func:`view_function`: the view, to be called with copied attributes by
    position and its own by name, and the function that returns an object's copied attributes.

    Lists make views by the thousand, and a direct call takes half of the time.
    """
    copied: tuple[str, ...] = getattr(view, _COPIED_FIELDS_NAME)
    return view, attrgetter(*copied)


def full_view_function(view: type[Any], full: Callable[..., V]) -> Callable[..., V]:
    """Return a function that makes a full view from a view of the same object and, as keyword arguments, the attributes
    that only the full view has or that differ.
    """
    fields = {field.name for field in msgspec.structs.fields(full)}  # type: ignore[arg-type]
    names = tuple(field.name for field in msgspec.structs.fields(view) if field.name in fields)

    def make(shown: Any, **own: Any) -> V:
        return full(**{name: getattr(shown, name) for name in names} | own)

    return make


def _view_type(annotation: Any) -> Any:
    node, may_be_none = attribute_shape(annotation)
    kind = _value_for_type(_VIEW_TYPES, node)
    return kind | None if may_be_none else kind


_VIEW_TYPES: tuple[tuple[Any, Any], ...] = (
    ((inspect.StrType, inspect.LiteralType, inspect.EnumType), str),
    (inspect.BoolType, bool),
    (inspect.IntType, int),
    (inspect.FloatType, float),
    (inspect.VarTupleType, tuple[str, ...]),
    (inspect.DictType, dict[str, str]),
)


def _value_for_type(table: tuple[tuple[Any, Any], ...], node: inspect.Type) -> Any:
    return next(value for types, value in table if isinstance(node, types))


# -- filters

_TIME_ATTRIBUTES = frozenset({"created_at", "updated_at"})
_ATTRIBUTES_FILTERED_ELSEWHERE = frozenset({"project_id", "tags", "vip"})
"""Attributes with list parameters of their own."""
_FILTERED_ELEMENT_TYPES = (inspect.StrType, inspect.LiteralType)
"""Element types of lists that can be filtered by their elements."""
_PARSERS: tuple[tuple[Any, Parse], ...] = (
    ((inspect.StrType, inspect.LiteralType, inspect.EnumType, inspect.VarTupleType), parse_text),
    (inspect.BoolType, parse_bool),
    (inspect.IntType, parse_integer),
    (inspect.FloatType, parse_number),
)


def derive_filters(
    kind: type[Any],
    *,
    without: frozenset[str] = frozenset(),
    given: Mapping[str, Parse] | None = None,
    aliases: Mapping[str, str] = NONE,
    unordered: frozenset[str] = frozenset(),
) -> Filters:
    """Derive the filters and sort keys of a kind of objects: all attributes that tenants see, except ``without``, maps
    and structures. Lists and ``unordered`` cannot be sort keys. ``given``: parsers by attribute that replace or add to
    the derived parsers. An empty value of a nullable attribute matches null.
    """
    shapes = {
        name: attribute_shape(field.type)
        for name, field in shown_fields(kind).items()
        if name not in _ATTRIBUTES_FILTERED_ELSEWHERE and name not in without
    }
    lists = {name: shape.node for name, shape in shapes.items() if isinstance(shape.node, inspect.VarTupleType)}
    filtered_lists = frozenset(
        name for name, node in lists.items() if isinstance(node.item_type, _FILTERED_ELEMENT_TYPES)
    )
    parsers: dict[str, Parse] = {}
    for name, (node, may_be_none) in shapes.items():
        if isinstance(node, inspect.DictType | inspect.StructType) or (name in lists and name not in filtered_lists):
            continue
        parse = parse_time if name in _TIME_ATTRIBUTES else _value_for_type(_PARSERS, node)
        parsers[name] = parse_optional(parse) if may_be_none else parse
    return Filters(parsers=parsers | dict(given or {}), aliases=aliases, unordered=filtered_lists | unordered)
