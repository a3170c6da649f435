"""What Octavia's API has of the attributes of :mod:`evenkeel.core.model`: views show them, lists are filtered by them.

Both follow from the value classes, but for what :data:`evenkeel.core.attributes.HIDDEN` keeps from tenants.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from evenkeel.api.context import as_bool
from evenkeel.api.lists import Filters, Parse, as_integer, as_moment, as_number, as_text, optional
from evenkeel.core.attributes import HIDDEN, LINKS, fields_of, shape_of

V = TypeVar("V", bound=msgspec.Struct)

NONE: Mapping[str, str] = MappingProxyType({})


def shown_fields(kind: type[Any]) -> dict[str, msgspec.structs.FieldInfo]:
    """The attributes that tenants see, but for the ids of what is below the object: those are shown as references."""
    return {name: field for name, field in fields_of(kind).items() if name not in {*HIDDEN[kind], *LINKS[kind]}}


# -- views

_FIRST = (
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
"""Where answers begin; other attributes are in the order of the value class, and what the view adds comes last."""
_COPIED = "COPIED"


def shows(kind: type[Any], *, without: frozenset[str] = frozenset()) -> Callable[[type[V]], type[V]]:
    """A view that begins with the attributes of a value class as they are: all that tenants see, but ``without``
    some, and those that the view declares itself. Texts of a fixed set are plain text in a view."""

    def derived(view: type[V]) -> type[V]:
        own = [(field.name, field.type, field) for field in msgspec.structs.fields(view)]
        names = {name for name, _, _ in own} | without
        copied = sorted(
            (field for name, field in shown_fields(kind).items() if name not in names),
            key=lambda field: _FIRST.index(field.name) if field.name in _FIRST else len(_FIRST),
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
            namespace={"__doc__": view.__doc__, _COPIED: tuple(field.name for field in copied)},
            kw_only=True,
        )

    return derived


def viewer(view: Callable[..., V]) -> Callable[..., V]:
    """A function that makes the view of an object and of what the view declares itself, by name."""
    copied: tuple[str, ...] = getattr(view, _COPIED)
    values = attrgetter(*copied)

    def make(row: Any, **own: Any) -> V:
        return view(*values(row), **own)

    return make


def _view_type(annotation: Any) -> Any:
    node, may_be_none = shape_of(annotation)
    kind = _of(_VIEW_TYPES, node)
    return kind | None if may_be_none else kind


_VIEW_TYPES: tuple[tuple[Any, Any], ...] = (
    ((inspect.StrType, inspect.LiteralType, inspect.EnumType), str),
    (inspect.BoolType, bool),
    (inspect.IntType, int),
    (inspect.FloatType, float),
    (inspect.VarTupleType, tuple[str, ...]),
    (inspect.DictType, dict[str, str]),
)


def _of(table: tuple[tuple[Any, Any], ...], node: inspect.Type) -> Any:
    return next(value for types, value in table if isinstance(node, types))


# -- filters

_MOMENTS = frozenset({"created_at", "updated_at"})
_ELSEWHERE = frozenset({"project_id", "tags", "vip"})
"""Attributes with parameters of their own."""
_LISTS = (inspect.StrType, inspect.LiteralType)
"""What lists are of that can be filtered by what is in them."""
_PARSERS: tuple[tuple[Any, Parse], ...] = (
    ((inspect.StrType, inspect.LiteralType, inspect.EnumType, inspect.VarTupleType), as_text),
    (inspect.BoolType, as_bool),
    (inspect.IntType, as_integer),
    (inspect.FloatType, as_number),
)


def filters_of(
    kind: type[Any],
    *,
    without: frozenset[str] = frozenset(),
    given: Mapping[str, Parse] | None = None,
    aliases: Mapping[str, str] = NONE,
) -> Filters:
    """What lists of a kind can be filtered and ordered by: all that tenants see, but ``without`` some, maps and
    structures. No order by lists. ``given``: parsers by attribute, instead of that by its type, or of no attribute.
    An empty value of an attribute that may be null means those where it is."""
    shapes = {
        name: shape_of(field.type)
        for name, field in shown_fields(kind).items()
        if name not in _ELSEWHERE and name not in without
    }
    lists = {name: shape.node for name, shape in shapes.items() if isinstance(shape.node, inspect.VarTupleType)}
    unordered = frozenset(name for name, node in lists.items() if isinstance(node.item_type, _LISTS))
    parsers: dict[str, Parse] = {}
    for name, (node, may_be_none) in shapes.items():
        if isinstance(node, inspect.DictType | inspect.StructType) or (name in lists and name not in unordered):
            continue
        parse = as_moment if name in _MOMENTS else _of(_PARSERS, node)
        parsers[name] = optional(parse) if may_be_none else parse
    return Filters(parsers=parsers | dict(given or {}), aliases=aliases, unordered=unordered)
