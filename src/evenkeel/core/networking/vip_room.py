"""Choice of another subnet of the same network for a VIP if a subnet has no free address."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.networking.vip_plans import VipPlan

FULL = "no_free_address"
"""Code of the error for a subnet or network without a free address."""

T = TypeVar("T")


def no_free_address_error(plan: VipPlan) -> Conflict:
    """Return the error for a subnet of which all addresses are allocated."""
    return Conflict(f"Subnet {plan.subnet_id} has no free VIP address.", code=FULL)


async def first_with_free_address(plans: Sequence[VipPlan], take: Callable[[VipPlan], Awaitable[T]]) -> T:
    """Return the result of ``take`` for the first plan whose subnet has a free address. ``plans``: at least
    one.

    Raises the errors of ``take``; if several subnets were tried and all are full, :class:`Conflict` with code
    :data:`FULL` that names their network.
    """
    # The last plan is apart, because its error is the one that the tenant gets.
    for plan in plans[:-1]:
        try:
            return await take(plan)
        except Conflict as error:
            if error.code != FULL:
                raise
    try:
        return await take(plans[-1])
    except Conflict as error:
        if error.code != FULL or len(plans) == 1:
            raise
        raise Conflict(f"Network {plans[0].network_id} has no free VIP address.", code=FULL) from error
