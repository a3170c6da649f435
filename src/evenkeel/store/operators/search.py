"""Operators' searches for load balancers of all projects, with a bound on their work.

A text that few load balancers have is looked up first, each column by its own index, and the page is made of these:
PostgreSQL's indexes are for parts of texts; the other databases read those of names, VIPs and projects as a whole. Of a
text that many have, the page is read in its order until it is full. Nothing counts further than ``COUNTED_MAX``.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, or_, select, union_all

from evenkeel.core.control.lists import FoundLoadBalancer, FoundPage, ListQuery, Page
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.store.engine.in_list import in_list, storable_text
from evenkeel.store.engine.time_limit import time_limit
from evenkeel.store.records import schema
from evenkeel.store.records.listing import PageRows, filter_conditions, page_rows
from evenkeel.store.records.rows import LOAD_BALANCER

SEARCH_SECONDS = 2.0
"""Time limit of each statement of a search."""
MATCHES_MAX = 1_000
"""Most matches of a text that are looked up before the page is read."""
COUNTED_MAX = 10_000
"""Most load balancers that are counted for a total."""
_TOO_LONG = (
    f"The search took more than {SEARCH_SECONDS:.0f} s and was ended. Give more characters, or filter by project,"
    " status or device group."
)
_ID_PREFIX = re.compile(r"[0-9a-f-]{1,36}")
_ADDRESS_PART = re.compile(r"[0-9a-f.:]{1,64}")

_root, _member, _shard = schema.load_balancer, schema.member, schema.shard
_SHOWN = (
    _root.c.id,
    _root.c.name,
    _root.c.project_id,
    _root.c.vip_address,
    _root.c.provider,
    _shard.c.group_number,
    _root.c.provisioning_status,
    _root.c.operating_status,
    _root.c.status_reason,
    _root.c.operating_reason,
    _root.c.held,
    _root.c.created_at,
    _root.c.updated_at,
)


def find_load_balancers(
    connection: Connection, query: ListQuery, text: str = "", group_number: int | None = None
) -> FoundPage:
    """Find load balancers: see :meth:`evenkeel.core.ports.OperatorStore.find_load_balancers`. Four queries at most."""
    with time_limit(connection, SEARCH_SECONDS, _TOO_LONG):
        filters = [*filter_conditions(LOAD_BALANCER, query), *_in_group(query, group_number)]
        matching = _matching(connection, text)
        wanted = [*filters, *matching]
        page = page_rows(connection, LOAD_BALANCER, _without_filters(query), _selected(), wanted)
        total = _count(connection, query, page, wanted)
    items = tuple(FoundLoadBalancer(LoadBalancerId(row[0]), *row[1:]) for row in page.rows)
    return FoundPage(
        page=Page(items=items, before=page.before, after=page.after),
        total=min(total, COUNTED_MAX),
        total_is_exact=total <= COUNTED_MAX,
    )


def _selected() -> Select[Any]:
    return select(*_SHOWN).select_from(_root.outerjoin(_shard, _shard.c.id == _root.c.shard_id))


def _without_filters(query: ListQuery) -> ListQuery:
    return ListQuery(sort=query.sort, limit=query.limit, marker=query.marker, page_reverse=query.page_reverse)


def _in_group(query: ListQuery, group_number: int | None) -> Iterator[ColumnElement[bool]]:
    if group_number is not None:
        (environment,) = query.filters["provider"]
        place = (_shard.c.environment == environment, _shard.c.group_number == group_number)
        yield _root.c.shard_id.in_(select(_shard.c.id).where(*place).correlate(None))


def _count(connection: Connection, query: ListQuery, page: PageRows, wanted: Sequence[ColumnElement[bool]]) -> int:
    """Number of load balancers that are found, counted up to one more than ``COUNTED_MAX``."""
    if query.marker is None and not page.after:
        return len(page.rows)
    counted = select(_root.c.id).where(*wanted).limit(COUNTED_MAX + 1).subquery("counted")
    return int(connection.scalar(select(func.count()).select_from(counted)) or 0)


# -- texts


def _matching(connection: Connection, text: str) -> Sequence[ColumnElement[bool]]:
    """Condition for the text: a list of ids if few load balancers have it."""
    if not text:
        return ()
    found = connection.scalars(matches_of(text, connection.dialect.name)).fetchall()
    if len(found) <= MATCHES_MAX:
        return (in_list(_root.c.id, sorted(set(found))),)
    of_member = exists().where(_member.c.load_balancer_id == _root.c.id, _is_address(text, connection.dialect.name))
    others = [of_member] if _ADDRESS_PART.fullmatch(text.lower()) else []
    return (or_(*_root_conditions(text, connection.dialect.name), *others),)


def matches_of(text: str, dialect: str) -> Select[Any]:
    """Ids of load balancers that have the text, some of them more than once; at most one more than ``MATCHES_MAX``."""
    each = [select(_root.c.id).where(condition) for condition in _root_conditions(text, dialect)]
    if _ADDRESS_PART.fullmatch(text.lower()):
        each.append(select(_member.c.load_balancer_id.label("id")).where(_is_address(text, dialect)).distinct())
    # every column for itself and to a limit: only so are they read by their own indexes, and not further than needed
    parts = [select(part.limit(MATCHES_MAX + 1).subquery()) for part in each]
    found = union_all(*parts).subquery("found")
    return select(found.c.id).limit(MATCHES_MAX + 1)


def _root_conditions(text: str, dialect: str) -> list[ColumnElement[bool]]:
    """Conditions, each for one column of a load balancer's own row that may have the text."""
    conditions = [
        _in_name(text, dialect),
        _root.c.project_id.contains(storable_text(text), autoescape=True),
    ]
    if _ADDRESS_PART.fullmatch(text.lower()):
        conditions.append(_root.c.vip_address.contains(text.lower(), autoescape=True))
    if _ID_PREFIX.fullmatch(text.lower()):
        conditions.append(_root.c.id.startswith(text.lower(), autoescape=True))
    return conditions


def _in_name(text: str, dialect: str) -> ColumnElement[bool]:
    # LIKE ignores the case on SQLite, and lower() would make it three times as slow
    contains = _root.c.name.contains if dialect == "sqlite" else _root.c.name.icontains
    return contains(storable_text(text), autoescape=True)


def _is_address(text: str, dialect: str) -> ColumnElement[bool]:
    """Condition for a member's address: the text is part of it on PostgreSQL, which has an index for that, and its
    beginning on the other databases, because members are many.
    """
    address, begin = _member.c.address, text.lower()
    if dialect == "postgresql":
        return address.contains(begin, autoescape=True)
    return and_(address >= begin, address < f"{begin}~")  # beyond all characters of addresses
