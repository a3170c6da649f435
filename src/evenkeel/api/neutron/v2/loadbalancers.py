"""LBaaS v2 load balancers: create, change, delete, statuses, statistics."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.bodies import check_tenant
from evenkeel.api.neutron.errors import NeutronRefusal, bad_request
from evenkeel.api.neutron.v2 import change_requests, requests
from evenkeel.api.neutron.v2.resources import LOAD_BALANCERS, convert_body
from evenkeel.api.neutron.v2.showing import statistics_view
from evenkeel.api.neutron.v2.trees import status_pieces
from evenkeel.api.responses.answers import Answer, StreamedAnswer, json_answer
from evenkeel.api.usecases import change_requests as octavia_changes
from evenkeel.api.usecases import requests as octavia
from evenkeel.api.usecases.load_balancers import change_load_balancer, make_load_balancer, remove_load_balancer
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.network import lbaas_v2_port_mark
from evenkeel.core.resources.model import LoadBalancer


async def make_load_balancer_of_v2(services: Services, call: Call, wanted: requests.V2LoadBalancerNew) -> LoadBalancer:
    """Create a load balancer; returns the stored load balancer. Raises :class:`NeutronRefusal`, and the
    errors of :func:`make_load_balancer`.
    """
    scope = call.caller.scope
    check_new_load_balancer(wanted, scope)
    tree = await make_load_balancer(
        services, call, convert_body(octavia.LoadBalancerNew, wanted), lbaas_v2_port_mark, any_subnet=scope is None
    )
    return tree.load_balancer


def check_new_load_balancer(wanted: requests.V2LoadBalancerNew, scope: ProjectId | None) -> None:
    """Check the rules between attributes of a new load balancer. ``scope``: the caller's project; None: an
    operator. Raises :class:`NeutronRefusal`.
    """
    check_tenant(scope, wanted)
    if wanted.provider == "":
        raise bad_request("Service provider '' could not be found", "ServiceProviderNotFound")
    if wanted.vip_subnet_id is None and wanted.vip_network_id is None:
        raise bad_request(
            "Required attribute 'vip_subnet_id or vip_network_id' not specified", "RequiredAttributeNotSpecified"
        )
    if wanted.provider is not None and wanted.flavor_id is not None:
        raise NeutronRefusal(
            409, "ProviderFlavorConflict", "Cannot specify both a flavor and a provider: a flavor has its own."
        )


async def change_load_balancer_of_v2(
    services: Services, call: Call, load_balancer_id: str, changes: change_requests.V2LoadBalancerChange
) -> LoadBalancer:
    wanted = convert_body(octavia_changes.LoadBalancerChange, changes)
    return await change_load_balancer(services, call, LoadBalancerId(load_balancer_id), wanted)


async def remove_load_balancer_of_v2(services: Services, call: Call, load_balancer_id: str) -> None:
    """Delete a load balancer. Raises :class:`NotFound`, :class:`Invalid` while it has listeners or pools,
    :class:`Conflict` if it is held or mirrored.
    """
    await remove_load_balancer(services, call, LoadBalancerId(load_balancer_id), cascade=False)


async def show_statuses(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/statuses: stream the status tree. Raises :class:`NotFound`."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    tree = await services.tenants.tree(
        LoadBalancerId(load_balancer_id), project_id=call.caller.scope, statuses_only=True
    )
    return StreamedAnswer(status_pieces(tree))


async def show_statistics(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/stats: show traffic totals over the load balancer's listeners. Raises
    :class:`NotFound`.
    """
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    await services.tenants.get(LoadBalancer, load_balancer_id, project_id=call.caller.scope)
    return json_answer({"stats": statistics_view(await services.tenants.statistics(LoadBalancerId(load_balancer_id)))})
