"""Load balancers: create (alone or fully populated), show, list, change, delete, statuses, statistics."""

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import Call, Services, checked_project
from evenkeel.api.errors import Forbidden
from evenkeel.api.octavia import change_requests, requests
from evenkeel.api.octavia.build import tree_of
from evenkeel.api.octavia.changes import load_balancer_changes
from evenkeel.api.octavia.choosing import chosen_place
from evenkeel.api.octavia.places import Place, project_of
from evenkeel.api.octavia.resources import LOAD_BALANCERS, object_id, one, written
from evenkeel.api.octavia.rules import checked_address
from evenkeel.api.octavia.showing import statistics_view
from evenkeel.api.octavia.trees import graph_view, status_tree
from evenkeel.core.capabilities import refuse, tree_problems
from evenkeel.core.control import VipPlan
from evenkeel.core.errors import Invalid, NotFound
from evenkeel.core.model import LoadBalancer


async def create(services: Services, call: Call, body: requests.LoadBalancerNewBody) -> Answer:
    """201 with the whole graph."""
    wanted = body.loadbalancer
    project_id = checked_project(project_of(wanted, call.caller.project_id), "project_id")
    if call.caller.scope not in (None, project_id):
        raise Forbidden
    choice = await chosen_place(services, wanted)
    provider = choice.provider
    device_driver = await services.serving.device_driver_of(provider)
    place = Place(services.new_id(), project_id)
    vip = await _plan_vip(services, wanted, place)
    try:
        tree = choice.applied(tree_of(wanted, place, provider=provider, vip=vip, new_id=services.new_id))
        refuse(provider, tree_problems(services.serving.table_of(device_driver), tree))
        change = await services.store.create_load_balancer(tree, vip)
    except Exception:
        await services.network.abandon_vip(vip)
        raise
    await services.accepted(change)
    if change.tree is None:
        stored = await services.store.tree(place.load_balancer_id, project_id=None)
    else:
        stored = change.tree
    services.serving.remember(stored.load_balancer, device_driver)
    return json_answer({"loadbalancer": graph_view(stored)}, 201)


async def _plan_vip(services: Services, wanted: requests.LoadBalancerNew, place: Place) -> VipPlan:
    address = wanted.vip_address
    try:
        return await services.network.plan_vip(
            project_id=place.project_id,
            load_balancer_id=place.load_balancer_id,
            subnet_id=wanted.vip_subnet_id,
            network_id=wanted.vip_network_id,
            port_id=wanted.vip_port_id,
            address=None if address is None else checked_address("vip_address", address),
        )
    except NotFound as error:
        # a part of the body names it, not the path: Octavia answers 400
        raise Invalid(str(error)) from error


async def change(services: Services, call: Call, body: change_requests.LoadBalancerChangeBody) -> Answer:
    """200 with the changed load balancer."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    changes = load_balancer_changes(body.loadbalancer)
    scope = call.caller.scope
    if not changes:
        return one(LOAD_BALANCERS, await services.store.get(LoadBalancer, load_balancer_id, project_id=scope))
    accepted = await services.store.update_load_balancer(load_balancer_id, changes, project_id=scope)
    await services.accepted(accepted)
    return one(LOAD_BALANCERS, await written(services, call, LOAD_BALANCERS, accepted, load_balancer_id))


async def delete(services: Services, call: Call) -> Answer:
    """204; with children only if ``cascade``."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    cascade = call.flag("cascade")
    accepted = await services.store.delete_load_balancer(
        load_balancer_id, cascade=cascade, project_id=call.caller.scope
    )
    await services.accepted(accepted)
    return Answer(204)


async def status(services: Services, call: Call) -> Answer:
    """The status tree."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    tree = await services.store.tree(load_balancer_id, project_id=call.caller.scope)
    return json_answer({"statuses": status_tree(tree)})


async def statistics(services: Services, call: Call) -> Answer:
    """Totals over its listeners."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    await services.store.get(LoadBalancer, load_balancer_id, project_id=call.caller.scope)
    totals = await services.store.statistics(load_balancer_id)
    return json_answer({"stats": statistics_view(totals)})
