"""The batch that replaces all members of a pool. For the other operations see :mod:`.routes`."""

from msgspec.structs import asdict

from evenkeel.api.common.resources import find_parent
from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.octavia.resources import POOLS
from evenkeel.api.responses.answers import Answer
from evenkeel.api.usecases import change_requests
from evenkeel.api.usecases.chaining import check_new_members
from evenkeel.api.usecases.changes import batch_rows
from evenkeel.api.usecases.member_subnets import check_subnets
from evenkeel.api.usecases.members import check_sriov
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.api.usecases.writes import read_all_children
from evenkeel.core.devices.capabilities import ip_version_problems, member_problems
from evenkeel.core.resources.model import LoadBalancer, Member, Pool


async def replace_members(services: Services, call: Call, body: change_requests.MemberBatchBody) -> Answer:
    """Handle PUT /pools/{id}/members: replace the pool's members by those in the body; with ``additive_only``
    other members stay. Answers 202.

    Raises :class:`NotFound`, :class:`Invalid`, :class:`Unsupported`, :class:`Conflict`, :class:`QuotaReached`,
    :class:`NetworkUnavailable`, and :class:`InvalidQuery` for a bad ``additive_only``; then no member has changed.
    """
    additive_only = call.query_flag("additive_only")
    pool: Pool = await find_parent(POOLS, services, call)
    before = await read_all_children(services, Member, pool.id)
    rows = batch_rows(
        body.members,
        before,
        ParentContext(pool.load_balancer_id, pool.project_id, services.addresses, services.tls),
        pool_id=pool.id,
        new_id=services.new_id,
        monitored=pool.health_monitor_id is not None,
    )
    served = await services.providers.find_served_object(LoadBalancer, pool.load_balancer_id, call.caller.scope)
    for row in rows:
        served.raise_first_problem(member_problems(served.table, asdict(row)))
    served.raise_first_problem(ip_version_problems(served.table, served.by.vip_address, pool.protocol, rows))
    await check_sriov(services, pool.load_balancer_id, body.members)
    await check_subnets(services, call.caller.scope, rows)
    there = {member.address for member in before}
    unchained = await check_new_members(services, served, [row for row in rows if row.address not in there])
    accepted = await services.tenants.replace_members(
        pool.id, rows, additive_only=additive_only, project_id=call.caller.scope, unchained=unchained
    )
    await services.change_accepted(accepted)
    return Answer(202)
