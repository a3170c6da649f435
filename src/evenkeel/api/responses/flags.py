"""Booleans as texts in bodies and queries, in the spellings that Octavia and Neutron accept."""

import functools
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import inspect

T = TypeVar("T")

FLAG_WORDS = {
    **dict.fromkeys(("true", "1", "yes", "y", "on", "t"), True),
    **dict.fromkeys(("false", "0", "no", "n", "off", "f"), False),
}
"""Words for booleans, in lower case; any case is accepted. Source: oslo.utils' ``bool_from_string``, and WSME, which
parses bodies in Octavia.
"""


@functools.cache
def flag_names(kind: Any) -> frozenset[str]:
    """Return the names, in JSON, of the boolean attributes of a struct type and of all structs nested in it."""
    names: set[str] = set()
    _collect_flag_names(inspect.type_info(kind), names, set())
    return frozenset(names)


def _collect_flag_names(node: Any, names: set[str], seen: set[type]) -> None:
    if isinstance(node, inspect.StructType):
        if node.cls in seen:
            return
        seen.add(node.cls)
        for field in node.fields:
            if inspect.BoolType() in _possible_types(field.type):
                names.add(field.encode_name)
            _collect_flag_names(field.type, names, seen)
    elif isinstance(node, inspect.UnionType | inspect.Metadata | inspect.CollectionType):
        for part in _possible_types(node):
            if part is not node:
                _collect_flag_names(part, names, seen)


def _possible_types(node: Any) -> tuple[Any, ...]:
    """Return the types that a value may have, without their bounds; for a list, the types of its items."""
    if isinstance(node, inspect.Metadata):
        return _possible_types(node.type)
    if isinstance(node, inspect.UnionType):
        return tuple(choice for part in node.types for choice in _possible_types(part))
    if isinstance(node, inspect.CollectionType):
        return _possible_types(node.item_type)
    return (node,)


class LaxDecoder(Generic[T]):
    """Decoder of JSON in which numbers and booleans may be texts, and whole numbers may be written ``80.0``. The text
    ``null`` is not null.
    """

    def __init__(self, kind: type[T]) -> None:
        self._strict = msgspec.json.Decoder(kind).decode
        self._lax = msgspec.json.Decoder(kind, strict=False).decode
        self._kind: Any = kind

    def decode(self, raw: bytes) -> T:
        """Decode a body. Raises :class:`msgspec.ValidationError` for JSON of another type, and
        :class:`msgspec.DecodeError` for invalid JSON.
        """
        try:
            return self._strict(raw)
        except msgspec.ValidationError:
            # In its lax mode msgspec takes the text "null" for null.
            if b'"null"' in raw.lower():
                raise
        try:
            return self._lax(raw)
        except msgspec.ValidationError:
            body = msgspec.json.decode(raw)
            # found when first needed: for all bodies, this would take a controller a tenth of a second at its start
            if not convert_flags(body, flag_names(self._kind)):
                raise
            return self._lax(msgspec.json.encode(body))


def convert_flags(body: Any, names: frozenset[str]) -> bool:
    """Replace words for booleans under these names by booleans, anywhere in the decoded body, in place;
    returns whether there was one.
    """
    found, waiting = False, [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            # Values of existing keys may be replaced while a dictionary is iterated.
            for name, value in node.items():
                word = FLAG_WORDS.get(value.lower()) if name in names and isinstance(value, str) else None
                if word is not None:
                    node[name], found = word, True
            waiting += node.values()
    return found
