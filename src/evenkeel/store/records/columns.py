"""Makes columns for the attributes of a value class, by their types and defaults."""

from typing import Any

import msgspec
from msgspec import inspect
from sqlalchemy import Boolean, Column, Double, Integer, String, Text, false, true
from sqlalchemy.types import TypeEngine

from evenkeel.core.resources.attributes import LINK_ATTRIBUTES, AttributeShape, attribute_shape, defaults_of, fields_of

ID = String(36)
NAME = String(255)
KEYWORD_TYPE = String(16)
JSON_TYPES = (inspect.VarTupleType, inspect.DictType, inspect.StructType)
"""Types of attributes that are stored as JSON text."""


def columns_for(kind: type[Any], *given: Column[Any], excluded: tuple[str, ...] = ()) -> list[Column[Any]]:
    """Return ``given``, and a column for each other attribute of the class that is not in ``excluded``.

    The columns may be added to a table with rows: one that is not nullable has the attribute's default in the database,
    too. Texts are ids (by their names), keywords or names; any other column, and columns with a key or an index, must
    be given.
    """
    named = {column.name for column in given} | {*LINK_ATTRIBUTES[kind], *excluded}
    defaults = defaults_of(kind)
    return [
        *given,
        *(
            _attribute_column(name, attribute_shape(field.type), defaults[name])
            for name, field in fields_of(kind).items()
            if name not in named
        ),
    ]


def _attribute_column(name: str, shape: AttributeShape, default: Any) -> Column[Any]:
    kind = _column_type(name, shape.node)
    if shape.optional:
        return Column(name, kind)
    if isinstance(default, bool):
        return Column(name, kind, nullable=False, default=default, server_default=true() if default else false())
    stored = msgspec.json.encode(default).decode() if isinstance(shape.node, JSON_TYPES) else default
    return Column(name, kind, nullable=False, default=stored, server_default=str(stored))


def _column_type(name: str, node: inspect.Type) -> TypeEngine[Any]:
    if isinstance(node, inspect.StrType):
        return ID if name.endswith("_id") else NAME
    return next(column for types, column in _TYPES if isinstance(node, types))


_TYPES: tuple[tuple[Any, TypeEngine[Any]], ...] = (
    (inspect.BoolType, Boolean()),
    (inspect.IntType, Integer()),
    (inspect.FloatType, Double()),
    (inspect.LiteralType, KEYWORD_TYPE),
    (JSON_TYPES, Text()),
)
