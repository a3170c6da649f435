"""``column IN (many values)`` as one parameter.

SQLAlchemy's own IN writes a parameter a value: the text differs with every length, so neither SQLAlchemy nor the
server can keep it prepared, and a thousand ids cost milliseconds before the database sees them.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Dialect,
    String,
    Text,
    bindparam,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

MARIADB = ("mysql", "mariadb")
"""SQLAlchemy's names of its dialects."""


def in_list(column: Column[Any], values: Iterable[str]) -> ColumnElement[bool]:
    """The column's value, a text, is one of these."""
    return _InList(column, bindparam(None, list(values), type_=_Texts(), unique=True))


def in_bound_list(column: Column[Any], name: str) -> ColumnElement[bool]:
    """As :func:`in_list`, for the list that is given as parameter ``name`` when the statement runs."""
    return _InList(column, bindparam(name, type_=_Texts()))


class _Texts(TypeDecorator[list[str]]):
    """Texts as one parameter: an array where there are arrays, a list that its driver writes out on MariaDB (which
    would use no index for what comes from JSON), else JSON."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return ARRAY(String()) if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> Any:
        given = [text for text in value or () if "\x00" not in text]  # which nothing stored can be
        if dialect.name in MARIADB:
            return tuple(given) or ("\x00",)  # it knows no empty list
        return given if dialect.name == "postgresql" else msgspec.json.encode(given).decode()


class _InList(FunctionElement[bool]):
    type = Boolean()
    inherit_cache = True
    name = "in_list"

    def self_group(self, against: Any = None) -> Any:
        """As it is: SQLAlchemy would add ``= 1`` for SQLite, which then uses no index for it."""
        return self


@compiles(_InList, "postgresql")
def _postgresql(element: _InList, compiler: Any, **kw: Any) -> str:
    column, values = element.clauses
    return f"({compiler.process(column, **kw)} = ANY ({compiler.process(values, **kw)}))"


@compiles(_InList, "sqlite")
def _sqlite(element: _InList, compiler: Any, **kw: Any) -> str:
    column, values = element.clauses
    text, listed = compiler.process(column, **kw), compiler.process(values, **kw)
    return f"({text} IN (SELECT value FROM json_each({listed})))"  # noqa: S608  # values are bound


@compiles(_InList, "mysql")
@compiles(_InList, "mariadb")
def _mariadb(element: _InList, compiler: Any, **kw: Any) -> str:
    column, values = element.clauses
    return f"({compiler.process(column, **kw)} IN {compiler.process(values, **kw)})"


def storable(text: str) -> str:
    """For comparing with what is stored: the text, or one that nothing is called.

    PostgreSQL refuses to be asked for what it could never hold.
    """
    return "" if "\x00" in text else text
