"""The attributes that a request gives, as the value class has them.

An attribute of a request and one of the value class are the same if they have one name. The request's type says what
may be given; what becomes of it, and what null means, follows from the value class.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, inspect

from evenkeel.api.octavia.places import each_once
from evenkeel.core.attributes import CHANGEABLE, LINKS, defaults_of, fields_of, shape_of

R = TypeVar("R", bound=msgspec.Struct)
Attributes = dict[str, Any]


def changes_of(new: type[Any], kind: type[Any]) -> Callable[[type[R]], type[R]]:
    """A change request: besides what it declares itself, the attributes of the create request ``new`` that an update
    may set. What is absent is left alone; null is taken where ``new`` takes it."""

    def derived(change: type[R]) -> type[R]:
        own = {field.name for field in msgspec.structs.fields(change)}
        fields = [
            (field.name, field.type | UnsetType, UNSET)
            for field in msgspec.structs.fields(new)
            if field.name in CHANGEABLE[kind] and field.name not in own
        ]
        return msgspec.defstruct(  # type: ignore[return-value]
            change.__name__, fields, bases=(change,), module=change.__module__, namespace={"__doc__": change.__doc__}
        )

    return derived


def asked(body: Any, kind: type[Any], *besides: str) -> Attributes:
    """What a create request asks for; not what it leaves to the defaults of the value class, nor the attributes that
    the caller looks after, ``besides``."""
    return {
        name: attribute.convert(value)
        for name, attribute in _plain(type(body), kind).items()
        if name not in besides and (value := getattr(body, name)) is not None and value is not UNSET
    }


def given(body: Any, kind: type[Any]) -> Attributes:
    """What a change request gives, null replaced by the default."""
    changes: Attributes = {}
    for name, attribute in _plain(type(body), kind).items():
        value = getattr(body, name)
        if value is not UNSET:
            changes[name] = attribute.default if value is None else attribute.convert(value)
    return changes


class _Attribute(NamedTuple):
    convert: Callable[[Any], Any]
    """Makes its value of what is given."""
    default: Any


_known: dict[tuple[type[Any], type[Any]], dict[str, _Attribute]] = {}
"""By request and value class: as many as there are of them."""


def _plain(request: type[Any], kind: type[Any]) -> dict[str, _Attribute]:
    """The attributes of a request that the value class has, but for those that say which object it is."""
    found = _known.get((request, kind))
    if found is None:
        defaults, fields = defaults_of(kind), fields_of(kind)
        settable = (defaults.keys() | CHANGEABLE[kind]) - set(LINKS[kind])
        found = _known[request, kind] = {
            name: _Attribute(_converter(fields[name].type), defaults.get(name))
            for name in request.__struct_fields__
            if name in settable
        }
    return found


def _converter(annotation: Any) -> Callable[[Any], Any]:
    node, _ = shape_of(annotation)
    if isinstance(node, inspect.IntType):
        return int  # some numbers may be given as text
    return each_once if isinstance(node, inspect.VarTupleType) else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value
