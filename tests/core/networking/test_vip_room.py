import pytest

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.networking.vip_room import first_with_free_address, no_free_address_error

FIRST, SECOND = (VipPlan(subnet_id=name, network_id="n", port_id="") for name in ("first", "second"))


def take_from(*free: VipPlan):
    async def take(plan: VipPlan) -> str:
        if plan not in free:
            raise no_free_address_error(plan)
        return plan.subnet_id

    return take


async def test_the_first_subnet_with_room_is_used():
    assert await first_with_free_address([FIRST, SECOND], take_from(FIRST, SECOND)) == "first"
    assert await first_with_free_address([FIRST, SECOND], take_from(SECOND)) == "second"


async def test_full_subnets_are_named_and_several_by_their_network():
    with pytest.raises(Conflict, match="Subnet first has no free VIP address"):
        await first_with_free_address([FIRST], take_from())
    with pytest.raises(Conflict, match="Network n has no free VIP address"):
        await first_with_free_address([FIRST, SECOND], take_from())


async def test_another_conflict_ends_the_search():
    async def take(plan: VipPlan) -> str:
        raise Conflict(plan.subnet_id)

    with pytest.raises(Conflict, match="first"):
        await first_with_free_address([FIRST, SECOND], take)
