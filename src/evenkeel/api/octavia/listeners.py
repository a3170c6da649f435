"""Octavia listeners: create, change, statistics. For list, show and delete see :mod:`.resources`."""

from evenkeel.api.common.resources import object_id, one
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.octavia.resources import LISTENERS
from evenkeel.api.octavia.showing import statistics_view
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases import change_requests, requests
from evenkeel.api.usecases.listeners import change_listener, make_listener
from evenkeel.core.resources.model import Listener


async def create(services: Services, call: Call, body: requests.ListenerNewBody) -> Answer:
    """Handle POST /listeners; answers 201."""
    return one(LISTENERS, await make_listener(services, call, body.listener), 201)


async def change(services: Services, call: Call, body: change_requests.ListenerChangeBody) -> Answer:
    """Handle PUT /listeners/{id}."""
    return one(LISTENERS, await change_listener(services, call, object_id(call, LISTENERS.title), body.listener))


async def statistics(services: Services, call: Call) -> Answer:
    """Handle GET /listeners/{id}/stats: totals of one listener."""
    listener_id = object_id(call, LISTENERS.title)
    row: Listener = await services.tenants.get(Listener, listener_id, project_id=call.caller.scope)
    totals = await services.tenants.statistics(row.load_balancer_id, listener_id=listener_id)
    return json_answer({"stats": statistics_view(totals)})
