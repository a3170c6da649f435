"""LBaaS v2 pools and their health monitors: create and change."""

from msgspec import UNSET, UnsetType

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.bodies import invalid
from evenkeel.api.neutron.errors import NeutronRefusal, bad_request
from evenkeel.api.neutron.v2 import change_requests, requests
from evenkeel.api.neutron.v2.listeners import apart, check_pair
from evenkeel.api.neutron.v2.resources import HEALTH_MONITORS, POOLS, body_as, one
from evenkeel.api.responses.answers import Answer
from evenkeel.api.usecases import change_requests as octavia_changes
from evenkeel.api.usecases import pool_requests
from evenkeel.api.usecases import requests as octavia
from evenkeel.api.usecases.pools import change_health_monitor, change_pool, make_health_monitor, make_pool
from evenkeel.core.resources.model import Listener


def persistence_of(body: requests.V2Persistence | None) -> octavia.Persistence | None:
    """Return the session persistence in Octavia's form; an empty one means none."""
    if body is None or body == requests.V2Persistence():
        return None
    if not isinstance(body.type, str):
        raise invalid("session_persistence", "'type' must be given, and not be null.")
    cookie_name = body.cookie_name if isinstance(body.cookie_name, str) else None
    return octavia.Persistence(type=body.type, cookie_name=cookie_name)


async def create(services: Services, call: Call, body: requests.V2PoolNewBody) -> Answer:
    """Handle POST /pools; answers 201."""
    wanted = body.pool
    if wanted.listener_id is not None:
        listener: Listener = await services.tenants.get(Listener, wanted.listener_id, project_id=call.caller.scope)
        if wanted.loadbalancer_id not in (None, listener.load_balancer_id):
            raise apart()
        if listener.default_pool_id is not None:
            raise _has_pool(listener)
        check_pair(listener.protocol, wanted.protocol)
    elif wanted.loadbalancer_id is None:
        raise bad_request("Must specify a loadbalancer_id or a listener_id for the pool.", "PoolMustHaveLoadbalancer")
    persistence = persistence_of(wanted.session_persistence)
    asked = body_as(octavia.PoolNew, wanted, session_persistence=persistence)
    return one(POOLS, await make_pool(services, call, asked, any_cookies=True), 201)


def _has_pool(listener: Listener) -> NeutronRefusal:
    return NeutronRefusal(
        409,
        "ListenerDefaultPoolAlreadySet",
        f"Listener {listener.id} is already using default pool {listener.default_pool_id}.",
    )


async def change(services: Services, call: Call, body: change_requests.V2PoolChangeBody) -> Answer:
    """Handle PUT /pools/{id}."""
    given = body.pool.session_persistence
    persistence: octavia.Persistence | UnsetType | None = UNSET
    if not isinstance(given, UnsetType):
        persistence = persistence_of(given)
    wanted = body_as(octavia_changes.PoolChange, body.pool, session_persistence=persistence)
    return one(POOLS, await change_pool(services, call, object_id(call, POOLS.title), wanted, any_cookies=True))


async def create_monitor(services: Services, call: Call, body: requests.V2HealthMonitorNewBody) -> Answer:
    """Handle POST /healthmonitors; answers 201."""
    wanted = body_as(pool_requests.HealthMonitorNew, body.healthmonitor)
    return one(HEALTH_MONITORS, await make_health_monitor(services, call, wanted), 201)


async def change_monitor(services: Services, call: Call, body: change_requests.V2HealthMonitorChangeBody) -> Answer:
    """Handle PUT /healthmonitors/{id}."""
    monitor_id = object_id(call, HEALTH_MONITORS.title)
    wanted = body_as(octavia_changes.HealthMonitorChange, body.healthmonitor)
    return one(HEALTH_MONITORS, await change_health_monitor(services, call, monitor_id, wanted))
