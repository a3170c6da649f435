"""Pending changes of VIPs' ports at the network service.

A tenant's change of QoS policy or security groups is accepted like any other; the same transaction stores the pending
change of the port, which stays until the network service has accepted it, whichever process fails in between. So does
the transaction that places a load balancer: its port is bound to the host of the devices, and switched on.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    false,
    insert,
    literal,
    or_,
    select,
    true,
    update,
)

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.ids import LoadBalancerId, ShardId
from evenkeel.core.networking.network import (
    MissingVipPort,
    PortOptions,
    PortToUpdate,
    octavia_port_mark,
    port_mark_by_owner,
)
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now, is_past
from evenkeel.store.networks.bindings import make_device_ports_due_for_binding
from evenkeel.store.networks.claims import NO_GRACE_SECONDS
from evenkeel.store.networks.shard_locations import decode_layout
from evenkeel.store.records import schema
from evenkeel.store.writing.due_rows import take_due_rows

UPDATE_GRACE_SECONDS = 10.0
"""Delay before other controllers take a pending change: the controller that accepted it updates the network service
first.
"""

_vip_port_change = schema.vip_port_change
_load_balancer, _vip_address = schema.load_balancer, schema.vip_address
_vip_claim = schema.vip_claim
_shard, _agent, _device_group = schema.shard, schema.agent, schema.device_group

_READ_PORT = (
    select(
        _vip_port_change.c.revision,
        _vip_port_change.c.security_groups,
        _vip_port_change.c.binding,
        _vip_port_change.c.lost_port_id,
        _load_balancer.c.vip_port_id,
        _load_balancer.c.vip_qos_policy_id,
        _load_balancer.c.vip_sg_ids,
        _load_balancer.c.vip_vnic_type,
        _load_balancer.c.held,
        _load_balancer.c.id,
        _load_balancer.c.project_id,
        _load_balancer.c.vip_network_id,
        _agent.c.host,
        _device_group.c.network_layout,
    )
    .join(_load_balancer, _load_balancer.c.id == _vip_port_change.c.load_balancer_id)
    .join(_shard, _shard.c.id == _load_balancer.c.shard_id, isouter=True)
    .join(_agent, _agent.c.id == _shard.c.home_agent_id, isouter=True)
    .join(
        _device_group,
        and_(_device_group.c.environment == _shard.c.environment, _device_group.c.number == _shard.c.group_number),
        isouter=True,
    )
    .where(_vip_port_change.c.load_balancer_id == bindparam("root_id"))
)
_READ_LOST_PORT = (
    select(_vip_address.c.subnet_id, _vip_address.c.address, _vip_claim.c.device_owner, _vip_claim.c.device_id)
    .join(_vip_claim, _vip_claim.c.held_by == _vip_address.c.load_balancer_id)
    .where(_vip_address.c.load_balancer_id == bindparam("root_id"))
    .order_by(_vip_address.c.subnet_id)
)


class SqlPortChanges:
    """Implements :class:`evenkeel.core.ports.PortStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def find_due_port(self, load_balancer_id: LoadBalancerId) -> PortToUpdate | None:
        here = {"root_id": load_balancer_id}
        row = await self._db.query(lambda connection: connection.execute(_READ_PORT, here).first())
        if row is None:
            return None
        found = _due_port_from_row(load_balancer_id, row)
        # The note is of a former port, which was replaced.
        if row.lost_port_id is None or row.lost_port_id != row.vip_port_id:
            return found
        rows = await self._db.query(lambda connection: connection.execute(_READ_LOST_PORT, here).fetchall())
        return replace(found, lost=_lost_port_from_rows(row, rows)) if rows else None

    async def record_port_updated(self, port: PortToUpdate) -> bool:
        same = (
            _vip_port_change.c.load_balancer_id == port.load_balancer_id,
            _vip_port_change.c.revision == port.revision,
        )
        # it was placed, or lost, since it was read
        unbound = [_vip_port_change.c.binding == false()] if port.options.binding_host is None else []
        # Compare-and-set on the revision: a change accepted since the port was set keeps the row.
        statement = delete(_vip_port_change).where(*same, *unbound, _vip_port_change.c.lost_port_id.is_(None))
        return bool(await self._db.write(lambda connection: connection.execute(statement).rowcount))

    async def take_load_balancers_due_for_port_update(
        self, *, limit: int, backoff: Backoff
    ) -> tuple[LoadBalancerId, ...]:
        statement = (
            select(_vip_port_change)
            .where(is_past(_vip_port_change.c.due_at))
            .order_by(_vip_port_change.c.due_at)
            .limit(limit)
        )
        due = await self._db.query(lambda connection: connection.execute(statement).fetchall())
        if not due:
            return ()
        taken = await self._db.write(lambda connection: take_due_rows(connection, _vip_port_change, due, backoff))
        return tuple(row.load_balancer_id for row in taken)


def _due_port_from_row(load_balancer_id: LoadBalancerId, row: Any) -> PortToUpdate:
    groups = msgspec.json.decode(row.vip_sg_ids, type=tuple[str, ...]) if row.security_groups else None
    # the port of a held one was given back to the system that it comes from
    host = "" if row.held else decode_layout(row.network_layout).binding_host or row.host or None
    options = PortOptions(
        qos_policy_id=row.vip_qos_policy_id,
        security_group_ids=groups,
        vnic_type=row.vip_vnic_type,
        binding_host=host if row.binding else None,
    )
    return PortToUpdate(
        load_balancer_id=load_balancer_id, revision=row.revision, port_id=row.vip_port_id, options=options
    )


def _lost_port_from_rows(row: Any, addresses: Sequence[Any]) -> MissingVipPort:
    first = addresses[0]
    return MissingVipPort(
        project_id=row.project_id,
        network_id=row.vip_network_id,
        addresses=tuple((each.subnet_id, each.address) for each in addresses),
        # in place of a tenant's own port: as in Octavia the new one is not
        mark=port_mark_by_owner(first.device_owner, first.device_id)
        if first.device_owner
        else octavia_port_mark(row.id),
    )


_UPDATE_CHANGE = (
    update(_vip_port_change)
    .where(_vip_port_change.c.load_balancer_id == bindparam("root_id"))
    .values(
        revision=bindparam("new_revision"),
        # A pending change keeps what it still has to set; the newer one adds to it.
        security_groups=or_(_vip_port_change.c.security_groups, bindparam("groups", type_=Boolean())),
        binding=or_(_vip_port_change.c.binding, bindparam("bound", type_=Boolean())),
        due_at=db_now() + UPDATE_GRACE_SECONDS,
        attempts=0,
    )
)
_INSERT_CHANGE = insert(_vip_port_change).from_select(
    ["load_balancer_id", "revision", "security_groups", "due_at", "attempts", "binding"],
    select(
        bindparam("root_id", type_=_vip_port_change.c.load_balancer_id.type),
        bindparam("new_revision", type_=BigInteger()),
        bindparam("groups", type_=Boolean()),
        db_now() + UPDATE_GRACE_SECONDS,
        literal(0),
        bindparam("bound", type_=Boolean()),
    ),
)


def store_pending_change(
    connection: Connection,
    load_balancer_id: LoadBalancerId,
    revision: int,
    *,
    security_groups: bool,
    binding: bool = False,
) -> None:
    """Store a pending change of the VIP's port, in the transaction of the accepted change. At most two statements.

    ``security_groups``: whether they changed; else the port's are left unchanged. ``binding``: whether the port has to
    be bound to the host of the devices.
    """
    values = {"root_id": load_balancer_id, "new_revision": revision, "groups": security_groups, "bound": binding}
    # The load balancer's lock keeps another transaction from inserting the row between the two statements.
    if not connection.execute(_UPDATE_CHANGE, values).rowcount:
        connection.execute(_INSERT_CHANGE, values)


_SET_BINDING_PENDING = (
    update(_vip_port_change)
    .where(_vip_port_change.c.load_balancer_id == bindparam("root_id"))
    .values(binding=True, due_at=NO_GRACE_SECONDS, attempts=0)
)
_INSERT_BINDING_CHANGE = insert(_vip_port_change).from_select(
    ["load_balancer_id", "revision", "security_groups", "due_at", "attempts", "binding"],
    select(_load_balancer.c.id, _load_balancer.c.revision, false(), literal(NO_GRACE_SECONDS), literal(0), true())
    .join(_vip_claim, _vip_claim.c.held_by == _load_balancer.c.id)
    .where(
        _load_balancer.c.id == bindparam("root_id"), _load_balancer.c.held == false(), _vip_claim.c.port_id.is_not(None)
    ),
)
_other = _vip_port_change.alias("other")


def make_port_due_for_binding(connection: Connection, load_balancer_id: LoadBalancerId) -> None:
    """Make the port of a placed load balancer due to be bound to the host of its devices. At most two
    statements.

    If no change of the port is pending yet, nothing happens without a port at the network service, or while
    the load balancer is held.
    """
    values = {"root_id": load_balancer_id}
    if not connection.execute(_SET_BINDING_PENDING, values).rowcount:
        connection.execute(_INSERT_BINDING_CHANGE, values)


def make_shard_ports_due_for_binding(connection: Connection, shard_id: ShardId) -> None:
    """Make the ports of a shard with a new home due to be bound: those of its load balancers and of its
    devices' addresses. Four statements.
    """
    _make_ports_due_for_binding(connection, select(_shard.c.id).where(_shard.c.id == shard_id))


def make_group_ports_due_for_binding(connection: Connection, environment: str, group_number: int) -> None:
    """Make the ports of a device group due to be bound to another host. Four statements."""
    here = _shard.c.environment == environment, _shard.c.group_number == group_number
    _make_ports_due_for_binding(connection, select(_shard.c.id).where(*here))


def _make_ports_due_for_binding(connection: Connection, shards: Select[tuple[str]]) -> None:
    mine = (
        _load_balancer.c.shard_id.in_(shards),
        _load_balancer.c.deleted == false(),
        _load_balancer.c.held == false(),
    )
    of_shards = select(_load_balancer.c.id).where(*mine)
    too = update(_vip_port_change).where(_vip_port_change.c.load_balancer_id.in_(of_shards))
    connection.execute(too.values(binding=True, due_at=NO_GRACE_SECONDS, attempts=0))
    new = (
        select(_load_balancer.c.id, _load_balancer.c.revision, false(), literal(NO_GRACE_SECONDS), literal(0), true())
        .join(_vip_claim, _vip_claim.c.held_by == _load_balancer.c.id)
        .where(
            *mine,
            _vip_claim.c.port_id.is_not(None),
            ~exists().where(_other.c.load_balancer_id == _load_balancer.c.id),
        )
    )
    columns = ["load_balancer_id", "revision", "security_groups", "due_at", "attempts", "binding"]
    connection.execute(insert(_vip_port_change).from_select(columns, new))
    make_device_ports_due_for_binding(connection, shards)
