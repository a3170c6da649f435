"""Filters by tags and other lists of texts, which are stored as JSON text: ``["a","b"]``.

A tag is searched together with its delimiters: ``["a"`` at the beginning or ``,"a"`` after another one. Neither occurs
within a tag, because JSON escapes quotes. The comparison is exact and case-sensitive on every database: the functions
used here follow the column's collation (on SQLite they compare characters), unlike ``LIKE``.

The tags of load balancers are in a table of their own, too: see :mod:`evenkeel.store.writing.tags`.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    Text,
    and_,
    bindparam,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from evenkeel.core.control.lists import TagFilter
from evenkeel.core.kit.errors import Invalid
from evenkeel.store.engine.in_list import is_in_list, storable_text
from evenkeel.store.records import schema

_load_balancer, _load_balancer_tag = schema.load_balancer, schema.load_balancer_tag

EMPTY_TAG_LIST = "[]"
RARE_TAG_MAX = 5_000
"""Number of load balancers up to which a tag counts as rare: so many are read and sorted in some 12 ms. If more of a
million load balancers have the tag, a scan in the order of the list fills a page in the same time.
"""


def tag_conditions(column: Column[Any], wanted: TagFilter) -> list[ColumnElement[bool]]:
    """Return the SQL conditions by which a column of tags passes the filter. Raises :class:`Invalid` for a text that no
    database can store.
    """
    conditions: list[ColumnElement[bool]] = []
    if wanted.every:
        conditions.append(and_(true(), *_has_each_tag(column, wanted.every)))
    if wanted.some:
        conditions.append(or_(false(), *_has_each_tag(column, wanted.some)))
    if wanted.not_every:
        conditions.append(not_(and_(true(), *_has_each_tag(column, wanted.not_every))))
    if wanted.none:
        conditions.append(not_(or_(false(), *_has_each_tag(column, wanted.none))))
    return conditions


def rare_tag_conditions(connection: Connection, wanted: TagFilter) -> list[ColumnElement[bool]]:
    """Return an indexed SQL condition that every load balancer passing the filter meets: it has one of the
    filter's rare tags. Empty if none of the tags is rare. One query.

    If many load balancers have each of the tags, a page is soon full without such a condition. The number of
    load balancers is read here, because servers plan such a query once for all tags.
    """
    groups = [(tag,) for tag in wanted.every] + ([wanted.some] if wanted.some else [])
    if not groups:
        return []
    having = [
        select(_load_balancer_tag.c.load_balancer_id).where(
            is_in_list(_load_balancer_tag.c.tag, map(storable_text, group))
        )
        for group in groups
    ]
    # The limit ends the count where a tag no longer counts as rare.
    looks = [
        select(func.count()).select_from(each.limit(RARE_TAG_MAX + 1).subquery()).scalar_subquery() for each in having
    ]
    counts = connection.execute(select(*looks)).one()
    count, rarest = min(zip(counts, having, strict=True), key=lambda pair: pair[0])
    return [_load_balancer.c.id.in_(rarest)] if count <= RARE_TAG_MAX else []


def list_contains_any(column: Column[Any], values: Iterable[str]) -> ColumnElement[bool]:
    """Return the SQL condition that the column's list contains at least one of the values (an empty text
    stands for an empty list); never true without values. Raises :class:`Invalid` like
    :func:`tag_conditions`.
    """
    return or_(
        false(),
        *(column == literal(EMPTY_TAG_LIST, Text()) if value == "" else _has_tag(column, value) for value in values),
    )


def _has_each_tag(column: Column[Any], tags: Iterable[str]) -> list[ColumnElement[bool]]:
    return [_has_tag(column, tag) for tag in tags]


def _has_tag(column: Column[Any], tag: str) -> ColumnElement[bool]:
    try:
        encoded = msgspec.json.encode(tag).decode()
    except UnicodeEncodeError as error:
        raise Invalid(f"{column.name}: a text holds half a character") from error
    # With the character before it: a tag that ends like another one must not match.
    return or_(*(_Position(column, bindparam(None, f"{before}{encoded}", type_=Text())) > 0 for before in "[,"))


class _Position(FunctionElement[int]):
    """SQL function: position of the second text in the first, from 1; 0: not found."""

    type = Integer()
    inherit_cache = True
    name = "position_of_text"


@compiles(_Position)
def _compile_instr(element: _Position, compiler: Any, **kw: Any) -> str:
    column, text = (str(compiler.process(each, **kw)) for each in element.clauses)
    return f"instr({column}, {text})"


@compiles(_Position, "postgresql")
def _compile_strpos(element: _Position, compiler: Any, **kw: Any) -> str:
    column, text = (str(compiler.process(each, **kw)) for each in element.clauses)
    return f"strpos({column}, {text})"
