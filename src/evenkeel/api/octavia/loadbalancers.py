"""Octavia load balancers: failover, resize, statuses, statistics, deletion with children; the rest is in
:mod:`.routes`."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.octavia.resources import LOAD_BALANCERS
from evenkeel.api.octavia.showing import statistics_view
from evenkeel.api.octavia.trees import status_pieces
from evenkeel.api.responses.answers import Answer, StreamedAnswer, json_answer
from evenkeel.api.usecases.change_requests import LoadBalancerResizeBody
from evenkeel.api.usecases.load_balancers import remove_load_balancer, resize_load_balancer
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import LoadBalancer


async def delete_load_balancer_by_query(services: Services, call: Call, load_balancer_id: str) -> None:
    """Delete a load balancer; with its children only if the query has ``cascade``. Raises :class:`NotFound`,
    :class:`InvalidQuery`, :class:`Invalid` if it has children, :class:`Conflict` if it is held, mirrored or
    immutable.
    """
    await remove_load_balancer(services, call, LoadBalancerId(load_balancer_id), cascade=call.query_flag("cascade"))


async def fail_over_load_balancer(services: Services, call: Call) -> Answer:
    """Handle PUT /loadbalancers/{id}/failover: another agent serves the load balancer from now on, or it is
    applied to its device again. Answers 202. Raises :class:`NotFound`, :class:`Conflict` if it is held or
    marked deleted.
    """
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    accepted = await services.tenants.fail_over_load_balancer(
        LoadBalancerId(load_balancer_id), project_id=call.caller.scope
    )
    await services.failover_requested(accepted)
    return Answer(202)


async def handle_resize(services: Services, call: Call, body: LoadBalancerResizeBody) -> Answer:
    """Handle PUT /loadbalancers/{id}/resize: give the load balancer another flavor of its provider. Answers
    202. Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`,
    :class:`KeyManagerUnavailable`.
    """
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    await resize_load_balancer(services, call, LoadBalancerId(load_balancer_id), body.new_flavor_id)
    return Answer(202)


async def show_status_tree(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/status: stream the status tree. Raises :class:`NotFound`."""
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    tree = await services.tenants.tree(
        LoadBalancerId(load_balancer_id), project_id=call.caller.scope, statuses_only=True
    )
    return StreamedAnswer(status_pieces(tree))


async def show_load_balancer_statistics(services: Services, call: Call) -> Answer:
    """Handle GET /loadbalancers/{id}/stats: show traffic totals over the load balancer's listeners. Raises
    :class:`NotFound`.
    """
    load_balancer_id = object_id(call, LOAD_BALANCERS.title)
    await services.tenants.get(LoadBalancer, load_balancer_id, project_id=call.caller.scope)
    totals = await services.tenants.statistics(LoadBalancerId(load_balancer_id))
    return json_answer({"stats": statistics_view(totals)})
