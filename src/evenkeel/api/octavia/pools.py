"""Octavia pools and their health monitors: create and change."""

from evenkeel.api.common.resources import object_id, one
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.octavia.resources import HEALTH_MONITORS, POOLS
from evenkeel.api.responses.answers import Answer
from evenkeel.api.usecases import change_requests, requests
from evenkeel.api.usecases.pools import change_health_monitor, change_pool, make_health_monitor, make_pool


async def create(services: Services, call: Call, body: requests.PoolNewBody) -> Answer:
    """Handle POST /pools; answers 201."""
    return one(POOLS, await make_pool(services, call, body.pool), 201)


async def change(services: Services, call: Call, body: change_requests.PoolChangeBody) -> Answer:
    """Handle PUT /pools/{id}."""
    return one(POOLS, await change_pool(services, call, object_id(call, POOLS.title), body.pool))


async def create_monitor(services: Services, call: Call, body: requests.HealthMonitorNewBody) -> Answer:
    """Handle POST /healthmonitors; answers 201."""
    return one(HEALTH_MONITORS, await make_health_monitor(services, call, body.healthmonitor), 201)


async def change_monitor(services: Services, call: Call, body: change_requests.HealthMonitorChangeBody) -> Answer:
    """Handle PUT /healthmonitors/{id}."""
    monitor_id = object_id(call, HEALTH_MONITORS.title)
    return one(HEALTH_MONITORS, await change_health_monitor(services, call, monitor_id, body.healthmonitor))
