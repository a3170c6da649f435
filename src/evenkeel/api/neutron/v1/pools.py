"""LBaaS v1 pools: create, change, delete, statistics, and their health monitors. Each pool has a load balancer of its
own, which has no VIP until a vip is created.
"""

from typing import Any

from msgspec import UnsetType
from msgspec.structs import replace

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.neutron.bodies import check_tenant
from evenkeel.api.neutron.errors import NeutronRefusal
from evenkeel.api.neutron.v1.associations import check_shared_monitor_fits_pool, find_shareable_monitor
from evenkeel.api.neutron.v1.lists import POOLS, read_object
from evenkeel.api.neutron.v1.requests import V1PoolChange, V1PoolNew
from evenkeel.api.neutron.v1.showing import statistics_view
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases.attribute_values import values_to_create
from evenkeel.api.usecases.change_requests import PoolChange
from evenkeel.api.usecases.parents import project_of
from evenkeel.api.usecases.pools import change_pool, check_and_convert_changes
from evenkeel.api.usecases.rules import check_monitor_fits_pool
from evenkeel.core.devices.capabilities import raise_first_problem, tree_problems
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.model import HealthMonitor, LoadBalancer, LoadBalancerTree, Pool
from evenkeel.core.resources.pool_rooted import MONITOR_ATTRIBUTES, LbaasV1Pool, SharedMonitor


async def make_v1_pool(services: Services, call: Call, wanted: V1PoolNew) -> LbaasV1Pool:
    """Create a pool and a load balancer without a VIP for it; returns the stored pool.

    Raises :class:`NeutronRefusal` for another project or an unknown subnet, :class:`NotFound` for the
    monitor, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`, :class:`QuotaReached`,
    :class:`NetworkUnavailable`.
    """
    check_tenant(call.caller.scope, wanted)
    project_id = checked_project(project_of(wanted, call.caller.project_id), "tenant_id")
    provider = wanted.provider or services.default_provider
    device_driver = await services.providers.device_driver_of(provider)
    table = services.providers.capabilities_of(device_driver)
    await _check_subnet(services, wanted.subnet_id, None if call.caller.scope is None else project_id)
    tree = _tree_with_load_balancer_of_pool(wanted, project_id, provider, services.new_id(), services.new_id())
    if wanted.health_monitors:
        monitor = await find_shareable_monitor(services, call, wanted.health_monitors[0])
        check_monitor_fits_pool(wanted.protocol, monitor.type)
        tree = replace(tree, health_monitors=(_copy_of_monitor_for_pool(monitor, tree.pools[0], services.new_id()),))
    raise_first_problem(provider, tree_problems(table, tree))
    await services.change_accepted(await services.tenants.create_load_balancer(tree, None))
    return await _find_pool(services, call, tree.pools[0].id)


async def _find_pool(services: Services, call: Call, pool_id: str) -> LbaasV1Pool:
    found: LbaasV1Pool = await read_object(services, call, POOLS, pool_id)
    return found


async def _check_subnet(services: Services, subnet_id: str, project_id: ProjectId | None) -> None:
    if not await services.network.look_up("subnets", {"id": [subnet_id]}, project_id=project_id):
        raise NeutronRefusal(404, "SubnetNotFound", f"Subnet {subnet_id} could not be found.")


def _tree_with_load_balancer_of_pool(
    wanted: V1PoolNew, project_id: ProjectId, provider: str, root_id: str, pool_id: str
) -> LoadBalancerTree:
    root = LoadBalancer(
        id=LoadBalancerId(root_id),
        project_id=project_id,
        vip=None,
        provider=provider,
        name=wanted.name or "",
        root_pool_id=pool_id,
    )
    pool = Pool(
        id=pool_id,
        load_balancer_id=LoadBalancerId(root_id),
        project_id=project_id,
        protocol=wanted.protocol,
        lb_algorithm=wanted.lb_method,
        **values_to_create(wanted, Pool),
    )
    return LoadBalancerTree(load_balancer=root, pools=(pool,))


def _copy_of_monitor_for_pool(monitor: SharedMonitor, pool: Pool, new_id: str) -> HealthMonitor:
    """Return a health monitor of the pool with the attributes of the shared monitor; ``new_id``: id of the copy."""
    return HealthMonitor(
        id=new_id,
        pool_id=pool.id,
        load_balancer_id=pool.load_balancer_id,
        project_id=pool.project_id,
        shared_monitor_id=monitor.id,
        **{name: getattr(monitor, name) for name in MONITOR_ATTRIBUTES},
    )


async def change_v1_pool(services: Services, call: Call, pool_id: str, wanted: V1PoolChange) -> LbaasV1Pool:
    """Change a pool, and which health monitor it has; returns the stored pool. Raises :class:`NotFound`,
    :class:`NeutronRefusal` for a monitor that cannot be shared, :class:`Invalid`, :class:`Unsupported`,
    :class:`Conflict`, :class:`KeyManagerUnavailable`.
    """
    pool = await _find_pool(services, call, pool_id)
    given: dict[str, Any] = {
        "name": wanted.name,
        "description": wanted.description,
        "admin_state_up": wanted.admin_state_up,
        "lb_algorithm": wanted.lb_method,
    }
    attributes = PoolChange(**given)
    # A monitor that was made in the pool through another API has no shared monitor; it is shown by its own id.
    has = None if pool.monitor is None else pool.monitor.shared_monitor_id or pool.monitor.id
    monitor_id = has
    if not isinstance(wanted.health_monitors, UnsetType):
        monitor_id = next(iter(wanted.health_monitors or ()), None)
    if monitor_id != has:
        await _set_monitor(services, call, pool.pool, monitor_id, attributes)
    elif attributes != PoolChange():
        await change_pool(services, call, pool.pool.id, attributes)
    return await _find_pool(services, call, pool_id)


async def _set_monitor(
    services: Services, call: Call, pool: Pool, monitor_id: str | None, attributes: PoolChange
) -> None:
    """Set the pool's monitor (None: remove it) in one change with the attributes, so that all or nothing is
    accepted. Raises the errors of :func:`change_v1_pool`.
    """
    if monitor_id is not None:
        await check_shared_monitor_fits_pool(
            services, call, pool, await find_shareable_monitor(services, call, monitor_id)
        )
    changes, _ = await check_and_convert_changes(services, call, pool.id, attributes)
    accepted = await services.lbaas_v1.set_pool_monitor(
        pool.id, monitor_id, changes, new_id=services.new_id(), project_id=call.caller.scope
    )
    await services.change_accepted(accepted)


async def remove_v1_pool(services: Services, call: Call, pool_id: str) -> None:
    """Delete a pool, and the load balancer that was made for it unless that has other objects. Raises
    :class:`NotFound`, :class:`Conflict` while the pool has a vip.
    """
    await services.change_accepted(await services.lbaas_v1.delete_v1_pool(pool_id, project_id=call.caller.scope))


async def show_pool_statistics(services: Services, call: Call) -> Answer:
    """Handle GET /pools/{id}/stats: show traffic totals of the pool's vips. Raises :class:`NotFound`."""
    pool_id = object_id(call, POOLS.title)
    await services.tenants.get(Pool, pool_id, project_id=call.caller.scope)
    return json_answer({"stats": statistics_view(await services.lbaas_v1.pool_statistics(pool_id))})
