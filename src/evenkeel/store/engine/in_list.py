"""``column IN (many values)`` as one parameter.

SQLAlchemy's own IN renders one parameter per value: the text differs with every length, so neither SQLAlchemy nor the
server can cache it, and compiling a thousand ids takes milliseconds.
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

MARIADB_DIALECTS = ("mysql", "mariadb")
"""SQLAlchemy's names of the dialects for MariaDB."""


def is_in_list(column: Column[Any], values: Iterable[str]) -> ColumnElement[bool]:
    """Return the SQL condition that the text column's value is one of ``values``."""
    return _InList(column, bindparam(None, list(values), type_=_TextArray(), unique=True))


def is_in_bound_list(column: Column[Any], name: str) -> ColumnElement[bool]:
    """Return the SQL condition that the text column's value is in a list that is bound as parameter ``name`` at
    execution.
    """
    return _InList(column, bindparam(name, type_=_TextArray()))


class _TextArray(TypeDecorator[list[str]]):
    """SQL type of a list of texts as one parameter: an array on PostgreSQL, a list that the driver renders on MariaDB
    (which would use no index with JSON), JSON on SQLite.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return ARRAY(String()) if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> Any:
        # PostgreSQL refuses a parameter with NUL, and a tenant could send one in an id.
        given = [text for text in value or () if "\x00" not in text]  # no stored value contains it
        if dialect.name in MARIADB_DIALECTS:
            return tuple(given) or ("\x00",)  # it has no empty list
        return given if dialect.name == "postgresql" else msgspec.json.encode(given).decode()


class _InList(FunctionElement[bool]):
    type = Boolean()
    inherit_cache = True
    name = "in_list"

    def self_group(self, against: Any = None) -> Any:
        """Return the expression unchanged: SQLAlchemy would add ``= 1`` for SQLite, which then uses no index."""
        return self


@compiles(_InList, "postgresql")
def _compile_for_postgresql(element: _InList, compiler: Any, **kw: Any) -> str:
    column, values = element.clauses
    return f"({compiler.process(column, **kw)} = ANY ({compiler.process(values, **kw)}))"


@compiles(_InList, "sqlite")
def _compile_for_sqlite(element: _InList, compiler: Any, **kw: Any) -> str:
    column, values = element.clauses
    text, listed = compiler.process(column, **kw), compiler.process(values, **kw)
    return f"({text} IN (SELECT value FROM json_each({listed})))"  # noqa: S608  # values are bound


@compiles(_InList, "mysql")
@compiles(_InList, "mariadb")
def _compile_for_mariadb(element: _InList, compiler: Any, **kw: Any) -> str:
    column, values = element.clauses
    return f"({compiler.process(column, **kw)} IN {compiler.process(values, **kw)})"


def storable_text(text: str) -> str:
    """Return the text to compare with stored values.

    A text with NUL, which PostgreSQL cannot store and refuses as a parameter, is replaced by an empty text,
    which equals no stored id.
    """
    return "" if "\x00" in text else text
