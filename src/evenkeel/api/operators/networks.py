"""Declared networks, to which devices are attached."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators import views
from evenkeel.api.operators.network_rules import apply_network_change, network_from_body
from evenkeel.api.operators.query import query_options
from evenkeel.api.operators.requests import NetworkChangeBody, NetworkNewBody
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.networking.networks import DeclaredNetwork


async def list_networks(services: Services, call: Call) -> Answer:
    """Handle GET /networks: list declared networks. Raises :class:`InvalidQuery` for unknown query parameters."""
    query_options(call, ())
    return json_answer({"networks": [views.network_view(row) for row in await services.operators.networks()]})


async def show_network(services: Services, call: Call) -> Answer:
    """Handle GET /networks/{id}: show a declared network. Raises :class:`NotFound`."""
    return json_answer({"network": views.network_view(await _find_network(services, call))})


async def create_network(services: Services, call: Call, body: NetworkNewBody) -> Answer:
    """Handle POST /networks: declare a network; answers 201. Raises :class:`Invalid`, and :class:`Conflict`
    if the id, the name or the segment exists.
    """
    row = network_from_body(body.network, new_id=services.new_id)
    await services.operators.add_network(row)
    return json_answer({"network": views.network_view(row)}, 201)


async def change_network(services: Services, call: Call, body: NetworkChangeBody) -> Answer:
    """Handle PUT /networks/{id}: change a network, and have the load balancers on devices attached to it
    applied again. Raises :class:`NotFound`, :class:`Invalid`, and :class:`Conflict` if the name or the
    segment exists.
    """
    row = apply_network_change(await _find_network(services, call), body.network)
    for change in await services.operators.update_network(row):
        await services.change_accepted(change)
    return json_answer({"network": views.network_view(row)})


async def delete_network(services: Services, call: Call) -> Answer:
    """Handle DELETE /networks/{id}: delete a declared network; answers 204. Raises :class:`NotFound`,
    :class:`Conflict` while devices are attached to it.
    """
    await services.operators.delete_network(object_id(call, "Network"))
    return NO_CONTENT


async def _find_network(services: Services, call: Call) -> DeclaredNetwork:
    id_ = object_id(call, "Network")
    found = next((row for row in await services.operators.networks() if row.id == id_), None)
    if found is None:
        raise NotFound("Network", id_)
    return found
