"""Octavia load balancers: create (alone or fully populated), show, list, change, delete, statuses, statistics."""

from collections.abc import Callable

from evenkeel.api.answers import Answer, StreamedAnswer, json_answer
from evenkeel.api.context import Call, Services, checked_project
from evenkeel.api.errors import Forbidden
from evenkeel.api.member_subnets import check_subnets
from evenkeel.api.octavia import change_requests, requests
from evenkeel.api.octavia.build import tree_of
from evenkeel.api.octavia.changes import load_balancer_changes
from evenkeel.api.octavia.enhanced_services import offered_services
from evenkeel.api.octavia.parents import Place, project_of
from evenkeel.api.octavia.provider_choice import chosen_place
from evenkeel.api.octavia.references import ChangedUser
from evenkeel.api.octavia.resources import LOAD_BALANCERS, object_id, one, written
from evenkeel.api.octavia.showing import statistics_view
from evenkeel.api.octavia.trees import graph_view, status_pieces
from evenkeel.api.octavia.vips import check_options, plan_vip
from evenkeel.core.devices.capabilities import refuse, tree_problems
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import VipPort, octavia_port
from evenkeel.core.resources.enhanced_services import tagged
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Pool


async def create(services: Services, call: Call, body: requests.LoadBalancerNewBody) -> Answer:
    """Handle POST /loadbalancers; answers 201 with the load balancer and all its children."""
    return json_answer({"loadbalancer": graph_view(await make_load_balancer(services, call, body.loadbalancer))}, 201)


async def make_load_balancer(
    services: Services,
    call: Call,
    wanted: requests.LoadBalancerNew,
    mark: Callable[[LoadBalancerId], VipPort] = octavia_port,
    *,
    any_subnet: bool = False,
) -> LoadBalancerTree:
    """Create a load balancer with its children; returns the stored tree. ``mark``: makes the marks of the VIP's port
    from the load balancer's id. ``any_subnet``: the VIP's subnet may be another project's that is not shared.
    """
    project_id = checked_project(project_of(wanted, call.caller.project_id), "project_id")
    if call.caller.scope not in (None, project_id):
        raise Forbidden
    choice = await chosen_place(services, wanted)
    provider = choice.provider
    device_driver = await services.providers.device_driver_of(provider)
    table = services.providers.table_of(device_driver)
    offered = await offered_services(services, provider, table)
    load_balancer_id = LoadBalancerId(services.new_id())
    place = Place(load_balancer_id, project_id, services.addresses, services.tls, offered.names)
    marked = mark(place.load_balancer_id)
    vip = await plan_vip(
        services,
        wanted,
        place,
        marked=marked,
        vnic_type=choice.vnic_type,
        any_address=call.caller.scope is None,
        any_subnet=any_subnet,
    )
    try:
        tree = choice.applied(tree_of(wanted, place, provider=provider, vip=vip, new_id=services.new_id))
        refuse(provider, tree_problems(table, tree))
        offered.check_tree(tree)
        await check_subnets(services, call.caller.scope, tree.members)
        rows: tuple[Listener | Pool, ...] = (*tree.listeners, *tree.pools)
        users = [ChangedUser(row) for row in rows]
        certificates = await services.references.read(users, project_id, table)
        change = await services.tenants.create_load_balancer(tree, vip, certificates)
    except Exception:
        # the plan may have created a port, which no load balancer will use
        await services.network.abandon_vip(vip)
        raise
    await services.accepted(change)
    if change.tree is None:
        stored = await services.tenants.tree(place.load_balancer_id, project_id=None)
    else:
        stored = change.tree
    services.providers.remember(stored.load_balancer, device_driver)
    return stored


async def change(services: Services, call: Call, body: change_requests.LoadBalancerChangeBody) -> Answer:
    """Handle PUT /loadbalancers/{id}."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    return one(
        LOAD_BALANCERS, await change_load_balancer(services, call, LoadBalancerId(load_balancer_id), body.loadbalancer)
    )


async def change_load_balancer(
    services: Services, call: Call, load_balancer_id: LoadBalancerId, body: change_requests.LoadBalancerChange
) -> LoadBalancer:
    """Change a load balancer; returns the stored load balancer."""
    changes = load_balancer_changes(body)
    scope = call.caller.scope
    if not changes:
        current: LoadBalancer = await services.tenants.get(LoadBalancer, load_balancer_id, project_id=scope)
        return current
    if tagged(changes.get("tags", ())):
        before: LoadBalancer = await services.tenants.get(LoadBalancer, load_balancer_id, project_id=scope)
        served = await services.providers.of(LoadBalancer, load_balancer_id, scope)
        offered = await offered_services(services, served.by.provider, served.table)
        offered.check_tags(changes["tags"], before.tags)
    tell_network = await check_options(services, load_balancer_id, scope, changes)
    accepted = await services.tenants.update_load_balancer(
        load_balancer_id, changes, project_id=scope, tell_network=tell_network
    )
    await services.accepted(accepted)
    row: LoadBalancer = await written(services, call, LOAD_BALANCERS, accepted, load_balancer_id)
    return row


async def delete(services: Services, call: Call) -> Answer:
    """Handle DELETE /loadbalancers/{id}: with children only if ``cascade``. Answers 204."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    await remove_load_balancer(services, call, LoadBalancerId(load_balancer_id), cascade=call.flag("cascade"))
    return Answer(204)


async def remove_load_balancer(
    services: Services, call: Call, load_balancer_id: LoadBalancerId, *, cascade: bool
) -> None:
    """Delete a load balancer; with children only if ``cascade``."""
    accepted = await services.tenants.delete_load_balancer(
        load_balancer_id, cascade=cascade, project_id=call.caller.scope
    )
    await services.accepted(accepted)


async def failover(services: Services, call: Call) -> Answer:
    """Handle PUT /loadbalancers/{id}/failover: another agent serves the load balancer from now on, or it is applied to
    its device again. Answers 202.
    """
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    accepted = await services.tenants.fail_over_load_balancer(
        LoadBalancerId(load_balancer_id), project_id=call.caller.scope
    )
    await services.failed_over(accepted)
    return Answer(202)


async def status(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/status: stream the status tree."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    tree = await services.tenants.tree(
        LoadBalancerId(load_balancer_id), project_id=call.caller.scope, statuses_only=True
    )
    return StreamedAnswer(status_pieces(tree))


async def statistics(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/stats: totals over the load balancer's listeners."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    await services.tenants.get(LoadBalancer, load_balancer_id, project_id=call.caller.scope)
    totals = await services.tenants.statistics(LoadBalancerId(load_balancer_id))
    return json_answer({"stats": statistics_view(totals)})
