"""Create, change and delete load balancers."""

from collections.abc import Callable

from evenkeel.api.common.references import ReferencingObjectChange, references_of_new_load_balancer
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.identity.caller import checked_project
from evenkeel.api.responses.errors import Forbidden
from evenkeel.api.usecases import change_requests, requests
from evenkeel.api.usecases.acme_references import add_authority_to_tree, resized_listeners
from evenkeel.api.usecases.build import address_of_common_family, tree_from_body
from evenkeel.api.usecases.chaining import check_chaining
from evenkeel.api.usecases.changes import load_balancer_changes
from evenkeel.api.usecases.enhanced_services import offered_services
from evenkeel.api.usecases.member_subnets import check_subnets
from evenkeel.api.usecases.parents import ParentContext, project_of
from evenkeel.api.usecases.provider_choice import choose_flavor, choose_provider_and_zone
from evenkeel.api.usecases.vips import check_port_options, plan_vip
from evenkeel.api.usecases.writes import object_after_write
from evenkeel.core.devices.capabilities import raise_first_problem, tree_problems
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import PortMark, octavia_port_mark
from evenkeel.core.resources.enhanced_services import services_in_tags
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree


async def make_load_balancer(
    services: Services,
    call: Call,
    wanted: requests.LoadBalancerNew,
    mark: Callable[[LoadBalancerId], PortMark] = octavia_port_mark,
    *,
    any_subnet: bool = False,
) -> LoadBalancerTree:
    """Create a load balancer with its children; returns the stored tree. ``mark``: makes the name and owner
    of the VIP's port from the load balancer's id. ``any_subnet``: subnets of all projects may be used.

    Raises :class:`RequestError` (:class:`Forbidden` for another project than the caller's) and
    :class:`Unavailable`; then nothing is stored, and a port that was created is released.
    """
    project_id = checked_project(project_of(wanted, call.caller.project_id), "project_id")
    if call.caller.scope not in (None, project_id):
        raise Forbidden
    choice = await choose_provider_and_zone(services, wanted)
    provider = choice.provider
    device_driver = await services.providers.device_driver_of(provider)
    table = services.providers.capabilities_of(device_driver)
    offered = await offered_services(services, provider, table.for_data_path(choice.data_path))
    load_balancer_id = LoadBalancerId(services.new_id())
    place = ParentContext(load_balancer_id, project_id, services.addresses, services.tls, offered.names)
    marked = mark(place.load_balancer_id)
    vip = await plan_vip(
        services,
        wanted,
        place,
        marked=marked,
        vnic_type=choice.vnic_type,
        any_address=call.caller.scope is None,
        any_subnet=any_subnet,
        permitted=await services.providers.vip_networks_of(provider),
    )
    try:
        tree = choice.fill_tree(tree_from_body(wanted, place, provider=provider, vip=vip, new_id=services.new_id))
        tree = add_authority_to_tree(tree, choice.acme_authority)
        raise_first_problem(provider, tree_problems(table, tree, address_of_common_family(vip)))
        offered.check_tree(tree)
        await check_subnets(services, call.caller.scope, tree.members)
        vips = (vip, *vip.additional)
        unchained = await check_chaining(
            services, table, environment=provider, project_id=project_id, members=tree.members, vips=vips
        )
        certificates = await services.references.read_and_check(
            references_of_new_load_balancer(tree), project_id, table
        )
        change = await services.tenants.create_load_balancer(tree, vip, certificates, unchained=unchained)
    except Exception:
        # the plan may have created a port, which no load balancer will use
        await services.network.abandon_vip(vip)
        raise
    await services.change_accepted(change)
    if change.tree is None:
        stored = await services.tenants.tree(place.load_balancer_id, project_id=None)
    else:
        stored = change.tree
    services.providers.remember_load_balancer(stored.load_balancer, device_driver)
    return stored


async def change_load_balancer(
    services: Services, call: Call, load_balancer_id: LoadBalancerId, body: change_requests.LoadBalancerChange
) -> LoadBalancer:
    """Change a load balancer; returns the stored load balancer. Without changes nothing is written. Raises
    :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`, and
    :class:`NetworkUnavailable` if options of the VIP's port cannot be checked.
    """
    changes = load_balancer_changes(body)
    scope = call.caller.scope
    if not changes:
        current: LoadBalancer = await services.tenants.get(LoadBalancer, load_balancer_id, project_id=scope)
        return current
    if services_in_tags(changes.get("tags", ())):
        before: LoadBalancer = await services.tenants.get(LoadBalancer, load_balancer_id, project_id=scope)
        served = await services.providers.find_served_object(LoadBalancer, load_balancer_id, scope)
        offered = await offered_services(services, served.by.provider, served.table)
        offered.check_tags(changes["tags"], before.tags)
    tell_network = await check_port_options(services, load_balancer_id, scope, changes)
    accepted = await services.tenants.update_load_balancer(
        load_balancer_id, changes, project_id=scope, tell_network=tell_network
    )
    await services.change_accepted(accepted)
    row: LoadBalancer = await object_after_write(services, call, LoadBalancer, accepted, load_balancer_id)
    return row


async def resize_load_balancer(
    services: Services, call: Call, load_balancer_id: LoadBalancerId, flavor_id: str
) -> None:
    """Give a load balancer another flavor of its provider, or the same flavor again. Raises
    :class:`NotFound`, :class:`Conflict`, :class:`Invalid` for a flavor that the load balancer cannot have,
    :class:`Unsupported`, :class:`KeyManagerUnavailable`; then nothing has changed.
    """
    scope = call.caller.scope
    current: LoadBalancer = await services.tenants.get(LoadBalancer, load_balancer_id, project_id=scope)
    choice = await choose_flavor(services, flavor_id, current.provider)
    if choice.vnic_type != current.vip_vnic_type:
        raise Invalid(
            f"Flavor '{flavor_id}' needs a VIP port of vnic_type '{choice.vnic_type}'; the load balancer's has"
            f" '{current.vip_vnic_type}', which is decided at its creation. (new_flavor_id)"
        )
    if choice.data_path != current.data_path:
        raise Invalid(
            f"Flavor '{flavor_id}' has the data_path '{choice.data_path}'; the load balancer has"
            f" '{current.data_path}', which is decided at its creation. (new_flavor_id)"
        )
    served = await services.providers.find_served_object(LoadBalancer, load_balancer_id, scope)
    if choice.flavor_enhanced_services:
        (await offered_services(services, choice.provider, served.table)).check_flavor(choice.flavor_enhanced_services)
    resized = await resized_listeners(services, load_balancer_id, choice.acme_authority)
    accepted = await services.tenants.resize_load_balancer(
        load_balancer_id,
        flavor_id=flavor_id,
        enhanced_services=choice.flavor_enhanced_services,
        listeners=[each.references for each in resized],
        certificates=await services.references.read_and_check(
            [ReferencingObjectChange(each.after, before=each.before) for each in resized],
            current.project_id,
            served.table,
        ),
        project_id=scope,
    )
    await services.change_accepted(accepted)


async def remove_load_balancer(
    services: Services, call: Call, load_balancer_id: LoadBalancerId, *, cascade: bool
) -> None:
    """Mark a load balancer deleted; one that is marked already stays so. Raises :class:`NotFound`,
    :class:`Invalid` if it has children and not ``cascade``, :class:`Conflict` if it is held, mirrored or
    immutable.
    """
    accepted = await services.tenants.delete_load_balancer(
        load_balancer_id, cascade=cascade, project_id=call.caller.scope
    )
    await services.change_accepted(accepted)
