"""LBaaS v1 members: create, change, delete."""

from msgspec import UNSET

from evenkeel.api.common.resources import object_id
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.errors import NeutronRefusal
from evenkeel.api.neutron.v1.lists import MEMBERS
from evenkeel.api.neutron.v1.requests import V1MemberChangeBody, V1MemberNewBody
from evenkeel.api.responses.answers import NO_CONTENT, Answer, json_answer
from evenkeel.api.usecases.change_requests import MemberChange
from evenkeel.api.usecases.members import change_member, make_member
from evenkeel.api.usecases.pool_requests import MemberNew
from evenkeel.core.resources.model import Member, Pool


def _one(row: Member, status: int = 200) -> Answer:
    return json_answer({MEMBERS.name: MEMBERS.view(row)}, status)


async def create(services: Services, call: Call, body: V1MemberNewBody) -> Answer:
    """Handle POST /members; answers 201."""
    wanted = body.member
    pool: Pool = await services.tenants.get(Pool, wanted.pool_id, project_id=call.caller.scope)
    row = MemberNew(
        address=wanted.address,
        protocol_port=wanted.protocol_port,
        weight=wanted.weight,
        admin_state_up=wanted.admin_state_up,
        tenant_id=wanted.tenant_id,
        project_id=wanted.project_id,
        subnet_id=pool.subnet_id,
    )
    return _one(await make_member(services, call, pool, row), 201)


async def change(services: Services, call: Call, body: V1MemberChangeBody) -> Answer:
    """Handle PUT /members/{id}."""
    wanted = body.member
    row: Member = await services.tenants.get(Member, object_id(call, MEMBERS.title), project_id=call.caller.scope)
    if wanted.pool_id not in (UNSET, row.pool_id):
        # Read so that a pool that does not exist, or that the caller may not see, is reported as not found.
        await services.tenants.get(Pool, str(wanted.pool_id), project_id=call.caller.scope)
        raise NeutronRefusal(
            409,
            "MemberPoolChangeNotSupported",
            f"pool_id: member {row.id} cannot move to pool {wanted.pool_id}, which is served elsewhere. Delete the"
            " member and make one in that pool.",
        )
    changes = MemberChange(weight=wanted.weight, admin_state_up=wanted.admin_state_up)
    return _one(await change_member(services, call, row.pool_id, row.id, changes))


async def delete(services: Services, call: Call) -> Answer:
    """Handle DELETE /members/{id}; answers 204."""
    member_id = object_id(call, MEMBERS.title)
    await services.accepted(await services.tenants.delete_child(Member, member_id, project_id=call.caller.scope))
    return NO_CONTENT
