"""Messages with every field filled, made from the types, so that a field added tomorrow is tested too."""

from typing import Any

from msgspec import inspect

NESTING_MAX = 16


def filled(kind: Any) -> Any:
    """A value of the type in which nothing has its default, wherever there is a choice."""
    return _value(inspect.type_info(kind), 0)


def plain(kind: Any) -> Any:
    """A value of the type in which only the fields without a default are filled."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info.cls(**{field.name: _value(field.type, 0) for field in info.fields if field.required})


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
