"""Operators' searches for load balancers of all projects, with a bound on their work.

A text that few load balancers have is looked up first, each column by its own index, and the page is made of
the matches: PostgreSQL's indexes are for parts of texts; SQLite reads its indexes of names, VIPs and projects
as a whole, MariaDB one narrow index with all three. For a text that more than ``COUNTED_MAX`` load balancers
have, rows are read in the page's order until the page is full. Nothing counts more than ``COUNTED_MAX`` load
balancers.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    BINARY,
    Column,
    ColumnElement,
    Connection,
    Select,
    and_,
    cast,
    exists,
    func,
    or_,
    select,
    type_coerce,
    union_all,
)
from sqlalchemy import (
    text as sql,
)

from evenkeel.core.control.lists import FoundLoadBalancer, FoundPage, ListQuery, Page
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.store.engine.in_list import MARIADB_DIALECTS, is_in_list, storable_text
from evenkeel.store.engine.time_limit import time_limit
from evenkeel.store.records import schema
from evenkeel.store.records.listing import PageRows, filter_conditions, read_page_rows
from evenkeel.store.records.rows import LOAD_BALANCER

SEARCH_SECONDS = 2.0
"""Time limit of each statement of a search, in seconds."""
MATCHES_MAX = 1_000
"""Maximum number of matches of a text whose ids are read before the page."""
COUNTED_MAX = 10_000
"""Maximum number of load balancers that are counted for a total."""
_TIME_LIMIT_TEXT = (
    f"The search took more than {SEARCH_SECONDS:.0f} s and was ended. Give more characters, or filter by project,"
    " status or device group."
)
_ID_PREFIX = re.compile(r"[0-9a-f-]{1,36}")
_ADDRESS_PART = re.compile(r"[0-9a-f.:]{1,64}")
_SET_OTHER_SCANS_ALLOWED = sql(
    "SELECT set_config('enable_seqscan', :allowed, true), set_config('enable_indexscan', :allowed, true),"
    " set_config('enable_indexonlyscan', :allowed, true)"
)

_load_balancer, _member, _shard = schema.load_balancer, schema.member, schema.shard
_SHOWN_COLUMNS = (
    _load_balancer.c.id,
    _load_balancer.c.name,
    _load_balancer.c.project_id,
    _load_balancer.c.vip_address,
    _load_balancer.c.provider,
    _shard.c.group_number,
    _load_balancer.c.provisioning_status,
    _load_balancer.c.operating_status,
    _load_balancer.c.status_reason,
    _load_balancer.c.operating_reason,
    _load_balancer.c.held,
    _load_balancer.c.created_at,
    _load_balancer.c.updated_at,
)


def find_load_balancers(
    connection: Connection, query: ListQuery, text: str = "", group_number: int | None = None
) -> FoundPage:
    """Return a page of load balancers of all projects that match the query and have ``text`` (empty: any),
    with their total number, counted up to :data:`COUNTED_MAX`. The text may be part of the name, project,
    VIP or a member's address (the latter's beginning, except on PostgreSQL), or the beginning of the id.

    ``group_number``: only of this device group of the one environment in the query; None: of all. Raises
    :class:`Invalid` if a statement (on SQLite: all of them together) takes longer than
    :data:`SEARCH_SECONDS`, and for an unknown filter, sort name or marker.
    """
    with time_limit(connection, SEARCH_SECONDS, _TIME_LIMIT_TEXT):
        filters = [*filter_conditions(LOAD_BALANCER, query), *_group_conditions(query, group_number)]
        if text:
            page, total = _read_page_with_text(connection, query, filters, text)
        else:
            page, total = _read_page_and_total(connection, query, filters)
    items = tuple(FoundLoadBalancer(LoadBalancerId(row[0]), *row[1:]) for row in page.rows)
    return FoundPage(
        page=Page(items=items, before=page.before, after=page.after),
        total=min(total, COUNTED_MAX),
        total_is_exact=total <= COUNTED_MAX,
    )


def _group_conditions(query: ListQuery, group_number: int | None) -> Iterator[ColumnElement[bool]]:
    if group_number is not None:
        (environment,) = query.filters["provider"]
        place = (_shard.c.environment == environment, _shard.c.group_number == group_number)
        yield _load_balancer.c.shard_id.in_(select(_shard.c.id).where(*place).correlate(None))


def _read_page_and_total(
    connection: Connection, query: ListQuery, wanted: Sequence[ColumnElement[bool]]
) -> tuple[PageRows, int]:
    """Return a page of the load balancers for which the conditions ``wanted`` hold, and their total number,
    counted up to one more than ``COUNTED_MAX``.
    """
    page = _read_page(connection, query, wanted)
    if query.marker is None and not page.after:
        return page, len(page.rows)
    return page, _count_matches(connection, wanted)


def _read_page(connection: Connection, query: ListQuery, wanted: Sequence[ColumnElement[bool]]) -> PageRows:
    place = ListQuery(sort=query.sort, limit=query.limit, marker=query.marker, page_reverse=query.page_reverse)
    selected = select(*_SHOWN_COLUMNS).select_from(
        _load_balancer.outerjoin(_shard, _shard.c.id == _load_balancer.c.shard_id)
    )
    return read_page_rows(connection, LOAD_BALANCER, place, selected, wanted)


def _count_matches(connection: Connection, wanted: Sequence[ColumnElement[bool]]) -> int:
    """Return the number of load balancers for which the conditions hold, counted up to one more than
    ``COUNTED_MAX``.
    """
    counted = select(_load_balancer.c.id).where(*wanted).limit(COUNTED_MAX + 1).subquery("counted")
    return int(connection.scalar(select(func.count()).select_from(counted)) or 0)


# -- texts


def _read_page_with_text(
    connection: Connection, query: ListQuery, filters: Sequence[ColumnElement[bool]], text: str
) -> tuple[PageRows, int]:
    """Return a page of the load balancers that have the text and pass the filters, and their total number."""
    dialect = connection.dialect.name
    with _prefer_text_indexes(connection):
        found = connection.scalars(matching_ids_query(text, dialect)).fetchall()
        if len(found) <= MATCHES_MAX:
            return _read_page_and_total(
                connection, query, [*filters, is_in_list(_load_balancer.c.id, sorted(set(found)))]
            )
        wanted = [*filters, _matches_text(text, dialect)]
        total = _count_matches(connection, wanted)
        if total <= COUNTED_MAX:
            return _read_page(connection, query, wanted), total
    return _read_page(connection, query, wanted), total


@contextmanager
def _prefer_text_indexes(connection: Connection) -> Iterator[None]:
    """Let PostgreSQL use its indexes for parts of texts in the block, and sort the rows that the indexes
    find.

    PostgreSQL expects rows with a text to be spread evenly, and would read the table, or another index in its
    order, until enough rows for the page are found. The settings end with the transaction at the latest.
    """
    if connection.dialect.name != "postgresql":
        yield
        return
    connection.execute(_SET_OTHER_SCANS_ALLOWED, {"allowed": "off"})
    yield
    connection.execute(_SET_OTHER_SCANS_ALLOWED, {"allowed": "on"})


def _matches_text(text: str, dialect: str) -> ColumnElement[bool]:
    """Return the SQL condition that a load balancer or one of its members has the text."""
    of_member = exists().where(_member.c.load_balancer_id == _load_balancer.c.id, _address_contains_text(text, dialect))
    others = [of_member] if _ADDRESS_PART.fullmatch(text.lower()) else []
    return or_(*_root_conditions(text, dialect), *others)


def matching_ids_query(text: str, dialect: str) -> Select[Any]:
    """Return a query for the ids of load balancers that have the text: some of them more than once, and at most one
    more than ``MATCHES_MAX``.
    """
    each = [select(_load_balancer.c.id).where(condition) for condition in _root_conditions(text, dialect)]
    if _ADDRESS_PART.fullmatch(text.lower()):
        each.append(
            select(_member.c.load_balancer_id.label("id")).where(_address_contains_text(text, dialect)).distinct()
        )
    # each for itself and to a limit: only so are they read by their own indexes, and not further than needed
    parts = [select(part.limit(MATCHES_MAX + 1).subquery()) for part in each]
    found = union_all(*parts).subquery("found")
    return select(found.c.id).limit(MATCHES_MAX + 1)


def _root_conditions(text: str, dialect: str) -> list[ColumnElement[bool]]:
    """Return SQL conditions on a load balancer's own row; the text is found if one of them holds. Each can use one
    index.
    """
    conditions = [
        _contains_text(column, storable_text(text), dialect)
        for column in (_load_balancer.c.name, _load_balancer.c.project_id)
    ]
    if _ADDRESS_PART.fullmatch(text.lower()):
        conditions.append(_contains_text(_load_balancer.c.vip_address, text.lower(), dialect))
    if dialect in MARIADB_DIALECTS:  # one index has all of them
        conditions = [or_(*conditions)]
    if _ID_PREFIX.fullmatch(text.lower()):
        conditions.append(_load_balancer.c.id.startswith(text.lower(), autoescape=True))
    return conditions


def _contains_text(column: Column[str], text: str, dialect: str) -> ColumnElement[bool]:
    """Return the SQL condition that the text is a part of the column; for names without regard to case."""
    if column is not _load_balancer.c.name or dialect == "sqlite":
        # SQLite's LIKE ignores the case, and lower() would make it three times as slow
        return _value_as_bytes(column, dialect).contains(text, autoescape=True)
    if dialect in MARIADB_DIALECTS:
        return _value_as_bytes(func.lower(column), dialect).contains(text.lower(), autoescape=True)
    return column.icontains(text, autoescape=True)


def _value_as_bytes(value: ColumnElement[str], dialect: str) -> ColumnElement[str]:
    """Return the value as bytes on MariaDB, because LIKE compares bytes in half of the time that characters take; else
    unchanged.
    """
    return type_coerce(cast(value, BINARY()), value.type) if dialect in MARIADB_DIALECTS else value


def _address_contains_text(text: str, dialect: str) -> ColumnElement[bool]:
    """Return the SQL condition that a member's address contains the text.

    On PostgreSQL, which has an index for parts, the text may be anywhere in the address; elsewhere it must be the
    beginning, because members are many.
    """
    address, begin = _member.c.address, text.lower()
    if dialect == "postgresql":
        return address.contains(begin, autoescape=True)
    return and_(address >= begin, address < f"{begin}~")  # beyond all characters of addresses
