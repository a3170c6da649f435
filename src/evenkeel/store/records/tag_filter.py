"""Filters by tags and other lists of texts, which are stored as JSON text: ``["a","b"]``.

A tag is searched together with its delimiters: ``["a"`` at the beginning or ``,"a"`` after another one. Neither occurs
within a tag, because JSON escapes quotes. The comparison is exact and case-sensitive on every database: the functions
used here follow the column's collation (on SQLite they compare characters), unlike ``LIKE``.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import Column, ColumnElement, Integer, Text, and_, bindparam, false, literal, not_, or_, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from evenkeel.core.control import TagFilter
from evenkeel.core.errors import Invalid

EMPTY = "[]"


def tag_conditions(column: Column[Any], wanted: TagFilter) -> list[ColumnElement[bool]]:
    """Conditions on the column of tags. Raises :class:`Invalid` for a text that no database can store."""
    conditions: list[ColumnElement[bool]] = []
    if wanted.every:
        conditions.append(and_(true(), *_each(column, wanted.every)))
    if wanted.some:
        conditions.append(or_(false(), *_each(column, wanted.some)))
    if wanted.not_every:
        conditions.append(not_(and_(true(), *_each(column, wanted.not_every))))
    if wanted.none:
        conditions.append(not_(or_(false(), *_each(column, wanted.none))))
    return conditions


def list_condition(column: Column[Any], values: Iterable[str]) -> ColumnElement[bool]:
    """The column's list contains at least one of the values; never true for none. Raises as :func:`tag_conditions`."""
    return or_(false(), *(column == literal(EMPTY, Text()) if value == "" else _has(column, value) for value in values))


def _each(column: Column[Any], tags: Iterable[str]) -> list[ColumnElement[bool]]:
    return [_has(column, tag) for tag in tags]


def _has(column: Column[Any], tag: str) -> ColumnElement[bool]:
    try:
        encoded = msgspec.json.encode(tag).decode()
    except UnicodeEncodeError as error:
        raise Invalid(f"{column.name}: a text holds half a character") from error
    return or_(*(_Position(column, bindparam(None, f"{before}{encoded}", type_=Text())) > 0 for before in "[,"))


class _Position(FunctionElement[int]):
    """The position of the second text in the first, from 1; 0: not found."""

    type = Integer()
    inherit_cache = True
    name = "position_of_text"


@compiles(_Position)
def _instr(element: _Position, compiler: Any, **kw: Any) -> str:
    column, text = (str(compiler.process(each, **kw)) for each in element.clauses)
    return f"instr({column}, {text})"


@compiles(_Position, "postgresql")
def _strpos(element: _Position, compiler: Any, **kw: Any) -> str:
    column, text = (str(compiler.process(each, **kw)) for each in element.clauses)
    return f"strpos({column}, {text})"
