"""Reading mirrored load balancers."""

from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import Connection, Integer, Select, bindparam, false, select

from evenkeel.core.control.mirrors import ListenerTotals, MirrorEntry, MirrorStatus, ObjectStatus, StoredMirror
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.store.engine.in_list import is_in_bound_list, storable_text
from evenkeel.store.mirrors.source_states import source_state_from_row
from evenkeel.store.records import schema
from evenkeel.store.records.loading import load_trees
from evenkeel.store.records.rows import HEALTH_MONITOR, L7POLICY, L7RULE, LISTENER, MEMBER, POOL, Kind

_load_balancer, _mirror = schema.load_balancer, schema.mirror

_KINDS_OF_CHILDREN = {
    "listeners": LISTENER,
    "pools": POOL,
    "members": MEMBER,
    "healthmonitors": HEALTH_MONITOR,
    "l7policies": L7POLICY,
    "l7rules": L7RULE,
}
"""{attribute of :class:`MirrorStatus`: kind of children whose statuses it holds}."""
_READ_MARK = (
    select(_mirror)
    .join(_load_balancer, _load_balancer.c.id == _mirror.c.load_balancer_id)
    .where(
        _mirror.c.load_balancer_id == bindparam("wanted_id"),
        _load_balancer.c.mirrored,
        _load_balancer.c.deleted == false(),
    )
)
_LOAD_BALANCER_STATUS_COLUMNS = (
    "id",
    "revision",
    "applied_revision",
    "provisioning_status",
    "operating_status",
    "status_reason",
)
_READ_LOAD_BALANCER_STATUSES = (
    select(*(_load_balancer.c[name] for name in _LOAD_BALANCER_STATUS_COLUMNS), _mirror.c.snapshot, _mirror.c.digest)
    .join(_mirror, _mirror.c.load_balancer_id == _load_balancer.c.id)
    .where(is_in_bound_list(_load_balancer.c.id, "wanted"), _load_balancer.c.mirrored)
    .order_by(_load_balancer.c.id)
)


def find_mirrored_load_balancer(connection: Connection, load_balancer_id: LoadBalancerId) -> StoredMirror | None:
    """Return a mirrored load balancer, with the state of the other system's database that it shows; None if
    there is none or it is marked deleted.
    """
    row = connection.execute(_READ_MARK, {"wanted_id": storable_text(load_balancer_id)}).first()
    if row is None:
        return None
    return StoredMirror(
        mark=source_state_from_row(row), tree=load_trees(connection, [load_balancer_id])[load_balancer_id]
    )


def read_mirror_statuses(
    connection: Connection, load_balancer_ids: Collection[LoadBalancerId]
) -> tuple[MirrorStatus, ...]:
    """Return the statuses of those load balancers that are mirrored, sorted by id, with those of their
    children. Seven queries for any number, one if there are none.
    """
    # The load balancers first, so that none is reported as settled with children of a later state.
    roots = [
        row._asdict() for row in connection.execute(_READ_LOAD_BALANCER_STATUSES, {"wanted": list(load_balancer_ids)})
    ]
    wanted = {"wanted": [root["id"] for root in roots]}
    below: dict[str, dict[str, list[ObjectStatus]]] = {root["id"]: {} for root in roots}
    for name, kind in _KINDS_OF_CHILDREN.items() if roots else ():
        for row in connection.execute(_children_query(kind), wanted):
            below[row.load_balancer_id].setdefault(name, []).append(_object_status(row))
    return tuple(
        MirrorStatus(**root | {name: tuple(rows) for name, rows in below[root["id"]].items()}) for root in roots
    )


@cache
def _children_query(kind: Kind) -> Select[Any]:
    table = kind.table
    columns = (table.c.load_balancer_id, table.c.id, table.c.provisioning_status, table.c.operating_status)
    return select(*columns).where(is_in_bound_list(table.c.load_balancer_id, "wanted")).order_by(table.c.id)


def _object_status(row: Any) -> ObjectStatus:
    return ObjectStatus(id=row.id, provisioning_status=row.provisioning_status, operating_status=row.operating_status)


def list_mirrored_load_balancers(
    connection: Connection, provider: str, *, marker: str, limit: int
) -> tuple[MirrorEntry, ...]:
    """Return at most ``limit`` mirrored load balancers of a provider whose ids follow ``marker``, in order of their
    ids.
    """
    parameters = {"provider": provider, "marker": storable_text(marker), "page": limit}
    return tuple(MirrorEntry(**row._asdict()) for row in connection.execute(_READ_ENTRIES, parameters))


_READ_ENTRIES = (
    select(_load_balancer.c.id, _mirror.c.snapshot, _mirror.c.digest, _load_balancer.c.provisioning_status)
    .join(_load_balancer, _load_balancer.c.id == _mirror.c.load_balancer_id)
    .where(
        _mirror.c.provider == bindparam("provider"),
        _mirror.c.load_balancer_id > bindparam("marker"),
        _load_balancer.c.mirrored,
    )
    .order_by(_mirror.c.load_balancer_id)
    .limit(bindparam("page", type_=Integer()))
)


def read_mirror_statistics(
    connection: Connection, load_balancer_ids: Collection[LoadBalancerId]
) -> tuple[ListenerTotals, ...]:
    """Return the traffic totals of all listeners of those load balancers that are mirrored, sorted by
    listener id. One query.
    """
    rows = connection.execute(_READ_STATISTICS, {"wanted": list(load_balancer_ids)})
    return tuple(ListenerTotals(**row._asdict()) for row in rows)


_listener_statistics = schema.listener_statistics
_READ_STATISTICS = (
    select(
        _listener_statistics.c.listener_id.label("id"),
        *(_listener_statistics.c[name] for name in ListenerTotals.__struct_fields__ if name != "id"),
    )
    .join(_load_balancer, _load_balancer.c.id == _listener_statistics.c.load_balancer_id)
    .where(is_in_bound_list(_listener_statistics.c.load_balancer_id, "wanted"), _load_balancer.c.mirrored)
    .order_by(_listener_statistics.c.listener_id)
)

_vip_address = schema.vip_address
READ_DELETED_HOLDERS_OF_ADDRESSES = (
    select(_load_balancer.c.id)
    .join(_vip_address, _vip_address.c.load_balancer_id == _load_balancer.c.id)
    .where(
        _vip_address.c.network_id == bindparam("network_id"),
        is_in_bound_list(_vip_address.c.address, "some"),
        _load_balancer.c.deleted,
    )
    .limit(1)
)
"""Query of load balancers marked deleted that still have one of the addresses ``some`` of a network."""
