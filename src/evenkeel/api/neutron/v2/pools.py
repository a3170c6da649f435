"""LBaaS v2 pools and their health monitors: create and change."""

from msgspec import UnsetType

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.bodies import invalid_value
from evenkeel.api.neutron.errors import NeutronRefusal, bad_request
from evenkeel.api.neutron.v2 import change_requests, requests
from evenkeel.api.neutron.v2.listeners import check_protocol_pair, different_load_balancers_error
from evenkeel.api.neutron.v2.resources import convert_body
from evenkeel.api.usecases import change_requests as octavia_changes
from evenkeel.api.usecases import pool_requests
from evenkeel.api.usecases import requests as octavia
from evenkeel.api.usecases.pools import change_health_monitor, change_pool, make_health_monitor, make_pool
from evenkeel.core.resources.model import HealthMonitor, Listener, Pool


def persistence_of_v2(body: requests.V2Persistence | None) -> octavia.Persistence | None:
    """Return the session persistence in Octavia's form; None if the request's is absent or empty. Raises
    :class:`NeutronRefusal` (400) without a type.
    """
    if body is None or body == requests.V2Persistence():
        return None
    if not isinstance(body.type, str):
        raise invalid_value("session_persistence", "'type' must be given, and not be null.")
    cookie_name = body.cookie_name if isinstance(body.cookie_name, str) else None
    return octavia.Persistence(type=body.type, cookie_name=cookie_name)


async def make_pool_of_v2(services: Services, call: Call, wanted: requests.V2PoolNew) -> Pool:
    """Create a pool, which becomes the default pool of the listener that the request names; returns the
    stored pool. Raises :class:`NotFound`, :class:`NeutronRefusal`, and the errors of :func:`make_pool`.
    """
    if wanted.listener_id is not None:
        listener: Listener = await services.tenants.get(Listener, wanted.listener_id, project_id=call.caller.scope)
        if wanted.loadbalancer_id not in (None, listener.load_balancer_id):
            raise different_load_balancers_error()
        if listener.default_pool_id is not None:
            raise _listener_has_pool_error(listener)
        check_protocol_pair(listener.protocol, wanted.protocol)
    elif wanted.loadbalancer_id is None:
        raise bad_request("Must specify a loadbalancer_id or a listener_id for the pool.", "PoolMustHaveLoadbalancer")
    persistence = persistence_of_v2(wanted.session_persistence)
    asked = convert_body(octavia.PoolNew, wanted, session_persistence=persistence)
    return await make_pool(services, call, asked, any_cookies=True)


def _listener_has_pool_error(listener: Listener) -> NeutronRefusal:
    return NeutronRefusal(
        409,
        "ListenerDefaultPoolAlreadySet",
        f"Listener {listener.id} is already using default pool {listener.default_pool_id}.",
    )


async def change_pool_of_v2(
    services: Services, call: Call, pool_id: str, changes: change_requests.V2PoolChange
) -> Pool:
    given = changes.session_persistence
    persistence = given if isinstance(given, UnsetType) else persistence_of_v2(given)
    wanted = convert_body(octavia_changes.PoolChange, changes, session_persistence=persistence)
    return await change_pool(services, call, pool_id, wanted, any_cookies=True)


async def make_monitor_of_v2(services: Services, call: Call, wanted: requests.V2HealthMonitorNew) -> HealthMonitor:
    """Create the health monitor of a pool; returns the stored monitor. Raises the errors of
    :func:`make_health_monitor`.
    """
    return await make_health_monitor(services, call, convert_body(pool_requests.HealthMonitorNew, wanted))


async def change_monitor_of_v2(
    services: Services, call: Call, monitor_id: str, changes: change_requests.V2HealthMonitorChange
) -> HealthMonitor:
    wanted = convert_body(octavia_changes.HealthMonitorChange, changes)
    return await change_health_monitor(services, call, monitor_id, wanted)
