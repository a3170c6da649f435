"""Refuse load balancers whose members would be VIPs of the same devices, where devices cannot send to their
own VIPs.
"""

from collections.abc import Iterable, Sequence

from evenkeel.api.common.provider_lookup import ServedObject
from evenkeel.api.common.services import Services
from evenkeel.core.devices.capabilities import Capabilities, raise_first_problem
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.chaining import AddressInSubnet, ChainQuery, is_chainable, member_problem
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancerTree, Member, Vip


async def check_new_members(services: Services, served: ServedObject, members: Sequence[Member]) -> ChainQuery | None:
    """Check that no new member of a load balancer is a VIP of the same devices. Raises :class:`Unsupported` naming the
    address. Returns what the transaction of the write has to check again, because another request may come in between;
    None: nothing.
    """
    by = served.by
    return await check_chaining(
        services,
        served.table,
        environment=by.provider,
        project_id=by.project_id,
        load_balancer_id=by.load_balancer_id,
        members=members,
    )


async def check_chaining(
    services: Services,
    table: Capabilities,
    *,
    environment: str,
    project_id: ProjectId,
    load_balancer_id: LoadBalancerId = LoadBalancerId(""),
    members: Sequence[Member] = (),
    vips: Iterable[Vip | VipPlan] = (),
) -> ChainQuery | None:
    """Check that no member is a VIP of the same devices, and that no VIP is a member's address there. ``members``,
    ``vips``: those that the load balancer gets; ``load_balancer_id`` empty: it is new.

    Raises :class:`Unsupported` naming the address. Returns what the transaction of the write has to check again,
    because another request may come in between; None: nothing.
    """
    placed = tuple(
        AddressInSubnet(address=each.address, subnet_id=each.subnet_id)
        for each in vips
        if each.address and is_chainable(each.address)
    )
    members = [row for row in members if is_chainable(row.address)]
    if table.chaining or not (members or placed):
        return None
    own = {each.address for each in placed}
    raise_first_problem(environment, (member_problem(row.address) for row in members if row.address in own))
    query = ChainQuery(
        environment=environment,
        project_id=project_id,
        load_balancer_id=load_balancer_id,
        members=tuple(AddressInSubnet(address=row.address, subnet_id=row.subnet_id or "") for row in members),
        vips=placed,
    )
    raise_first_problem(environment, (await services.tenants.find_chained(query)).problems())
    return query


def new_members(tree: LoadBalancerTree, before: LoadBalancerTree | None) -> list[Member]:
    """Return the members whose addresses the load balancer did not send to in ``before``; all members if
    ``before`` is None.
    """
    there = () if before is None else {member.address for member in before.members if not member.deleted}
    return [member for member in tree.members if member.address not in there]
