"""LBaaS v2 members of a pool: create, one or several together, and change."""

from collections.abc import Sequence

from msgspec.structs import asdict

from evenkeel.api.common.resources import find_parent, object_answer
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.errors import NeutronRefusal
from evenkeel.api.neutron.v2 import change_requests, requests
from evenkeel.api.neutron.v2.names import ENTITY
from evenkeel.api.neutron.v2.resources import MEMBERS, POOLS, convert_body
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases import change_requests as octavia_changes
from evenkeel.api.usecases import requests as octavia
from evenkeel.api.usecases.build import member_row
from evenkeel.api.usecases.chaining import check_new_members
from evenkeel.api.usecases.member_subnets import missing_subnet
from evenkeel.api.usecases.members import change_member
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.core.devices.capabilities import ip_version_problems, member_problems
from evenkeel.core.resources.model import LoadBalancer, Member, Pool


async def create_members(services: Services, call: Call, body: requests.V2MemberNewBody) -> Answer:
    """Handle POST /pools/{id}/members: create one member or several, all or none; answers 201 with them.
    Raises :class:`NotFound` for the pool, :class:`NeutronRefusal` for a subnet, :class:`Invalid`,
    :class:`Unsupported`, :class:`Conflict`, :class:`QuotaReached`.
    """
    wanted = body.members if body.member is None else [body.member]
    made = await _create_members(services, call, wanted or [])
    if body.member is not None:
        return object_answer(MEMBERS, made[0], 201)
    return json_answer({MEMBERS.plural: [MEMBERS.view(row) for row in made]}, 201)


async def _create_members(services: Services, call: Call, wanted: Sequence[requests.V2MemberNew]) -> list[Member]:
    scope = call.caller.scope
    pool: Pool = await find_parent(POOLS, services, call)
    await check_subnets(services, call, wanted)
    place = ParentContext(pool.load_balancer_id, pool.project_id, services.addresses, services.tls)
    rows = [
        member_row(
            convert_body(octavia.MemberNew, each),
            place,
            pool_id=pool.id,
            new_id=services.new_id,
            monitored=pool.health_monitor_id is not None,
        )
        for each in wanted
    ]
    served = await services.providers.find_served_object(LoadBalancer, pool.load_balancer_id, scope)
    for row in rows:
        served.raise_first_problem(member_problems(served.table, asdict(row)))
    served.raise_first_problem(ip_version_problems(served.table, served.by.vip_address, pool.protocol, rows))
    unchained = await check_new_members(services, served, rows)
    accepted = await services.tenants.add_members(rows, project_id=scope, unchained=unchained)
    await services.change_accepted(accepted)
    return [row for row in accepted.resources if isinstance(row, Member)]


async def check_subnets(services: Services, call: Call, wanted: Sequence[requests.V2MemberNew]) -> None:
    """Check that the caller can see the members' subnets. Raises :class:`NeutronRefusal` (404),
    :class:`NetworkUnavailable`.
    """
    missing = await missing_subnet(services, call.caller.scope, (each.subnet_id for each in wanted))
    if missing is not None:
        raise NeutronRefusal(404, ENTITY, f"Subnet {missing} could not be found")


async def change_member_of_v2(
    services: Services, call: Call, pool_id: str, member_id: str, changes: change_requests.V2MemberChange
) -> Member:
    return await change_member(services, call, pool_id, member_id, convert_body(octavia_changes.MemberChange, changes))
