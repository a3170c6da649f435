"""Finds chained load balancers (a member of one is the VIP of another) by two queries over indexes of
addresses.
"""

from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import uuid4
from zlib import crc32

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, bindparam, exists, false, or_, select

from evenkeel.core.devices.capabilities import raise_first_problem
from evenkeel.core.networking.chaining import AddressInSubnet, ChainedAddresses, ChainQuery
from evenkeel.store.engine.base import Op, T
from evenkeel.store.engine.in_list import is_in_bound_list
from evenkeel.store.engine.statements import upsert_rows
from evenkeel.store.records import schema

LOCK_TURNS = 4096
"""Number of rows by which transactions with the same address wait for each other: the address decides the row."""

_load_balancer, _vip_address, _member, _shard = schema.load_balancer, schema.vip_address, schema.member, schema.shard


def read_chained_addresses(connection: Connection, query: ChainQuery) -> ChainedAddresses:
    """Return the query's addresses, sorted, that would chain load balancers: members that are VIPs of others,
    and VIPs that are members of others. At most two queries.
    """
    return ChainedAddresses(
        members=_chained_addresses(connection, _vips_statement, query, query.members),
        vips=_chained_addresses(connection, _members_statement, query, query.vips),
    )


def operation_with_chain_check(query: ChainQuery | None, op: Op[T]) -> Op[T]:
    """Return an operation that checks the addresses and then runs ``op``, in one transaction; without a
    query, ``op`` itself. The operation raises :class:`Unsupported` if an address would chain load
    balancers.

    Transactions with one address come one after the other, so that the later one finds what the earlier one
    stored.
    """
    if query is None:
        return op

    def checked(connection: Connection) -> T:
        _lock_address_rows(connection, query)
        raise_first_problem(query.environment, read_chained_addresses(connection, query).problems())
        return op(connection)

    return checked


def _lock_address_rows(connection: Connection, query: ChainQuery) -> None:
    """Lock a row for each address, so that other transactions with the address wait. On SQLite there is only one
    writing transaction at a time.
    """
    if connection.dialect.name == "sqlite":
        return
    addresses = (each.address for each in (*query.members, *query.vips))
    numbers = sorted({crc32(address.encode()) % LOCK_TURNS for address in addresses})
    # Always another value: Galera finds two transactions of different servers by the rows that they change.
    turn = uuid4().hex
    upsert_rows(connection, schema.address_turn, ("turn",), [{"number": number, "turn": turn} for number in numbers])


def _chained_addresses(
    connection: Connection,
    statement_of: Callable[[bool], Select[Any]],
    query: ChainQuery,
    wanted: tuple[AddressInSubnet, ...],
) -> tuple[str, ...]:
    if not wanted:
        return ()
    values: dict[str, object] = {
        "b_environment": query.environment,
        "b_project_id": query.project_id,
        "b_addresses": list(dict.fromkeys(each.address for each in wanted)),
        "b_subnets": list(dict.fromkeys(each.subnet_id for each in wanted if each.subnet_id)),
    }
    is_new = not query.load_balancer_id
    if not is_new:
        values["b_load_balancer_id"] = query.load_balancer_id
    there = connection.execute(statement_of(is_new), values).all()
    pairs = ((each, row) for row in there for each in wanted if each.address == row.address)
    return tuple(sorted({each.address for each, row in pairs if _may_share_network(each.subnet_id, row)}))


def _may_share_network(subnet_id: str, row: Any) -> bool:
    """Whether both addresses are in one subnet or, if a subnet is unknown, of one project: networks of two
    known subnets may have the same addresses.
    """
    return row.subnet_id == subnet_id if subnet_id and row.subnet_id else bool(row.own_project)


# Statements are built once, with bound values: building one takes as long as several queries.


@cache
def _vips_statement(is_new: bool) -> Select[Any]:
    """Return the query for VIPs with one of some addresses. ``is_new``: for a load balancer that is not stored yet."""
    return (
        select(_vip_address.c.address, _vip_address.c.subnet_id, _is_own_project.label("own_project"))
        .distinct()
        .join(_load_balancer, _load_balancer.c.id == _vip_address.c.load_balancer_id)
        .where(
            is_in_bound_list(_vip_address.c.address, "b_addresses"),
            _load_balancer.c.vip_leaving_revision.is_(None),
            _may_share_devices(_vip_address.c.subnet_id, is_new),
        )
    )


@cache
def _members_statement(is_new: bool) -> Select[Any]:
    """Return the query for members with one of some addresses. ``is_new``: as for :func:`_vips_statement`."""
    return (
        select(_member.c.address, _member.c.subnet_id, _is_own_project.label("own_project"))
        .distinct()
        .join(_load_balancer, _load_balancer.c.id == _member.c.load_balancer_id)
        .where(
            is_in_bound_list(_member.c.address, "b_addresses"),
            _member.c.deleted == false(),
            _may_share_devices(_member.c.subnet_id, is_new),
        )
    )


_is_own_project = _load_balancer.c.project_id == bindparam("b_project_id")


def _may_share_devices(subnet: Column[Any], is_new: bool) -> ColumnElement[bool]:
    """Return the SQL condition that devices of the query's load balancer may serve the other one in the same
    network.
    """
    return and_(
        _load_balancer.c.provider == bindparam("b_environment"),
        _load_balancer.c.deleted == false(),
        _load_balancer.c.held == false(),
        or_(_is_own_project, is_in_bound_list(subnet, "b_subnets")),
        # Those that are not placed yet may come to the same devices.
        or_(
            _load_balancer.c.shard_id.is_(None),
            ~exists(_own_shards_query(is_new)),
            exists(_own_shards_query(is_new, _is_group_of_other_root())),
        ),
    )


_other, _own = _shard.alias("other_shard"), _load_balancer.alias("own_load_balancer")


def _is_group_of_other_root() -> ColumnElement[bool]:
    group = (
        select(_other.c.group_number)
        .where(_other.c.id == _load_balancer.c.shard_id)
        .correlate(_load_balancer)
        .scalar_subquery()
    )
    return _shard.c.group_number == group


def _own_shards_query(is_new: bool, *more: ColumnElement[bool]) -> Select[Any]:
    """Return a query for the shard of the query's load balancer, or for a new one all shards of its project. ``more``:
    further conditions.
    """
    if is_new:
        own = and_(_shard.c.environment == bindparam("b_environment"), _shard.c.project_id == bindparam("b_project_id"))
    else:
        mine = select(_own.c.shard_id).where(_own.c.id == bindparam("b_load_balancer_id"))
        own = _shard.c.id == mine.scalar_subquery()
    return select(_shard.c.id).where(own, *more)
