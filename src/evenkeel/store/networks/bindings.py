"""Ports of devices' addresses that must be bound to another host at the network service.

Either their shard has another home, or their device group another ``port_binding_host``. The transaction that changes
the host stores which ports are concerned; a controller binds them, and tries again until the network service has
accepted it. A row is deleted with its port.
"""

from typing import Any

from sqlalchemy import Connection, Select, and_, delete, exists, insert, literal, select, update

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.networking.network import DeviceBinding
from evenkeel.store.engine.clock import is_past
from evenkeel.store.networks.claims import NO_GRACE_SECONDS
from evenkeel.store.networks.shard_locations import decode_layout
from evenkeel.store.records import schema
from evenkeel.store.writing.due_rows import take_due_rows

_device_port_binding = schema.device_port_binding
_other = _device_port_binding.alias("other")
_device_port, _device_address = schema.device_port, schema.device_address
_shard, _agent, _device_group = schema.shard, schema.agent, schema.device_group

_READ_BINDING = (
    select(_device_port_binding.c.claim_id, _device_port.c.port_id, _device_group.c.network_layout, _agent.c.host)
    .join(_device_port, _device_port.c.claim_id == _device_port_binding.c.claim_id)
    .join(_device_address, _device_address.c.claim_id == _device_port_binding.c.claim_id)
    .join(_shard, _shard.c.id == _device_address.c.shard_id)
    .join(
        _device_group,
        and_(_device_group.c.environment == _shard.c.environment, _device_group.c.number == _shard.c.group_number),
    )
    .join(_agent, _agent.c.id == _shard.c.home_agent_id, isouter=True)
)


def make_device_ports_due_for_binding(connection: Connection, shards: Select[tuple[str]]) -> None:
    """Make the ports of the device addresses of these shards due to be bound again, because the host changed. Two
    statements.
    """
    claims = select(_device_address.c.claim_id).where(
        _device_address.c.shard_id.in_(shards), _device_address.c.claim_id.is_not(None)
    )
    connection.execute(
        update(_device_port_binding)
        .where(_device_port_binding.c.claim_id.in_(claims))
        .values(due_at=NO_GRACE_SECONDS, attempts=0)
    )
    new = select(_device_address.c.claim_id, literal(NO_GRACE_SECONDS), literal(0)).where(
        _device_address.c.shard_id.in_(shards),
        _device_address.c.claim_id.is_not(None),
        ~exists().where(_other.c.claim_id == _device_address.c.claim_id),
    )
    connection.execute(insert(_device_port_binding).from_select(["claim_id", "due_at", "attempts"], new))


def find_device_binding(connection: Connection, claim_id: str) -> DeviceBinding | None:
    """Return the host to which a device address's port is to be bound. None: no binding is pending, the port
    is gone, or there is no host.
    """
    row = connection.execute(_READ_BINDING.where(_device_port_binding.c.claim_id == claim_id)).first()
    host = None if row is None else decode_layout(row.network_layout).binding_host or row.host
    if row is None or row.port_id is None or not host:
        return None
    return DeviceBinding(claim_id=row.claim_id, port_id=row.port_id, host=host)


def read_due_bindings(connection: Connection, limit: int) -> Any:
    """Return at most ``limit`` rows of pending bindings that are due, longest due first."""
    return connection.execute(
        select(_device_port_binding)
        .where(is_past(_device_port_binding.c.due_at))
        .order_by(_device_port_binding.c.due_at)
        .limit(limit)
    ).fetchall()


def take_due_bindings(connection: Connection, due: Any, backoff: Backoff) -> tuple[str, ...]:
    """Take due bindings that no other process took since they were read; return the ids of their claims. The
    bindings are due again after the pause of ``backoff``.
    """
    return tuple(row.claim_id for row in take_due_rows(connection, _device_port_binding, due, backoff))


def delete_pending_binding(connection: Connection, claim_id: str, host: str | None) -> None:
    """Delete the pending binding of a port that was bound to ``host`` (None: it was not to be bound), unless
    another host is wanted meanwhile.
    """
    # Read again in this transaction: the home may have changed while the port was being bound.
    wanted = find_device_binding(connection, claim_id)
    if wanted is None or wanted.host == host:
        connection.execute(delete(_device_port_binding).where(_device_port_binding.c.claim_id == claim_id))
