"""Reads vips, pools and monitors of LBaaS v1, with the attributes that they take from other objects."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, String, cast, false, func, null, or_, select, union_all

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.ids import AgentId
from evenkeel.core.resources.model import HealthMonitor, ListenerStatistics, Pool
from evenkeel.core.resources.pool_rooted import LbaasV1Pool, LbaasV1Vip, MonitorUse, SharedMonitor
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.engine.base import Op
from evenkeel.store.engine.in_list import is_in_list, storable_text
from evenkeel.store.records import schema
from evenkeel.store.records.child_ids import columns_with_child_ids, object_with_child_ids
from evenkeel.store.records.listing import filter_conditions, list_page
from evenkeel.store.records.rows import HEALTH_MONITOR, LISTENER, LOAD_BALANCER, POOL, Kind, health_monitor_from_row

_load_balancer = schema.load_balancer
_health_monitor = schema.health_monitor
_shared_monitor = schema.shared_monitor
_listener = schema.listener

VIP_FILTERS = ("vip_address", "vip_subnet_id", "vip_port_id")
"""Filters of vips by attributes that are stored with the load balancer."""


def list_vips(query: ListQuery) -> Op[Page]:
    """Return an operation that reads a page of vips, with their load balancers and pools. Raises
    :class:`Invalid` for an unknown filter, sort name or marker.
    """
    own, of_root = _split_query(query, VIP_FILTERS)
    conditions = [_listener.c.default_pool_id.is_not(None)]
    if of_root.filters:
        roots = select(_load_balancer.c.id).where(*filter_conditions(LOAD_BALANCER, of_root))
        conditions.append(_listener.c.load_balancer_id.in_(roots))

    def run_transaction(connection: Connection) -> Page:
        page = list_page(connection, LISTENER, own, conditions)
        roots = _objects_by_id(connection, LOAD_BALANCER, [row.load_balancer_id for row in page.items])
        pools = _objects_by_id(connection, POOL, [row.default_pool_id for row in page.items])
        items = tuple(
            LbaasV1Vip(listener=row, load_balancer=roots[row.load_balancer_id], pool=pools[row.default_pool_id])
            for row in page.items
            if row.load_balancer_id in roots and row.default_pool_id in pools
        )
        return replace(page, items=items)

    return run_transaction


def list_v1_pools(query: ListQuery, agent_id: AgentId | None) -> Op[Page]:
    """Return an operation that reads a page of pools, with their load balancers and monitors. ``agent_id``:
    only pools of load balancers that the agent serves or is home to; None: all pools. Raises
    :class:`Invalid` for an unknown filter, sort name or marker.
    """
    own, of_vip = _split_query(query, ("vip_id",))
    conditions: list[ColumnElement[bool]] = []
    if vip_ids := of_vip.filters.get("vip_id"):
        sent_to = select(_listener.c.default_pool_id).where(is_in_list(_listener.c.id, vip_ids))
        conditions.append(schema.pool.c.id.in_(sent_to))
    if agent_id is not None:
        wanted = storable_text(agent_id)
        shard = schema.shard
        shards = select(shard.c.id).where(or_(shard.c.acting_agent_id == wanted, shard.c.home_agent_id == wanted))
        served = select(_load_balancer.c.id).where(_load_balancer.c.shard_id.in_(shards))
        conditions.append(schema.pool.c.load_balancer_id.in_(served))

    def run_transaction(connection: Connection) -> Page:
        page = list_page(connection, POOL, own, conditions)
        roots = _objects_by_id(connection, LOAD_BALANCER, [row.load_balancer_id for row in page.items])
        monitors = _monitors_by_pool(connection, page.items)
        items = tuple(
            LbaasV1Pool(pool=row, load_balancer=roots[row.load_balancer_id], monitor=monitors.get(row.id))
            for row in page.items
            if row.load_balancer_id in roots
        )
        return replace(page, items=items)

    return run_transaction


def read_pool_statistics(connection: Connection, pool_id: str) -> ListenerStatistics:
    """Return the summed totals of the listeners that send to the pool by default; zeros if nothing was
    counted or the pool does not exist. One query.
    """
    names = ListenerStatistics.__struct_fields__
    senders = select(_listener.c.id).where(_listener.c.default_pool_id == storable_text(pool_id))
    counts = schema.listener_statistics
    statement = select(*(func.sum(counts.c[name]) for name in names)).where(counts.c.listener_id.in_(senders))
    row = connection.execute(statement).one()
    # PostgreSQL sums big integers to decimals
    return ListenerStatistics(**{name: int(total or 0) for name, total in zip(names, row, strict=True)})


def read_providers_of_monitor(connection: Connection, monitor_id: str) -> tuple[str, ...]:
    """Return the environments, sorted by name, of the pools with which the shared monitor is associated. One
    query.
    """
    statement = (
        select(_load_balancer.c.provider)
        .join(_health_monitor, _health_monitor.c.load_balancer_id == _load_balancer.c.id)
        .where(_health_monitor.c.shared_monitor_id == storable_text(monitor_id), _health_monitor.c.deleted == false())
        .distinct()
        .order_by(_load_balancer.c.provider)
    )
    return tuple(connection.scalars(statement))


def list_shared_monitors(connection: Connection, query: ListQuery) -> Page:
    """Return a page of health monitors: shared monitors with the pools that use them, and monitors created in
    a pool. Raises :class:`Invalid` for an unknown filter, sort name or marker.
    """
    page = list_page(connection, _SHARED_AND_POOL_MONITORS, query)
    uses = _monitor_uses(connection, [row.id for row in page.items if not row.in_pool])
    items = tuple(row if row.in_pool else replace(row, uses=tuple(uses.get(row.id, ()))) for row in page.items)
    return replace(page, items=items)


def _split_query(query: ListQuery, names: Sequence[str]) -> tuple[ListQuery, ListQuery]:
    """Return two queries: one without filters of these names, and one with only these filters."""
    others = {name: values for name, values in query.filters.items() if name in names}
    own = {name: values for name, values in query.filters.items() if name not in names}
    return replace(query, filters=own), ListQuery(filters=others)


def _objects_by_id(connection: Connection, kind: Kind, ids: Sequence[str]) -> Mapping[str, Any]:
    """Return {id: object} for those objects of a kind that exist; one query, none without ids."""
    if not ids:
        return {}
    columns = kind.columns if kind is LOAD_BALANCER else columns_with_child_ids(kind)
    rows = connection.execute(select(*columns).where(is_in_list(kind.table.c.id, set(ids))))
    made = (kind.build(row) if kind is LOAD_BALANCER else object_with_child_ids(kind, row) for row in rows)
    return {value.id: value for value in made}


def _monitors_by_pool(connection: Connection, pools: Sequence[Pool]) -> dict[str, HealthMonitor]:
    """Return {pool id: health monitor} for pools with a monitor that is not marked deleted."""
    ids = [row.id for row in pools if row.health_monitor_id is not None]
    if not ids:
        return {}
    statement = select(*HEALTH_MONITOR.columns).where(
        is_in_list(_health_monitor.c.pool_id, ids), _health_monitor.c.deleted == false()
    )
    return {row.pool_id: row for row in map(health_monitor_from_row, connection.execute(statement))}


def _monitor_uses(connection: Connection, monitor_ids: Sequence[str]) -> dict[str, list[MonitorUse]]:
    if not monitor_ids:
        return {}
    statement = (
        select(_health_monitor.c.shared_monitor_id, _health_monitor.c.pool_id, _health_monitor.c.provisioning_status)
        .where(is_in_list(_health_monitor.c.shared_monitor_id, monitor_ids), _health_monitor.c.deleted == false())
        .order_by(_health_monitor.c.created_at, _health_monitor.c.id)
    )
    found: dict[str, list[MonitorUse]] = {}
    for monitor_id, pool_id, status in connection.execute(statement):
        use = MonitorUse(pool_id=pool_id, provisioning_status=ProvisioningStatus(status))
        found.setdefault(monitor_id, []).append(use)
    return found


# -- monitors of both kinds as one table

_MONITOR_COLUMNS = (
    *("id", "project_id", "admin_state_up", "type", "delay", "timeout", "max_retries", "http_method"),
    *("url_path", "expected_codes", "created_at", "updated_at"),
)
_ALL_MONITORS_QUERY = union_all(
    select(
        *(_shared_monitor.c[name] for name in _MONITOR_COLUMNS),
        # Typed NULLs: SQLAlchemy takes the types of a union's columns from its first part.
        cast(null(), String(36)).label("pool_id"),
        cast(null(), String(16)).label("provisioning_status"),
    ),
    select(
        *(_health_monitor.c[name] for name in _MONITOR_COLUMNS),
        _health_monitor.c.pool_id,
        _health_monitor.c.provisioning_status,
    ).where(_health_monitor.c.shared_monitor_id.is_(None), _health_monitor.c.deleted == false()),
).subquery("monitors")


def _shared_monitor_from_row(row: Sequence[Any]) -> SharedMonitor:
    *own, pool_id, status = row
    values = dict(zip(_MONITOR_COLUMNS, own, strict=True))
    if pool_id is None:
        return SharedMonitor(**values)
    use = MonitorUse(pool_id=pool_id, provisioning_status=ProvisioningStatus(status))
    return SharedMonitor(**values, in_pool=True, uses=(use,))


_SHARED_AND_POOL_MONITORS = Kind(
    HEALTH_MONITOR.title,
    _ALL_MONITORS_QUERY,  # type: ignore[arg-type]
    tuple(_ALL_MONITORS_QUERY.c),  # type: ignore[arg-type]
    _shared_monitor_from_row,
)
