"""A member that is a VIP of the same device is refused by the device's driver, whichever of both comes first."""

import pytest

from tests.devices.bigip.reconcile.test_chaining import BEHIND, in_front
from tests.devices.bigip.rig import BigIpRig
from tests.devices.bigip.test_detaching import refused
from tests.devices.services import batch, gone


@pytest.mark.parametrize("first", ["VIP", "member", "both"])
async def test_of_a_member_and_a_vip_at_its_address_one_is_in_error_until_the_other_is_gone(
    rig: BigIpRig, first: str
) -> None:
    agent = rig.owner()
    order = {"VIP": (BEHIND, in_front()), "member": (in_front(), BEHIND), "both": (BEHIND, in_front())}[first]
    if first == "both":
        (error,) = refused(await agent.apply(batch(*order, complete=True)))
    else:
        assert not refused(await agent.apply(batch(order[0], complete=True)))
        (error,) = refused(await agent.apply(batch(order[1])))
    assert "a BIG-IP does not send to addresses that it answers for itself" in error
    assert refused(await agent.apply(batch(*order, complete=True)))
    winner, loser = order
    assert not refused(await agent.apply(batch(gone(int(winner.load_balancer_id[-1])))))
    assert not refused(await agent.apply(batch(loser)))
    assert (await rig.owner().apply(batch(loser, complete=True))).writes == 0
