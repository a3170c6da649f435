"""Pools and their health monitors: create and change."""

from msgspec import structs

from evenkeel.api.answers import Answer
from evenkeel.api.context import Call, Services
from evenkeel.api.errors import unknown_input
from evenkeel.api.octavia import change_requests, requests
from evenkeel.api.octavia.build import Place, monitor_row, pool_rows
from evenkeel.api.octavia.changes import monitor_changes, pool_changes
from evenkeel.api.octavia.resources import HEALTH_MONITORS, POOLS, changed, object_id, one, written
from evenkeel.api.octavia.rules import check_pair, check_pool
from evenkeel.core.errors import Invalid
from evenkeel.core.model import HealthMonitor, Listener, LoadBalancer, Pool


async def create(services: Services, call: Call, body: requests.PoolNewBody) -> Answer:
    """201."""
    wanted = body.pool
    place = await _place_of(services, call, wanted)
    rows = pool_rows(wanted, wanted.protocol, wanted.lb_algorithm, place, new_id=services.new_id)
    accepted = await services.store.add_pool(
        rows.pool, rows.members, rows.monitor, listener_id=wanted.listener_id, project_id=call.caller.scope
    )
    await services.accepted(accepted)
    return one(POOLS, await written(services, call, POOLS, accepted, rows.pool.id), 201)


async def _place_of(services: Services, call: Call, wanted: requests.PoolNew) -> Place:
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
        return Place(listener.load_balancer_id, listener.project_id)
    if wanted.loadbalancer_id is None:
        raise Invalid("Validation failure: Must provide at least one of: loadbalancer_id, listener_id")
    root: LoadBalancer = await services.store.get(LoadBalancer, wanted.loadbalancer_id, project_id=scope)
    return Place(root.id, root.project_id)


async def change(services: Services, call: Call, body: change_requests.PoolChangeBody) -> Answer:
    """200."""
    pool_id = object_id(call, POOLS.title)
    changes = pool_changes(body.pool)
    if persistence := changes.get("session_persistence"):
        current: Pool = await services.store.get(Pool, pool_id, project_id=call.caller.scope)
        check_pool(structs.replace(current, session_persistence=persistence))
    return await changed(services, call, POOLS, pool_id, changes, None)


async def create_monitor(services: Services, call: Call, body: requests.HealthMonitorNewBody) -> Answer:
    """201."""
    wanted = body.healthmonitor
    scope = call.caller.scope
    pool: Pool = await services.store.get(Pool, wanted.pool_id, project_id=scope)
    place = Place(pool.load_balancer_id, pool.project_id)
    row = monitor_row(wanted, place, pool_id=pool.id, new_id=services.new_id)
    accepted = await services.store.add_health_monitor(row, project_id=scope)
    await services.accepted(accepted)
    return one(HEALTH_MONITORS, await written(services, call, HEALTH_MONITORS, accepted, row.id), 201)


async def change_monitor(services: Services, call: Call, body: change_requests.HealthMonitorChangeBody) -> Answer:
    """200. The result is checked as a whole, so the monitor is read first."""
    monitor_id = object_id(call, HEALTH_MONITORS.title)
    current: HealthMonitor = await services.store.get(HealthMonitor, monitor_id, project_id=call.caller.scope)
    changes = monitor_changes(body.healthmonitor, current)
    return await changed(services, call, HEALTH_MONITORS, monitor_id, changes, None)
