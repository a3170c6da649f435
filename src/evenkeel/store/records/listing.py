"""Reads lists: filters, a total order, and pages by marker.

A page begins after the marker's values in the requested order (keyset pagination), never at an offset, so
rows added or removed elsewhere neither repeat nor hide rows on the next page. NULLs come last, on every
database.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    Integer,
    Select,
    and_,
    bindparam,
    false,
    literal,
    or_,
    select,
    true,
)

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.errors import Invalid
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import columns_with_child_ids, object_with_child_ids
from evenkeel.store.records.rows import JSON_FIELDS, LOAD_BALANCER, POOL, TEXT_LIST_FIELDS, Kind
from evenkeel.store.records.tag_filter import list_contains_any, rare_tag_conditions, tag_conditions

_TIME_COLUMNS = frozenset({"created_at", "updated_at"})
"""Attributes with times: filters compare them in whole seconds, as the APIs show them."""
_TRUE_WORDS = frozenset({"true", "1", "yes", "on", "t", "y"})
_FALSE_WORDS = frozenset({"false", "0", "no", "off", "f", "n"})


class SortKey(NamedTuple):
    """A column by which a list is ordered, with its direction."""

    column: Column[Any]
    descending: bool


class PageRows(NamedTuple):
    """Rows of one page, in the requested order. ``before``, ``after``: whether there are more rows on that
    side.
    """

    rows: Sequence[Any]
    before: bool
    after: bool


def list_page(
    connection: Connection,
    kind: Kind,
    query: ListQuery,
    conditions: Sequence[ColumnElement[bool]] = (),
    *,
    parent_id: str | None = None,
) -> Page:
    """Return the requested page of objects for which ``conditions`` hold. One query, one for the marker, and
    one for tags.

    ``parent_id``: the pool of members, or the policy of rules; None: any. Raises :class:`Invalid` for an
    unknown filter, sort name or marker, a filter value of the wrong type, or a negative limit.
    """
    parent = kind.parent if parent_id is not None else None
    if not conditions and _is_plain_list(kind, query):
        found = _read_plain_rows(connection, kind, query, None if parent is None else parent_id)
    else:
        if parent is not None:
            conditions = (*conditions, parent == storable_text(parent_id or ""))
        found = read_page_rows(connection, kind, query, select(*columns_with_child_ids(kind)), conditions)
    return Page(
        items=tuple([object_with_child_ids(kind, row) for row in found.rows]), before=found.before, after=found.after
    )


def read_page_rows(
    connection: Connection,
    kind: Kind,
    query: ListQuery,
    selected: Select[Any],
    conditions: Sequence[ColumnElement[bool]] = (),
) -> PageRows:
    """Return a page of rows with the columns and tables of ``selected``, filtered, sorted and limited as by
    :func:`list_page`, which also lists the reasons for :class:`Invalid`.
    """
    rows_max = _rows_max(query)
    keys = sort_keys(kind, query.sort)
    wanted = [*conditions, *filter_conditions(kind, query)]
    if kind is LOAD_BALANCER and query.tags is not None:
        wanted += rare_tag_conditions(connection, query.tags)
    if query.marker is not None:
        wanted.append(_beyond_marker_condition(connection, kind, query, keys))
    order = [part for key in keys for part in _order_expressions(key, reverse=query.page_reverse)]
    statement = selected.where(*wanted).order_by(*order)
    if rows_max is not None:
        statement = statement.limit(rows_max)
    return _page_of_rows(query, connection.execute(statement).fetchall())


def _rows_max(query: ListQuery) -> int | None:
    """Return the maximum number of rows to read for a page; None: all. Raises :class:`Invalid` for a negative limit."""
    if query.limit is None:
        return None
    if query.limit < 0:
        raise Invalid(f"limit: {query.limit} is less than 0")
    # One more row shows whether there is another page, without a count.
    return query.limit + 1


def _page_of_rows(query: ListQuery, rows: Sequence[Any]) -> PageRows:
    """Return the page from the rows that its statement found, which may be one more than the limit."""
    more = query.limit is not None and len(rows) > query.limit
    rows = rows[: query.limit] if more else rows
    marked = query.marker is not None
    if query.page_reverse:
        # Read backwards from the marker; clients get every page in the requested order.
        return PageRows(rows[::-1], before=more, after=marked)
    return PageRows(rows, before=marked, after=more)


# -- plain lists: of most requests. Their statements are built once for each shape, because building one and finding its
# compiled form would cost as much as running it.

MAX_CACHED_STATEMENTS = 256
"""Maximum number of cached statements."""


def _is_plain_list(kind: Kind, query: ListQuery) -> bool:
    """Whether the query is the first page of a list without a filter by tags, and each filter is one value of
    an attribute that is neither a time nor a list.
    """
    if query.tags is not None or query.marker is not None:
        return False
    attributes = _filterable_columns(kind)
    return all(
        len(values) == 1 and values[0] is not None and name in attributes and name not in _TIME_COLUMNS
        for name, values in query.filters.items()
    )


def _read_plain_rows(connection: Connection, kind: Kind, query: ListQuery, parent_id: str | None) -> PageRows:
    rows_max = _rows_max(query)
    statement = _plain_statement(
        kind,
        tuple(sorted(query.filters)),
        query.sort,
        in_project=query.project_id is not None,
        with_parent=parent_id is not None,
        limited=rows_max is not None,
        reverse=query.page_reverse,
    )
    attributes = _filterable_columns(kind)
    given = {
        f"only_{name}": _convert_filter_value(attributes[name], values[0]) for name, values in query.filters.items()
    }
    if query.project_id is not None:
        given["project"] = storable_text(query.project_id)
    if parent_id is not None:
        given["parent"] = storable_text(parent_id)
    if rows_max is not None:
        given["rows"] = rows_max
    return _page_of_rows(query, connection.execute(statement, given).fetchall())


@lru_cache(maxsize=MAX_CACHED_STATEMENTS)
def _plain_statement(
    kind: Kind,
    names: tuple[str, ...],
    sort: tuple[tuple[str, bool], ...],
    *,
    in_project: bool,
    with_parent: bool,
    limited: bool,
    reverse: bool,
) -> Select[Any]:
    """Build the statement of a plain list. ``names``: the filtered attributes. Raises :class:`Invalid` for an
    unknown name in ``sort``.
    """
    attributes = _filterable_columns(kind)
    statement = select(*columns_with_child_ids(kind)).where(
        *(attributes[name] == bindparam(f"only_{name}", type_=attributes[name].type) for name in names)
    )
    if in_project:
        statement = statement.where(kind.table.c.project_id == bindparam("project"))
    if with_parent and kind.parent is not None:
        statement = statement.where(kind.parent == bindparam("parent"))
    statement = statement.order_by(
        *(part for key in sort_keys(kind, sort) for part in _order_expressions(key, reverse=reverse))
    )
    return statement.limit(bindparam("rows", type_=Integer())) if limited else statement


# -- filters


@cache
def _filterable_columns(kind: Kind) -> dict[str, Column[Any]]:
    return {column.name: column for column in kind.columns if column.name not in JSON_FIELDS}


def filter_conditions(kind: Kind, query: ListQuery) -> list[ColumnElement[bool]]:
    """Return an SQL condition for each filter of the query: the attribute equals one of the filter's values
    (None: is not set; times are compared in whole seconds); an attribute with a list contains one of them.

    Raises :class:`Invalid` for an unknown attribute or a value of the wrong type.
    """
    attributes = _filterable_columns(kind)
    lists = {column.name: column for column in kind.columns if column.name in TEXT_LIST_FIELDS}
    conditions: list[ColumnElement[bool]] = []
    if query.project_id is not None:
        conditions.append(kind.table.c.project_id == storable_text(query.project_id))
    for name, values in query.filters.items():
        if kind is POOL and name == "health_monitor_id":
            conditions.append(_pool_has_monitor(values))
            continue
        if name in lists:
            conditions.append(
                list_contains_any(lists[name], [_convert_filter_value(lists[name], value) for value in values])
            )
            continue
        if name not in attributes:
            raise Invalid(f"{name}: not an attribute to filter by")
        conditions.append(_is_one_of(attributes[name], values))
    if query.tags is not None:
        conditions += tag_conditions(kind.table.c.tags, query.tags)
    return conditions


def _pool_has_monitor(values: Sequence[Any]) -> ColumnElement[bool]:
    """Return the SQL condition that the pool has one of the monitors with these ids, or for None among them
    no monitor; never true without values.
    """
    monitor = schema.health_monitor
    live = select(monitor.c.pool_id).where(monitor.c.deleted == false())
    given = [storable_text(str(value)) for value in values if value is not None]
    conditions: list[ColumnElement[bool]] = [schema.pool.c.id.in_(live.where(monitor.c.id.in_(given)))] if given else []
    if None in values:
        conditions.append(schema.pool.c.id.not_in(live))
    return or_(false(), *conditions)


def _is_one_of(column: Column[Any], values: Sequence[Any]) -> ColumnElement[bool]:
    given = list(dict.fromkeys(_convert_filter_value(column, value) for value in values if value is not None))
    conditions: list[ColumnElement[bool]] = []
    if column.name in _TIME_COLUMNS:
        # Clients filter by the times that they were shown, which have no fractions.
        conditions += [and_(column >= second, column < second + 1) for second in given]
    elif len(given) == 1:
        conditions.append(column == literal(given[0], column.type))
    elif given:
        conditions.append(column.in_(given))
    if len(values) > 0 and None in values:
        conditions.append(column.is_(None))
    # Without values nothing matches; an empty OR would match everything.
    return or_(false(), *conditions)


def _convert_filter_value(column: Column[Any], value: Any) -> Any:
    """Convert a filter's value to the column's type. Raises :class:`Invalid` naming the filter."""
    try:
        return _filter_value_converter(column)(value)
    except (ValueError, TypeError):
        raise Invalid(f"{column.name}: {value!r} is not a valid filter value") from None


def _filter_value_converter(column: Column[Any]) -> Callable[[Any], Any]:
    if isinstance(column.type, Boolean):
        return _parse_boolean
    if isinstance(column.type, BigInteger):
        return lambda value: _parse_integer(value, 64)
    if isinstance(column.type, Integer):
        return lambda value: _parse_integer(value, 32)
    if isinstance(column.type, Double):
        return float
    return _parse_text


def _parse_boolean(value: Any) -> bool:
    text = str(value).lower()
    if text not in _TRUE_WORDS | _FALSE_WORDS:
        raise ValueError(text)
    return text in _TRUE_WORDS


def _parse_integer(value: Any, bits: int) -> int:
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(value)
    number = int(value)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(value)
    return number


def _parse_text(value: Any) -> str:
    text = str(value)
    if "\x00" in text:  # PostgreSQL cannot store it
        raise ValueError(text)
    text.encode()  # no database stores a lone surrogate: that is a ValueError, too
    return text


# -- order


def sort_keys(kind: Kind, sort: Sequence[tuple[str, bool]]) -> list[SortKey]:
    """Return the columns of a total order: the requested ones, then those of the kind's own order (``created_at``,
    ``id``). Raises :class:`Invalid` for an unknown name.
    """
    attributes = _filterable_columns(kind)
    keys: dict[str, SortKey] = {}
    for name, descending in (*sort, *((name, False) for name in kind.order)):
        if name not in attributes:
            raise Invalid(f"{name}: not an attribute to sort by")
        keys.setdefault(name, SortKey(attributes[name], descending))
    return list(keys.values())


def _order_expressions(key: SortKey, *, reverse: bool) -> list[ColumnElement[Any]]:
    parts: list[ColumnElement[Any]] = [key.column]
    if key.column.nullable:
        # Databases differ in where they put NULL; this expression puts it last on all of them.
        parts.insert(0, key.column.is_(None))
    if key.descending != reverse:
        return [part.desc() for part in parts]
    return parts


def _beyond_marker_condition(
    connection: Connection, kind: Kind, query: ListQuery, keys: Sequence[SortKey]
) -> ColumnElement[bool]:
    marker = select(*(key.column for key in keys)).where(kind.table.c[kind.key] == storable_text(query.marker or ""))
    if query.project_id is not None:
        marker = marker.where(kind.table.c.project_id == storable_text(query.project_id))
    row = connection.execute(marker).first()
    if row is None:
        text = f"Supplied pagination marker '{query.marker}' is not valid: there is no such {kind.title}."
        raise Invalid(text, code="marker_unknown")
    return _is_beyond(keys, row, reverse=query.page_reverse)


def _is_beyond(keys: Sequence[SortKey], values: Sequence[Any], *, reverse: bool) -> ColumnElement[bool]:
    """Return the SQL condition that the row comes after ``values`` in the order of the keys; ``reverse``:
    before them.
    """
    alternatives: list[ColumnElement[bool]] = []
    equal: list[ColumnElement[bool]] = []
    for key, value in zip(keys, values, strict=True):
        alternatives.append(and_(true(), *equal, _is_after(key, value, reverse=reverse)))
        equal.append(key.column.is_(None) if value is None else key.column == literal(value, key.column.type))
    first = keys[0].column
    if first.nullable:
        return or_(*alternatives)
    # redundant, but allows an index on the first column
    bound = literal(values[0], first.type)
    return and_(first <= bound if keys[0].descending != reverse else first >= bound, or_(*alternatives))


def _is_after(key: SortKey, value: Any, *, reverse: bool) -> ColumnElement[bool]:
    column = key.column
    if key.descending != reverse:
        return column.is_not(None) if value is None else column < literal(value, column.type)
    if value is None:
        return false()
    beyond = column > literal(value, column.type)
    return or_(beyond, column.is_(None)) if column.nullable else beyond
