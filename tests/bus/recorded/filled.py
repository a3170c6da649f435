"""Messages with every field filled, made from the types, so that a field added tomorrow is tested too."""

from enum import Enum
from typing import Any

import msgspec
from msgspec import inspect

NESTING_MAX = 16


def filled(kind: Any) -> Any:
    """A value of the type in which nothing has its default, wherever there is a choice."""
    return _value(inspect.type_info(kind), 0)


def _value(info: inspect.Type, depth: int) -> Any:
    assert depth < NESTING_MAX, "messages do not refer to themselves"
    match info:
        case inspect.StructType():
            return info.cls(**{field.name: _value(field.type, depth + 1) for field in info.fields})
        case inspect.EnumType():
            return list(info.cls)[-1]
        case inspect.LiteralType():
            return info.values[-1]
        case inspect.UnionType():
            return _value(next(one for one in info.types if not isinstance(one, inspect.NoneType)), depth + 1)
        case inspect.VarTupleType() | inspect.ListType():
            return tuple(_value(info.item_type, depth + 1) for _ in range(2))
        case inspect.DictType():
            return {_value(info.key_type, depth + 1): _value(info.value_type, depth + 1)}
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 41
        case inspect.FloatType():
            return 0.25
        case inspect.StrType():
            return 'text "é"'
        case inspect.BytesType():
            return b"bytes"
    raise AssertionError(f"messages hold no {type(info).__name__}")


def choices(kind: Any) -> dict[str, frozenset[str]]:
    """Field -> the words that it may hold, for all fields below ``kind`` that take one of a few words."""
    found: dict[str, frozenset[str]] = {}
    _choices(inspect.type_info(kind), kind.__name__, found)
    return found


def _choices(info: inspect.Type, place: str, found: dict[str, frozenset[str]]) -> None:
    match info:
        case inspect.StructType():
            for field in info.fields:
                _choices(field.type, f"{info.cls.__name__}.{field.name}", found)
        case inspect.EnumType():
            found[place] = frozenset(str(one.value) for one in info.cls if isinstance(one, Enum))
        case inspect.LiteralType():
            found[place] = frozenset(map(str, info.values))
        case inspect.UnionType():
            for one in info.types:
                _choices(one, place, found)
        case inspect.VarTupleType() | inspect.ListType():
            _choices(info.item_type, place, found)
        case inspect.DictType():
            _choices(info.value_type, place, found)


def same_meaning(old: Any, new: Any) -> bool:
    """Does everything that the old type can say have the value that the new one has?"""
    if isinstance(old, msgspec.Struct):
        fields = old.__struct_fields__
        return _name_on_the_wire(old) == _name_on_the_wire(new) and all(
            same_meaning(getattr(old, name), getattr(new, name)) for name in fields
        )
    if isinstance(old, tuple):
        return len(old) == len(new) and all(same_meaning(*pair) for pair in zip(old, new, strict=True))
    return bool(old == new)


def _name_on_the_wire(value: msgspec.Struct) -> object:
    """The tag of a message; of its parts, which have none, the class."""
    return value.__struct_config__.tag or type(value).__name__
