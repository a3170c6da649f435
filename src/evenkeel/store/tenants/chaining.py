"""Finds chained load balancers (a member of one is the VIP of another) by two queries over indexes of
addresses.
"""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4
from zlib import crc32

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, exists, false, or_, select

from evenkeel.core.devices.capabilities import raise_first_problem
from evenkeel.core.networking.chaining import AddressInSubnet, ChainedAddresses, ChainQuery
from evenkeel.store.engine.base import Op, T
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import upsert_rows
from evenkeel.store.records import schema

TURNS = 4096
"""Number of rows that transactions lock by address to wait for each other."""

_root, _vip, _member, _shard = schema.load_balancer, schema.vip_address, schema.member, schema.shard


def read_chained(connection: Connection, query: ChainQuery) -> ChainedAddresses:
    """Return the query's addresses, sorted, that would chain load balancers: members that are VIPs of others,
    and VIPs that are members of others. At most two queries.
    """
    return ChainedAddresses(
        members=_chained_addresses(connection, _vips_query(query), query.members),
        vips=_chained_addresses(connection, _members_query(query), query.vips),
    )


def with_chain_check(query: ChainQuery | None, op: Op[T]) -> Op[T]:
    """Return an operation that checks the addresses and then runs ``op``, in one transaction; without a
    query, ``op`` itself. The operation raises :class:`Unsupported` if an address would chain load
    balancers.

    Transactions with one address come one after the other, so that the later one finds what the earlier one
    stored.
    """
    if query is None:
        return op

    def checked(connection: Connection) -> T:
        _lock_rows_of_addresses(connection, query)
        raise_first_problem(query.environment, read_chained(connection, query).problems())
        return op(connection)

    return checked


def _lock_rows_of_addresses(connection: Connection, query: ChainQuery) -> None:
    """Lock a row for each address, so that other transactions with the address wait. On SQLite there is only one
    writing transaction at a time.
    """
    if connection.dialect.name == "sqlite":
        return
    addresses = (each.address for each in (*query.members, *query.vips))
    numbers = sorted({crc32(address.encode()) % TURNS for address in addresses})
    # Always another value: Galera finds two transactions of different servers by the rows that they change.
    turn = uuid4().hex
    upsert_rows(connection, schema.address_turn, ("turn",), [{"number": number, "turn": turn} for number in numbers])


def _chained_addresses(
    connection: Connection, statement: Select[Any], wanted: tuple[AddressInSubnet, ...]
) -> tuple[str, ...]:
    there = connection.execute(statement).all() if wanted else ()
    pairs = ((each, row) for row in there for each in wanted if each.address == row.address)
    return tuple(sorted({each.address for each, row in pairs if _may_share_network(each.subnet_id, row)}))


def _may_share_network(subnet_id: str, row: Any) -> bool:
    """Whether both addresses are in one subnet or, if a subnet is unknown, of one project: networks of two
    known subnets may have the same addresses.
    """
    return row.subnet_id == subnet_id if subnet_id and row.subnet_id else bool(row.own_project)


def _vips_query(query: ChainQuery) -> Select[Any]:
    return (
        select(_vip.c.address, _vip.c.subnet_id, _is_own_project(query))
        .distinct()
        .join(_root, _root.c.id == _vip.c.load_balancer_id)
        .where(
            _has_address(_vip.c.address, query.members),
            _root.c.vip_leaving_revision.is_(None),
            _may_be_reached(query, _vip.c.subnet_id, query.members),
        )
    )


def _members_query(query: ChainQuery) -> Select[Any]:
    return (
        select(_member.c.address, _member.c.subnet_id, _is_own_project(query))
        .distinct()
        .join(_root, _root.c.id == _member.c.load_balancer_id)
        .where(
            _has_address(_member.c.address, query.vips),
            _member.c.deleted == false(),
            _may_be_reached(query, _member.c.subnet_id, query.vips),
        )
    )


def _is_own_project(query: ChainQuery) -> ColumnElement[bool]:
    return (_root.c.project_id == query.project_id).label("own_project")


def _has_address(column: Column[Any], wanted: Iterable[AddressInSubnet]) -> ColumnElement[bool]:
    return is_in_list(column, dict.fromkeys(each.address for each in wanted))


def _may_be_reached(query: ChainQuery, subnet: Column[Any], wanted: Iterable[AddressInSubnet]) -> ColumnElement[bool]:
    """Return the SQL condition that devices of the query's load balancer may serve the other one in the same
    network.
    """
    subnets = dict.fromkeys(each.subnet_id for each in wanted if each.subnet_id)
    return and_(
        _root.c.provider == query.environment,
        _root.c.deleted == false(),
        _root.c.held == false(),
        or_(_root.c.project_id == query.project_id, is_in_list(subnet, subnets)),
        # Those that are not placed yet may come to the same devices.
        or_(
            _root.c.shard_id.is_(None),
            ~exists(_own_shards_query(query)),
            exists(_own_shards_query(query, _is_group_of_other_root())),
        ),
    )


_other = _shard.alias("other_shard")


def _is_group_of_other_root() -> ColumnElement[bool]:
    group = select(_other.c.group_number).where(_other.c.id == _root.c.shard_id).correlate(_root).scalar_subquery()
    return _shard.c.group_number == group


def _own_shards_query(query: ChainQuery, *more: ColumnElement[bool]) -> Select[Any]:
    """Return a query for the shard of the query's load balancer, or for a new one all shards of its project. ``more``:
    further conditions.
    """
    if not query.load_balancer_id:
        own = and_(_shard.c.environment == query.environment, _shard.c.project_id == query.project_id)
    else:
        mine = _root.alias("own_load_balancer")
        own = _shard.c.id == select(mine.c.shard_id).where(mine.c.id == query.load_balancer_id).scalar_subquery()
    return select(_shard.c.id).where(own, *more)
