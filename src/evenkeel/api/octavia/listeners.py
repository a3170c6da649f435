"""Listeners: create, change, statistics. Listing, showing and deleting are as for every kind."""

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import Call, Services
from evenkeel.api.octavia import change_requests, requests
from evenkeel.api.octavia.build import Place, listener_row
from evenkeel.api.octavia.changes import listener_changes
from evenkeel.api.octavia.resources import LISTENERS, changed, object_id, one, written
from evenkeel.api.octavia.rules import check_listener, check_pair
from evenkeel.api.octavia.showing import statistics_view
from evenkeel.core.errors import NotFound
from evenkeel.core.model import Listener, LoadBalancer, Pool


async def create(services: Services, call: Call, body: requests.ListenerNewBody) -> Answer:
    """201."""
    wanted = body.listener
    scope = call.caller.scope
    root: LoadBalancer = await services.store.get(LoadBalancer, wanted.loadbalancer_id, project_id=scope)
    if wanted.default_pool_id is not None:
        await _check_default_pool(services, wanted.default_pool_id, root.id, wanted.protocol)
    row = listener_row(
        wanted,
        Place(root.id, root.project_id),
        listener_id=services.new_id(),
        default_pool_id=wanted.default_pool_id,
    )
    accepted = await services.store.add_listener(row, project_id=scope)
    await services.accepted(accepted)
    return one(LISTENERS, await written(services, call, LISTENERS, accepted, row.id), 201)


async def _check_default_pool(services: Services, pool_id: str, load_balancer_id: str, protocol: str) -> None:
    pool: Pool = await services.store.get(Pool, pool_id, project_id=None)
    if pool.load_balancer_id != load_balancer_id:
        raise NotFound("Pool", pool_id)
    check_pair(protocol, pool.protocol)


async def change(services: Services, call: Call, body: change_requests.ListenerChangeBody) -> Answer:
    """200."""
    listener_id = object_id(call, LISTENERS.title)
    changes = listener_changes(body.listener)
    if changes.get("insert_headers") or changes.get("default_pool_id"):
        current: Listener = await services.store.get(Listener, listener_id, project_id=call.caller.scope)
        if pool_id := changes.get("default_pool_id"):
            await _check_default_pool(services, pool_id, current.load_balancer_id, current.protocol)
        if changes.get("insert_headers"):
            check_listener(current, changes["insert_headers"])
    return await changed(services, call, LISTENERS, listener_id, changes, None)


async def statistics(services: Services, call: Call) -> Answer:
    """Totals of one listener."""
    listener_id = object_id(call, LISTENERS.title)
    row: Listener = await services.store.get(Listener, listener_id, project_id=call.caller.scope)
    totals = await services.store.statistics(row.load_balancer_id, listener_id=listener_id)
    return json_answer({"stats": statistics_view(totals)})
