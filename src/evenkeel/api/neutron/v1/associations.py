"""Which health monitor a pool has: one of those that stand alone and are shared."""

from msgspec.structs import asdict

from evenkeel.api.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.context import Call, Services
from evenkeel.api.neutron.errors import NeutronRefusal
from evenkeel.api.neutron.v1.lists import HEALTH_MONITORS, POOLS, found, one
from evenkeel.api.neutron.v1.requests import V1AssociationBody
from evenkeel.api.neutron.v1.views import V1NothingView
from evenkeel.api.octavia.resources import object_id
from evenkeel.api.octavia.rules import check_monitored
from evenkeel.core.capabilities import monitor_problems
from evenkeel.core.model import HealthMonitor, Pool
from evenkeel.core.pool_rooted import RootedPool, SharedMonitor


async def usable(services: Services, call: Call, monitor_id: str) -> SharedMonitor:
    """A monitor that pools may share. Raises :class:`NotFound`, :class:`NeutronRefusal`."""
    monitor: SharedMonitor = await found(services, call, HEALTH_MONITORS, monitor_id)
    if monitor.in_pool:
        raise NeutronRefusal(
            409,
            "HealthMonitorInUse",
            f"Health monitor {monitor_id} was made in pool {monitor.uses[0].pool_id} through another API: only that"
            " pool can have it.",
        )
    return monitor


async def associate(
    services: Services, call: Call, pool_id: str, monitor: SharedMonitor, *, instead: bool = False
) -> None:
    """Give the pool the monitor; ``instead``: in the place of the one it has."""
    scope = call.caller.scope
    pool: Pool = await services.store.get(Pool, pool_id, project_id=scope)
    check_monitored(pool.protocol, monitor.type)
    served = await services.serving.of(Pool, pool_id, scope)
    served.refuse(monitor_problems(served.table, asdict(monitor)))
    accepted = await services.store.associate_monitor(
        pool_id, monitor.id, new_id=services.new_id(), instead=instead, project_id=scope
    )
    await services.accepted(accepted)


async def dissociate(services: Services, call: Call, pool: RootedPool, monitor_id: str) -> None:
    """Take the monitor from the pool; one that was made in it is no more. Raises :class:`NeutronRefusal` (404)."""
    has = _checked(pool, monitor_id)
    accepted = await services.store.delete_child(HealthMonitor, has.id, project_id=call.caller.scope)
    await services.accepted(accepted)


def _checked(pool: RootedPool, monitor_id: str) -> HealthMonitor:
    """The monitor that the pool has, if it is this one."""
    if pool.monitor is None or monitor_id != (pool.monitor.shared_monitor_id or pool.monitor.id):
        raise NeutronRefusal(
            404,
            "PoolMonitorAssociationNotFound",
            f"Monitor {monitor_id} is not associated with Pool {pool.pool.id}",
        )
    return pool.monitor


async def create(services: Services, call: Call, body: V1AssociationBody) -> Answer:
    """201."""
    pool_id = object_id(call, POOLS.title, "pool_id")
    await services.store.get(Pool, pool_id, project_id=call.caller.scope)
    await associate(services, call, pool_id, await usable(services, call, body.health_monitor.id))
    return json_answer({"health_monitor": V1NothingView()}, 201)


async def show(services: Services, call: Call) -> Answer:
    """The monitor, if the pool has it."""
    pool = await found(services, call, POOLS, object_id(call, POOLS.title, "pool_id"))
    monitor_id = object_id(call, HEALTH_MONITORS.title)
    _checked(pool, monitor_id)
    return await one(services, call, HEALTH_MONITORS, monitor_id)


async def delete(services: Services, call: Call) -> Answer:
    """204."""
    pool = await found(services, call, POOLS, object_id(call, POOLS.title, "pool_id"))
    await dissociate(services, call, pool, object_id(call, HEALTH_MONITORS.title))
    return NO_CONTENT
