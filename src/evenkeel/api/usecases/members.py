"""Create and change members of pools."""

from collections.abc import Iterable

from msgspec.structs import asdict

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.usecases import change_requests, requests
from evenkeel.api.usecases.build import member_row
from evenkeel.api.usecases.chaining import check_new_members
from evenkeel.api.usecases.changes import member_changes
from evenkeel.api.usecases.flavor_data import flavor_data_of
from evenkeel.api.usecases.member_subnets import check_subnets
from evenkeel.api.usecases.parents import ParentContext
from evenkeel.api.usecases.writes import object_after_write, write_changes
from evenkeel.core.devices.capabilities import ip_version_problems, member_problems, needs_capability_check
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.resources.model import LoadBalancer, Member, Pool


async def check_sriov(
    services: Services,
    load_balancer_id: LoadBalancerId,
    bodies: Iterable[requests.MemberNew | change_requests.MemberBatchItem],
) -> None:
    """Check that the load balancer's flavor allows the SR-IOV ports of the request, if it has any. Raises
    :class:`Invalid` if it does not, :class:`NotFound` for the load balancer.
    """
    if not any(body.request_sriov is True for body in bodies):
        return
    if (await flavor_data_of(services, load_balancer_id)).get("allow_member_sriov") is not True:
        raise Invalid("The load balancer flavor does not allow SR-IOV member ports. (request_sriov)")


async def make_member(services: Services, call: Call, pool: Pool, wanted: requests.MemberNew) -> Member:
    """Add a member to the pool; returns the stored member. Raises :class:`NotFound` for its subnet,
    :class:`Invalid`, :class:`Unsupported`, :class:`Conflict` for an address and port that the pool has,
    :class:`QuotaReached`, :class:`NetworkUnavailable`.
    """
    row = member_row(
        wanted,
        ParentContext(pool.load_balancer_id, pool.project_id, services.addresses, services.tls),
        pool_id=pool.id,
        new_id=services.new_id,
        monitored=pool.health_monitor_id is not None,
    )
    served = await services.providers.find_served_object(LoadBalancer, pool.load_balancer_id, call.caller.scope)
    served.raise_first_problem(member_problems(served.table, asdict(row)))
    served.raise_first_problem(ip_version_problems(served.table, served.by.vip_address, pool.protocol, [row]))
    await check_sriov(services, pool.load_balancer_id, [wanted])
    await check_subnets(services, call.caller.scope, [row])
    unchained = await check_new_members(services, served, [row])
    accepted = await services.tenants.add_members((row,), project_id=call.caller.scope, unchained=unchained)
    await services.change_accepted(accepted)
    made: Member = await object_after_write(services, call, Member, accepted, row.id, pool.id)
    return made


async def change_member(
    services: Services, call: Call, pool_id: str, member_id: str, body: change_requests.MemberChange
) -> Member:
    """Change a member of the pool; returns the stored member. Raises :class:`NotFound`, :class:`Invalid`,
    :class:`Unsupported`, :class:`Conflict`.
    """
    changes = member_changes(body, services.addresses)
    if needs_capability_check(changes):
        served = await services.providers.find_served_object(Member, member_id, call.caller.scope)
        served.raise_first_problem(member_problems(served.table, changes))
    row: Member = await write_changes(services, call, Member, member_id, changes, pool_id)
    return row
