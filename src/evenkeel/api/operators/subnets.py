"""Handlers of the operators' API for address pools of the built-in network."""

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.operators import views
from evenkeel.api.operators.query import query_options
from evenkeel.api.operators.requests import SubnetChangeBody, SubnetNewBody
from evenkeel.api.operators.subnet_rules import set_device_addresses, subnet_from_body
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.core.kit.errors import NotFound


async def list_subnets(services: Services, call: Call) -> Answer:
    """Handle GET /subnets: list the subnets of the built-in network, which are address pools for VIPs. Raises
    :class:`InvalidQuery` for unknown query parameters.
    """
    query_options(call, ())
    return json_answer({"subnets": [views.subnet_view(row) for row in await services.operators.subnets()]})


async def create_subnet(services: Services, call: Call, body: SubnetNewBody) -> Answer:
    """Handle POST /subnets: add an address pool; answers 201. Raises :class:`Invalid`, and :class:`Conflict`
    if the id or name exists.
    """
    row = await services.operators.add_subnet(subnet_from_body(body.subnet, new_id=services.new_id))
    return json_answer({"subnet": views.subnet_view(row)}, 201)


async def change_subnet(services: Services, call: Call, body: SubnetChangeBody) -> Answer:
    """Handle PUT /subnets/{id}: set the addresses for devices. Raises :class:`NotFound`, :class:`Invalid`,
    and :class:`Conflict` if a load balancer or device has an address that this forbids.
    """
    id_ = object_id(call, "Subnet")
    known = next((row for row in await services.operators.subnets() if row.id == id_), None)
    if known is None:
        raise NotFound("Subnet", id_)
    row = set_device_addresses(known, body.subnet.device_addresses)
    await services.operators.set_device_addresses(row)
    return json_answer({"subnet": views.subnet_view(row)})


async def delete_subnet(services: Services, call: Call) -> Answer:
    """Handle DELETE /subnets/{id}: delete an address pool; answers 204. Raises :class:`NotFound`,
    :class:`Conflict` while a load balancer uses it.
    """
    await services.operators.delete_subnet(object_id(call, "Subnet"))
    return NO_CONTENT
