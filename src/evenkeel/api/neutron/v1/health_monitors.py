"""Shared health monitors of LBaaS v1: create, change, delete. Monitors made in a pool through another API are changed
in that pool.
"""

from typing import Any

from msgspec import UnsetType
from msgspec.structs import asdict, replace

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.neutron.bodies import check_tenant
from evenkeel.api.neutron.errors import NeutronRefusal, bad_request
from evenkeel.api.neutron.v1.lists import HEALTH_MONITORS, read_object
from evenkeel.api.neutron.v1.requests import (
    V1HealthMonitorChange,
    V1HealthMonitorNew,
)
from evenkeel.api.usecases.change_requests import HealthMonitorChange
from evenkeel.api.usecases.parents import is_admin_up, project_of
from evenkeel.api.usecases.pools import change_health_monitor
from evenkeel.api.usecases.rules import check_monitor, http_check_defaults
from evenkeel.core.devices.capabilities import monitor_problems, raise_first_problem
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.model import HTTP_CHECK_DEFAULTS, HealthMonitor
from evenkeel.core.resources.pool_rooted import MONITOR_ATTRIBUTES, SharedMonitor

_NAMES = ("delay", "timeout", "max_retries", *HTTP_CHECK_DEFAULTS, "admin_state_up")


async def make_shared_monitor(services: Services, call: Call, wanted: V1HealthMonitorNew) -> SharedMonitor:
    """Create a health monitor that no pool has yet; returns the stored monitor. Raises
    :class:`NeutronRefusal` for another project or contradictory times, :class:`Invalid` for other
    contradictions.
    """
    check_tenant(call.caller.scope, wanted)
    project_id = checked_project(project_of(wanted, call.caller.project_id), "tenant_id")
    row = _monitor_row(wanted, project_id, services.new_id())
    _check_monitor(row)
    return await services.lbaas_v1.add_shared_monitor(row)


def _monitor_row(wanted: V1HealthMonitorNew, project_id: ProjectId, monitor_id: str) -> SharedMonitor:
    defaults = _defaults_of_type(wanted.type)
    http = {name: getattr(wanted, name) or defaults[name] for name in HTTP_CHECK_DEFAULTS}
    return SharedMonitor(
        id=monitor_id,
        project_id=project_id,
        type=wanted.type,
        delay=wanted.delay,
        timeout=wanted.timeout,
        max_retries=wanted.max_retries,
        admin_state_up=is_admin_up(wanted.admin_state_up),
        **http,
    )


def _defaults_of_type(monitor_type: str) -> dict[str, Any]:
    """Return the values that replace null in a request, by attribute, for a monitor type; HTTP attributes of
    other types than HTTP and HTTPS are None.
    """
    return {**http_check_defaults(monitor_type), "admin_state_up": True}


def _check_monitor(row: SharedMonitor) -> None:
    """Check a monitor's attributes. Raises :class:`NeutronRefusal` for contradictory times, :class:`Invalid` for other
    contradictions.
    """
    _check_times(row)
    attributes = {name: getattr(row, name) for name in MONITOR_ATTRIBUTES}
    check_monitor(
        HealthMonitor(
            id=row.id, pool_id="", load_balancer_id=LoadBalancerId(""), project_id=row.project_id, **attributes
        )
    )


def _check_times(row: SharedMonitor) -> None:
    """Check that the delay is not below the timeout. Raises :class:`NeutronRefusal`."""
    if row.delay < row.timeout:
        raise bad_request(
            f"The value of attribute delay must be greater than or equal to timeout: it is {row.delay}, and timeout is"
            f" {row.timeout}.",
            "DelayOrTimeoutInvalid",
        )


async def change_shared_monitor(
    services: Services, call: Call, monitor_id: str, wanted: V1HealthMonitorChange
) -> SharedMonitor:
    """Change a health monitor in all associated pools; returns the stored monitor. Raises :class:`NotFound`,
    :class:`NeutronRefusal`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`.
    """
    row = await _find_monitor(services, call, monitor_id)
    changes = _monitor_changes(wanted, row)
    if row.in_pool:
        # Octavia allows a timeout above the delay, so a monitor that was made there may have one, and keep it.
        if changes.keys() & {"delay", "timeout"}:
            _check_times(replace(row, **changes))
        await change_health_monitor(services, call, row.id, HealthMonitorChange(**changes))
    elif changes:
        after = replace(row, **changes)
        _check_monitor(after)
        await _check_devices_support(services, after)
        accepted = await services.lbaas_v1.update_shared_monitor(row.id, changes, project_id=call.caller.scope)
        for each in accepted:
            await services.change_accepted(each)
    return await _find_monitor(services, call, row.id)


async def _find_monitor(services: Services, call: Call, monitor_id: str) -> SharedMonitor:
    found: SharedMonitor = await read_object(services, call, HEALTH_MONITORS, monitor_id)
    return found


def _monitor_changes(wanted: V1HealthMonitorChange, row: SharedMonitor) -> dict[str, Any]:
    """Return the attributes to change, by name, with null replaced by the default of the monitor's type."""
    given = {name: getattr(wanted, name) for name in _NAMES if not isinstance(getattr(wanted, name), UnsetType)}
    defaults = _defaults_of_type(row.type)
    return {name: defaults[name] if value is None else value for name, value in given.items()}


async def _check_devices_support(services: Services, after: SharedMonitor) -> None:
    """Check that the device types of all associated pools support the monitor. Raises :class:`Unsupported`,
    and :class:`Invalid` for an environment that was deleted meanwhile.
    """
    for provider in await services.lbaas_v1.providers_of_monitor(after.id):
        table = services.providers.capabilities_of(await services.providers.device_driver_of(provider))
        raise_first_problem(provider, monitor_problems(table, asdict(after)))


async def remove_shared_monitor(services: Services, call: Call, monitor_id: str) -> None:
    """Delete a health monitor. Raises :class:`NotFound`; :class:`NeutronRefusal` or :class:`Conflict` while
    it has associations.
    """
    row = await _find_monitor(services, call, monitor_id)
    if row.in_pool:
        raise NeutronRefusal(
            409, "HealthMonitorInUse", f"Health monitor {row.id} is still in use by pool {row.uses[0].pool_id}."
        )
    await services.lbaas_v1.delete_shared_monitor(row.id, project_id=call.caller.scope)
