"""Filters by tags and other lists of texts, which are kept as JSON text: ``["a","b"]``.

A tag is looked for with what encloses it: ``["a"`` at the beginning or ``,"a"`` after another one. Neither can be in
the midst of a tag, where JSON writes quotes with a backslash before them. Comparing is exact, upper and lower case
are different, on every database: its functions for the place of a text in another go by the column's collation, and
SQLite's by characters; ``LIKE`` would do neither.
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
    """What must hold of the column of tags. Raises :class:`Invalid` for a text that no database can hold."""
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
    """One of the values at least is in the column's list; empty: nothing is. Raises as :func:`tag_conditions`."""
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
    """Where the second text is in the first, from 1; 0: nowhere."""

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
