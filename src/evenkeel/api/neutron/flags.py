"""Booleans as texts, as Neutron takes them beside ``true``, ``false``, ``1`` and ``0``, which the decoder knows."""

from typing import Any

from msgspec import inspect

_WORDS = {
    **dict.fromkeys(("yes", "y", "on", "t"), True),
    **dict.fromkeys(("no", "n", "off", "f"), False),
}
"""In any case. Those of oslo.utils' ``bool_from_string``."""


def flag_names(kind: Any) -> frozenset[str]:
    """The names of the boolean attributes of a struct and of the structs in it."""
    names: set[str] = set()
    _collect(inspect.type_info(kind), names, set())
    return frozenset(names)


def _collect(node: Any, names: set[str], seen: set[type]) -> None:
    if isinstance(node, inspect.StructType):
        if node.cls in seen:
            return
        seen.add(node.cls)
        for field in node.fields:
            if inspect.BoolType() in _choices(field.type):
                names.add(field.encode_name)
            _collect(field.type, names, seen)
    elif isinstance(node, inspect.UnionType | inspect.Metadata | inspect.CollectionType):
        for part in _choices(node):
            if part is not node:
                _collect(part, names, seen)


def _choices(node: Any) -> tuple[Any, ...]:
    """The types that a value may have, without their bounds; of a list, those of its items."""
    if isinstance(node, inspect.Metadata):
        return _choices(node.type)
    if isinstance(node, inspect.UnionType):
        return tuple(choice for part in node.types for choice in _choices(part))
    if isinstance(node, inspect.CollectionType):
        return _choices(node.item_type)
    return (node,)


def with_flags(body: Any, names: frozenset[str]) -> bool:
    """Replace words at these names by booleans, anywhere in the decoded body; whether there was one."""
    found, waiting = False, [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, dict):
            for name, value in node.items():
                word = _WORDS.get(value.lower()) if name in names and isinstance(value, str) else None
                if word is not None:
                    node[name], found = word, True
            waiting += node.values()
    return found
