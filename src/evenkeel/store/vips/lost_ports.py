"""Search for VIPs' ports that are missing at the network service, and the state of missing ports.

All controllers share one search over all ports in the order of their load balancers; a row holds its position. A port
that is missing becomes a pending change of the port (:mod:`evenkeel.store.vips.port_changes`), and its claim drops the
id: so a port that was recreated, but not stored, is found by its marks and released.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, and_, exists, false, insert, null, select, update

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.networking.network import PortToUpdate, VipPortId, octavia_port_mark
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now, is_past
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.operations import write_operation
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.networks.claims import NO_GRACE_SECONDS
from evenkeel.store.records import schema
from evenkeel.store.writing.events import event_row, record_events

VIP_SEARCH_NAME = "vips"
SEARCH_COMPLETE = ""
REASON_CHARACTERS_MAX = 255

_port_search, _vip_port_change, _vip_claim = schema.port_search, schema.vip_port_change, schema.vip_claim
_load_balancer = schema.load_balancer


def _create_search_row(connection: Connection) -> None:
    insert_if_absent(
        connection, _port_search, {"name": VIP_SEARCH_NAME, "reached": SEARCH_COMPLETE, "begun_at": NO_GRACE_SECONDS}
    )


# -- the search

_HAS_OWN_PORT = (
    _load_balancer.c.deleted == false(),
    _load_balancer.c.mirrored == false(),
    _load_balancer.c.held == false(),
)
"""SQL conditions of load balancers whose missing ports are recreated here; the ports of mirrored and held load
balancers belong to the other system.
"""


def _take_next_ports(connection: Connection, found: Any, limit: int) -> tuple[VipPortId, ...]:
    rows = connection.execute(
        select(_vip_claim.c.held_by, _vip_claim.c.port_id)
        .join(_load_balancer, _load_balancer.c.id == _vip_claim.c.held_by)
        .where(
            _vip_claim.c.held_by > found.reached, _vip_claim.c.port_id == _load_balancer.c.vip_port_id, *_HAS_OWN_PORT
        )
        .order_by(_vip_claim.c.held_by)
        .limit(limit)
    ).fetchall()
    # A page that is not full was the last one of this search.
    now_reached = rows[-1].held_by if len(rows) == limit else SEARCH_COMPLETE
    begun_at = db_now() if found.reached == SEARCH_COMPLETE else found.begun_at
    unchanged = (
        _port_search.c.name == VIP_SEARCH_NAME,
        _port_search.c.reached == found.reached,
        _port_search.c.begun_at == found.begun_at,
    )
    moved = connection.execute(update(_port_search).where(*unchanged).values(reached=now_reached, begun_at=begun_at))
    if not moved.rowcount:  # another controller was faster
        return ()
    return tuple(VipPortId(load_balancer_id=row.held_by, port_id=row.port_id) for row in rows)


# -- lost ports


def _store_lost_ports(connection: Connection, ports: Iterable[VipPortId]) -> tuple[LoadBalancerId, ...]:
    lost = {port.load_balancer_id: port.port_id for port in ports}
    rows = connection.execute(
        select(
            _load_balancer.c.id,
            _load_balancer.c.name,
            _load_balancer.c.revision,
            _load_balancer.c.vip_port_id,
            _load_balancer.c.provider,
            _vip_claim.c.device_owner,
        )
        .join(_vip_claim, _vip_claim.c.held_by == _load_balancer.c.id)
        .where(
            is_in_list(_load_balancer.c.id, lost),
            _load_balancer.c.deleted == false(),
            _vip_claim.c.port_id == _load_balancer.c.vip_port_id,
        )
    ).fetchall()
    # The port may have been replaced between the query at the network service and this transaction.
    found = sorted((row for row in rows if lost[row.id] == row.vip_port_id), key=lambda row: str(row.id))
    for row in found:
        _store_lost_port(connection, row)
    record_events(
        connection,
        [
            event_row(
                kind="vip_port_lost",
                text=f"load balancer {name_and_id(row.name, row.id)}: {_lost_port_text(row.vip_port_id)}",
                environment=row.provider,
                load_balancer_id=row.id,
            )
            for row in found
        ],
    )
    return tuple(row.id for row in found)


def _lost_port_text(port_id: str) -> str:
    return f"port {port_id} of its VIP was deleted at the network service; it is made again"


def _store_lost_port(connection: Connection, row: Any) -> None:
    forgotten = update(_vip_claim).where(_vip_claim.c.held_by == row.id).values(port_id=null(), made_at=db_now())
    connection.execute(forgotten)
    lost = {
        "lost_port_id": row.vip_port_id,
        "reason": _lost_port_text(row.vip_port_id),
        "due_at": NO_GRACE_SECONDS,
        "attempts": 0,
        "binding": True,
        "security_groups": True,
    }
    _set_reason(connection, row.id, "", _lost_port_text(row.vip_port_id))
    if not connection.execute(
        update(_vip_port_change).where(_vip_port_change.c.load_balancer_id == row.id).values(lost)
    ).rowcount:
        connection.execute(insert(_vip_port_change).values(load_balancer_id=row.id, revision=row.revision, **lost))


def _record_failure(connection: Connection, load_balancer_id: LoadBalancerId, reason: str) -> None:
    is_it = _vip_port_change.c.load_balancer_id == load_balancer_id, _vip_port_change.c.lost_port_id.is_not(None)
    said = connection.scalar(select(_vip_port_change.c.reason).where(*is_it))
    if said is not None:
        connection.execute(update(_vip_port_change).where(*is_it).values(reason=reason))
        for former in {said, ""}:  # a change of the tenant's may have removed it
            _set_reason(connection, load_balancer_id, former, reason)


def _set_reason(connection: Connection, load_balancer_id: LoadBalancerId, former_reason: str, reason: str) -> None:
    """Replace the status reason that tenants see, if it is still ``former_reason``, by ``reason``."""
    is_it = _load_balancer.c.id == load_balancer_id, _load_balancer.c.status_reason == former_reason
    connection.execute(update(_load_balancer).where(*is_it).values(status_reason=reason))


def _begin_recreation(connection: Connection, load_balancer_id: LoadBalancerId) -> bool:
    needed = exists().where(_load_balancer.c.id == load_balancer_id, _load_balancer.c.deleted == false())
    here = _vip_claim.c.held_by == load_balancer_id, _vip_claim.c.port_id.is_(None), needed
    mark = octavia_port_mark(load_balancer_id)  # in place of a tenant's own port: as in Octavia the new one is not
    marks = {"device_owner": mark.device_owner, "device_id": mark.device_id}
    connection.execute(update(_vip_claim).where(*here, _vip_claim.c.device_owner == "").values(marks))
    # A recent time keeps a claim whose load balancer is deleted now until the request for the port cannot be executed
    # any more.
    return bool(connection.execute(update(_vip_claim).where(*here).values(made_at=db_now())).rowcount)


def _record_found_port(connection: Connection, port: PortToUpdate) -> None:
    held = update(_vip_claim).where(_vip_claim.c.held_by == port.load_balancer_id, _vip_claim.c.port_id.is_(None))
    if connection.execute(held.values(port_id=port.port_id)).rowcount:
        _mark_port_present(connection, port.load_balancer_id)


def _mark_port_present(connection: Connection, load_balancer_id: LoadBalancerId) -> None:
    """Record that the VIP's port exists again, and has to be bound; remove the status reason that tenants
    saw.
    """
    _set_reason(connection, load_balancer_id, read_port_problem(connection, load_balancer_id), "")
    connection.execute(
        update(_vip_port_change)
        .where(_vip_port_change.c.load_balancer_id == load_balancer_id)
        .values(lost_port_id=null(), reason="", due_at=NO_GRACE_SECONDS, attempts=0)
    )


def _record_new_port(connection: Connection, port: PortToUpdate, port_id: str) -> bool:
    # If the load balancer was deleted or another controller was faster, the new port is left to its claim.
    is_it = and_(
        _load_balancer.c.id == port.load_balancer_id,
        _load_balancer.c.vip_port_id == port.port_id,
        _load_balancer.c.deleted == false(),
    )
    if not connection.execute(update(_load_balancer).where(is_it).values(vip_port_id=port_id)).rowcount:
        return False
    connection.execute(
        update(_vip_claim)
        .where(_vip_claim.c.held_by == port.load_balancer_id, _vip_claim.c.port_id.is_(None))
        .values(port_id=port_id)
    )
    _mark_port_present(connection, port.load_balancer_id)
    root = connection.execute(
        select(_load_balancer.c.provider, _load_balancer.c.name).where(_load_balancer.c.id == port.load_balancer_id)
    ).one()
    record_events(
        connection,
        [
            event_row(
                kind="vip_port_made_again",
                text=f"load balancer {name_and_id(root.name, port.load_balancer_id)}: its VIP has port {port_id}"
                f" instead of {port.port_id}",
                environment=root.provider,
                load_balancer_id=port.load_balancer_id,
            )
        ],
    )
    return True


def read_port_problem(connection: Connection, load_balancer_id: LoadBalancerId) -> str:
    """Return the reason why the VIP of the load balancer has no port; empty if it has one or there is no such
    load balancer. One query.
    """
    statement = select(_vip_port_change.c.reason).where(
        _vip_port_change.c.load_balancer_id == load_balancer_id, _vip_port_change.c.lost_port_id.is_not(None)
    )
    return connection.scalar(statement) or ""


class SqlLostPorts:
    """Implements :class:`evenkeel.core.ports.LostPortStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def take_ports_to_check(self, *, older_seconds: float, limit: int) -> tuple[VipPortId, ...]:
        due = (_port_search.c.reached != SEARCH_COMPLETE) | is_past(_port_search.c.begun_at, ago_seconds=older_seconds)
        statement = select(_port_search.c.reached, _port_search.c.begun_at, due.label("due")).where(
            _port_search.c.name == VIP_SEARCH_NAME
        )
        found = await self._db.query(lambda connection: connection.execute(statement).first())
        if found is None:
            await self._db.write(_create_search_row)
            return ()
        if not found.due:
            return ()
        return await self._db.write(lambda connection: _take_next_ports(connection, found, limit))

    async def record_lost_ports(self, ports: Sequence[VipPortId]) -> tuple[LoadBalancerId, ...]:
        return await self._db.write(lambda connection: _store_lost_ports(connection, ports)) if ports else ()

    begin_recreation = write_operation(_begin_recreation)

    record_found_port = write_operation(_record_found_port)

    record_new_port = write_operation(_record_new_port)

    async def record_recreation_failure(self, load_balancer_id: LoadBalancerId, reason: str) -> None:
        await self._db.write(
            lambda connection: _record_failure(connection, load_balancer_id, reason[:REASON_CHARACTERS_MAX])
        )
