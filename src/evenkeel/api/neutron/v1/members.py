"""LBaaS v1 members: create and change."""

from msgspec import UNSET

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.errors import NeutronRefusal
from evenkeel.api.neutron.v1.requests import V1MemberChange, V1MemberNew
from evenkeel.api.usecases.change_requests import MemberChange
from evenkeel.api.usecases.members import change_member, make_member
from evenkeel.api.usecases.pool_requests import MemberNew
from evenkeel.core.resources.model import Member, Pool


async def make_member_of_v1(services: Services, call: Call, wanted: V1MemberNew) -> Member:
    """Create a member of the pool that the request names, on the pool's subnet; returns the stored member.
    Raises :class:`NotFound` for the pool, and the errors of :func:`make_member`.
    """
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
    return await make_member(services, call, pool, row)


async def change_member_of_v1(services: Services, call: Call, member_id: str, wanted: V1MemberChange) -> Member:
    """Change a member; returns the stored member. Raises :class:`NotFound`, :class:`NeutronRefusal` (409) for
    another pool, and the errors of :func:`change_member`.
    """
    row: Member = await services.tenants.get(Member, member_id, project_id=call.caller.scope)
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
    return await change_member(services, call, row.pool_id, row.id, changes)
