"""What readers of messages depend on: every struct's fields, with their types, defaults and words, as JSON data."""

from typing import Any

import msgspec
from msgspec import inspect

from evenkeel.core.protocol import messages as m

Fields = dict[str, dict[str, Any]]
"""Field -> its ``type``, its ``default`` (missing: the field is required), and the ``words`` that it may hold."""


def message_types() -> dict[str, Any]:
    """The message types by their tag."""
    return {kind.__struct_config__.tag: kind for kind in m.AnyMessage.__args__}


def structs() -> dict[str, Fields]:
    """The fields of all messages and of the structs in them, by name of the struct."""
    found: dict[str, Fields] = {}
    for kind in message_types().values():
        _collect(inspect.type_info(kind), found)
    return dict(sorted(found.items()))


def _collect(info: inspect.Type, found: dict[str, Fields]) -> None:
    match info:
        case inspect.StructType():
            name = info.cls.__name__
            if name not in found:
                found[name] = {field.encode_name: _described(field) for field in info.fields}
                for field in info.fields:
                    _collect(field.type, found)
        case inspect.UnionType():
            for one in info.types:
                _collect(one, found)
        case inspect.VarTupleType() | inspect.ListType():
            _collect(info.item_type, found)
        case inspect.DictType():
            _collect(info.value_type, found)


def _described(field: inspect.Field) -> dict[str, Any]:
    described: dict[str, Any] = {"type": _text(field.type)}
    if not field.required:
        made = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        described["default"] = msgspec.json.decode(msgspec.json.encode(made))
    if words := sorted(_words(field.type)):
        described["words"] = words
    return described


def _text(info: inspect.Type) -> str:
    match info:
        case inspect.StructType():
            return str(info.cls.__name__)
        case inspect.EnumType() | inspect.LiteralType():
            return "word"
        case inspect.UnionType():
            return " | ".join(sorted(map(_text, info.types)))
        case inspect.VarTupleType() | inspect.ListType():
            return f"[{_text(info.item_type)}]"
        case inspect.DictType():
            return f"{{{_text(info.key_type)}: {_text(info.value_type)}}}"
    return type(info).__name__.removesuffix("Type").lower()


def _words(info: inspect.Type) -> set[str]:
    match info:
        case inspect.EnumType():
            return {str(one.value) for one in info.cls}
        case inspect.LiteralType():
            return set(map(str, info.values))
        case inspect.UnionType():
            return set().union(*map(_words, info.types))
        case inspect.VarTupleType() | inspect.ListType():
            return _words(info.item_type)
        case inspect.DictType():
            return _words(info.value_type)
    return set()
