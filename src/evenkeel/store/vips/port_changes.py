"""Pending changes of VIPs' ports at the network service.

A tenant's change of QoS policy or security groups is accepted like any other; the same transaction stores the pending
change of the port, which stays until the network service has accepted it, whichever process fails in between.
"""

from typing import Any

import msgspec
from sqlalchemy import BigInteger, Boolean, Connection, bindparam, delete, insert, literal, or_, select, update

from evenkeel.core.backoff import Backoff
from evenkeel.core.ids import LoadBalancerId
from evenkeel.core.network import DuePort, PortOptions
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now, reached
from evenkeel.store.records import schema

GRACE_SECONDS = 10.0
"""The controller that accepted the change updates the network service itself; others wait for this time."""

_change = schema.vip_port_change
_root = schema.load_balancer

_PORT = (
    select(
        _change.c.revision,
        _change.c.security_groups,
        _root.c.vip_port_id,
        _root.c.vip_qos_policy_id,
        _root.c.vip_sg_ids,
    )
    .join(_root, _root.c.id == _change.c.load_balancer_id)
    .where(_change.c.load_balancer_id == bindparam("root_id"))
)


class SqlPortChanges:
    """Implements :class:`evenkeel.core.ports.PortStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def port_of(self, load_balancer_id: LoadBalancerId) -> DuePort | None:
        row = await self._db.query(lambda connection: connection.execute(_PORT, {"root_id": load_balancer_id}).first())
        if row is None:
            return None
        options = PortOptions(
            qos_policy_id=row.vip_qos_policy_id,
            security_group_ids=msgspec.json.decode(row.vip_sg_ids, type=tuple[str, ...])
            if row.security_groups
            else None,
        )
        return DuePort(
            load_balancer_id=load_balancer_id, revision=row.revision, port_id=row.vip_port_id, options=options
        )

    async def port_set(self, port: DuePort) -> bool:
        statement = delete(_change).where(
            _change.c.load_balancer_id == port.load_balancer_id, _change.c.revision == port.revision
        )
        return bool(await self._db.write(lambda connection: connection.execute(statement).rowcount))

    async def take_due_ports(self, *, limit: int, backoff: Backoff) -> tuple[LoadBalancerId, ...]:
        statement = select(_change).where(_is_due()).order_by(_change.c.due_at).limit(limit)
        due = await self._db.query(lambda connection: connection.execute(statement).fetchall())
        if not due:
            return ()
        return await self._db.write(lambda connection: _take(connection, due, backoff))


def _is_due() -> Any:
    return reached(_change.c.due_at)


def _take(connection: Connection, due: Any, backoff: Backoff) -> tuple[LoadBalancerId, ...]:
    """Those that no other process took since they were read."""
    taken = []
    for row in due:
        pause_seconds = backoff.nominal_seconds(row.attempts + 1)
        statement = (
            update(_change)
            .where(_change.c.load_balancer_id == row.load_balancer_id, _change.c.attempts == row.attempts, _is_due())
            .values(attempts=row.attempts + 1, due_at=db_now() + pause_seconds)
        )
        if connection.execute(statement).rowcount:
            taken.append(row.load_balancer_id)
    return tuple(taken)


_AGAIN = (
    update(_change)
    .where(_change.c.load_balancer_id == bindparam("root_id"))
    .values(
        revision=bindparam("new_revision"),
        security_groups=or_(_change.c.security_groups, bindparam("groups", type_=Boolean())),
        due_at=db_now() + GRACE_SECONDS,
        attempts=0,
    )
)
_FIRST = insert(_change).from_select(
    ["load_balancer_id", "revision", "security_groups", "due_at", "attempts"],
    select(
        bindparam("root_id", type_=_change.c.load_balancer_id.type),
        bindparam("new_revision", type_=BigInteger()),
        bindparam("groups", type_=Boolean()),
        db_now() + GRACE_SECONDS,
        literal(0),
    ),
)


def note(connection: Connection, load_balancer_id: LoadBalancerId, revision: int, *, security_groups: bool) -> None:
    """Part of the accepted change, under the load balancer's lock. At most two statements. ``security_groups``: they
    changed; else the port's are left unchanged.
    """
    values = {"root_id": load_balancer_id, "new_revision": revision, "groups": security_groups}
    if not connection.execute(_AGAIN, values).rowcount:
        connection.execute(_FIRST, values)
