"""Pools and their health monitors: create and change."""

from msgspec import structs
from msgspec.structs import asdict

from evenkeel.api.answers import Answer
from evenkeel.api.context import Call, Services
from evenkeel.api.errors import unknown_input
from evenkeel.api.octavia import change_requests, requests
from evenkeel.api.octavia.build import PoolRows, monitor_row, pool_rows
from evenkeel.api.octavia.changes import monitor_changes, pool_changes
from evenkeel.api.octavia.places import Place
from evenkeel.api.octavia.resources import HEALTH_MONITORS, POOLS, changed, object_id, one, written
from evenkeel.api.octavia.rules import check_pair, check_pool
from evenkeel.api.serving import Served
from evenkeel.core.capabilities import (
    member_problems,
    monitor_problems,
    needs_check,
    pair_problems,
    pool_problems,
)
from evenkeel.core.control import ListQuery
from evenkeel.core.errors import Invalid
from evenkeel.core.model import HealthMonitor, Listener, LoadBalancer, Pool, SessionPersistence


async def create(services: Services, call: Call, body: requests.PoolNewBody) -> Answer:
    """201."""
    wanted = body.pool
    served, listener = await _place_of(services, call, wanted)
    place = Place(served.by.load_balancer_id, served.by.project_id)
    rows = pool_rows(wanted, wanted.protocol, wanted.lb_algorithm, place, new_id=services.new_id)
    _check_possible(served, rows, listener)
    accepted = await services.store.add_pool(
        rows.pool, rows.members, rows.monitor, listener_id=wanted.listener_id, project_id=call.caller.scope
    )
    await services.accepted(accepted)
    return one(POOLS, await written(services, call, POOLS, accepted, rows.pool.id), 201)


async def _place_of(services: Services, call: Call, wanted: requests.PoolNew) -> tuple[Served, Listener | None]:
    """What serves the new pool, and the listener that it is for."""
    scope = call.caller.scope
    if wanted.listener_id is not None:
        listener: Listener = await services.store.get(Listener, wanted.listener_id, project_id=scope)
        if wanted.loadbalancer_id not in (None, listener.load_balancer_id):
            raise unknown_input(
                "listener_id",
                wanted.listener_id,
                f"The listener should be one of load balancer {wanted.loadbalancer_id}.",
            )
        check_pair(listener.protocol, wanted.protocol)
        return await services.serving.of(LoadBalancer, listener.load_balancer_id, scope), listener
    if wanted.loadbalancer_id is None:
        raise Invalid("Validation failure: Must provide at least one of: loadbalancer_id, listener_id")
    return await services.serving.of(LoadBalancer, wanted.loadbalancer_id, scope), None


def _check_possible(served: Served, rows: PoolRows, listener: Listener | None) -> None:
    """Raises :class:`Unsupported`."""
    pool = rows.pool
    served.refuse(pool_problems(served.table, asdict(pool)))
    if listener is not None:
        served.refuse(pair_problems(served.table, listener.protocol, pool.protocol, pool.session_persistence))
    for member in rows.members:
        served.refuse(member_problems(served.table, asdict(member)))
    if rows.monitor is not None:
        served.refuse(monitor_problems(served.table, asdict(rows.monitor)))


async def change(services: Services, call: Call, body: change_requests.PoolChangeBody) -> Answer:
    """200."""
    pool_id = object_id(call, POOLS.title)
    changes = pool_changes(body.pool)
    if needs_check(changes):
        served = await services.serving.of(Pool, pool_id, call.caller.scope)
        if persistence := changes.get("session_persistence"):
            await _check_persistence(services, call, served, pool_id, persistence)
        served.refuse(pool_problems(served.table, changes))
    return await changed(services, call, POOLS, pool_id, changes, None)


async def _check_persistence(
    services: Services, call: Call, served: Served, pool_id: str, persistence: SessionPersistence
) -> None:
    """It must fit the pool and, where it does not work behind every listener, those that send to it."""
    pool: Pool = await services.store.get(Pool, pool_id, project_id=call.caller.scope)
    check_pool(structs.replace(pool, session_persistence=persistence))
    behind = served.table.session_persistence.get(persistence.type, ())
    if not pool.listener_ids or set(behind) >= served.table.protocol_pairs.keys():
        return
    page = await services.store.list(Listener, ListQuery(filters={"default_pool_id": (pool_id,)}))
    for listener in page.items:
        served.refuse(pair_problems(served.table, listener.protocol, pool.protocol, persistence))


async def create_monitor(services: Services, call: Call, body: requests.HealthMonitorNewBody) -> Answer:
    """201."""
    wanted = body.healthmonitor
    scope = call.caller.scope
    pool: Pool = await services.store.get(Pool, wanted.pool_id, project_id=scope)
    place = Place(pool.load_balancer_id, pool.project_id)
    row = monitor_row(wanted, place, pool_id=pool.id, new_id=services.new_id)
    served = await services.serving.of(LoadBalancer, pool.load_balancer_id, scope)
    served.refuse(monitor_problems(served.table, asdict(row)))
    accepted = await services.store.add_health_monitor(row, project_id=scope)
    await services.accepted(accepted)
    return one(HEALTH_MONITORS, await written(services, call, HEALTH_MONITORS, accepted, row.id), 201)


async def change_monitor(services: Services, call: Call, body: change_requests.HealthMonitorChangeBody) -> Answer:
    """200. The result is checked as a whole, so the monitor is read first."""
    monitor_id = object_id(call, HEALTH_MONITORS.title)
    current: HealthMonitor = await services.store.get(HealthMonitor, monitor_id, project_id=call.caller.scope)
    changes = monitor_changes(body.healthmonitor, current)
    if needs_check(changes):
        served = await services.serving.of(LoadBalancer, current.load_balancer_id, call.caller.scope)
        served.refuse(monitor_problems(served.table, changes))
    return await changed(services, call, HEALTH_MONITORS, monitor_id, changes, None)
