"""Associations of shared health monitors with pools."""

from msgspec.structs import asdict

from evenkeel.api.common.resources import object_answer, object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.errors import NeutronRefusal
from evenkeel.api.neutron.v1.lists import HEALTH_MONITORS, POOLS, read_object
from evenkeel.api.neutron.v1.requests import V1AssociationBody
from evenkeel.api.neutron.v1.views import V1NothingView
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.usecases.rules import check_monitor_fits_pool
from evenkeel.core.devices.capabilities import monitor_problems, pool_monitor_problems
from evenkeel.core.resources.model import HealthMonitor, Pool
from evenkeel.core.resources.pool_rooted import LbaasV1Pool, SharedMonitor


async def find_shareable_monitor(services: Services, call: Call, monitor_id: str) -> SharedMonitor:
    """Return a monitor that pools may share. Raises :class:`NotFound`, :class:`NeutronRefusal` (409) for one
    that another API made in a pool.
    """
    monitor: SharedMonitor = await read_object(services, call, HEALTH_MONITORS, monitor_id)
    if monitor.in_pool:
        raise NeutronRefusal(
            409,
            "HealthMonitorInUse",
            f"Health monitor {monitor_id} was made in pool {monitor.uses[0].pool_id} through another API: only that"
            " pool can have it.",
        )
    return monitor


async def check_shared_monitor_fits_pool(services: Services, call: Call, pool: Pool, monitor: SharedMonitor) -> None:
    """Check that a pool of this protocol may have the monitor, and that the pool's provider supports it.
    Raises :class:`Invalid`, :class:`Unsupported`, or :class:`NotFound` for the pool.
    """
    check_monitor_fits_pool(pool.protocol, monitor.type)
    served = await services.providers.find_served_object(Pool, pool.id, call.caller.scope)
    served.raise_first_problem(monitor_problems(served.table, asdict(monitor)))
    served.raise_first_problem(
        pool_monitor_problems(served.table, pool.protocol, monitor.type, over_tls=pool.tls_enabled)
    )


def _associated_monitor(pool: LbaasV1Pool, monitor_id: str) -> HealthMonitor:
    """Return the pool's monitor if it has this id. Raises :class:`NeutronRefusal` (404) for another id, or if the pool
    has no monitor.
    """
    if pool.monitor is None or monitor_id != (pool.monitor.shared_monitor_id or pool.monitor.id):
        raise NeutronRefusal(
            404,
            "PoolMonitorAssociationNotFound",
            f"Monitor {monitor_id} is not associated with Pool {pool.pool.id}",
        )
    return pool.monitor


async def associate_monitor(services: Services, call: Call, body: V1AssociationBody) -> Answer:
    """Handle POST /pools/{id}/health_monitors: associate a monitor with a pool; answers 201. Raises
    :class:`NotFound`, :class:`NeutronRefusal`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`
    if the pool has a monitor.
    """
    scope = call.caller.scope
    pool: Pool = await services.tenants.get(Pool, object_id(call, POOLS.title, "pool_id"), project_id=scope)
    monitor = await find_shareable_monitor(services, call, body.health_monitor.id)
    await check_shared_monitor_fits_pool(services, call, pool, monitor)
    await services.change_accepted(
        await services.lbaas_v1.associate_monitor(pool.id, monitor.id, new_id=services.new_id(), project_id=scope)
    )
    return json_answer({"health_monitor": V1NothingView()}, 201)


async def show_association(services: Services, call: Call) -> Answer:
    """Handle GET /pools/{id}/health_monitors/{id}: show the monitor, if the pool has it. Raises
    :class:`NotFound` for the pool, :class:`NeutronRefusal` (404) for the monitor.
    """
    pool = await read_object(services, call, POOLS, object_id(call, POOLS.title, "pool_id"))
    monitor_id = object_id(call, HEALTH_MONITORS.title)
    _associated_monitor(pool, monitor_id)
    return object_answer(HEALTH_MONITORS, await read_object(services, call, HEALTH_MONITORS, monitor_id))


async def delete_association(services: Services, call: Call) -> Answer:
    """Handle DELETE /pools/{id}/health_monitors/{id}: remove a monitor from a pool; answers 204. A shared
    monitor stays, one that was made in the pool is deleted. Raises :class:`NotFound`,
    :class:`NeutronRefusal` (404), :class:`Conflict`.
    """
    pool = await read_object(services, call, POOLS, object_id(call, POOLS.title, "pool_id"))
    has = _associated_monitor(pool, object_id(call, HEALTH_MONITORS.title))
    # The association is the pool's copy of a shared monitor; the shared monitor itself stays.
    await services.change_accepted(
        await services.tenants.delete_child(HealthMonitor, has.id, project_id=call.caller.scope)
    )
    return NO_CONTENT
