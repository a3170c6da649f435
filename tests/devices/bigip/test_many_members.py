"""A pool in which more members change than one transaction should carry."""

import pytest

from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import batch, member, pool, service

AT_ONCE = 8


async def test_members_come_and_go_over_several_transactions_and_nothing_is_left(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.devices.bigip.reconcile.partition_pass.OPERATIONS_PER_TRANSACTION_MAX", AT_ONCE)
    agent = rig.owner()
    await agent.apply(batch(service(1, members=1), complete=True))
    for revision, places in enumerate((range(1, 31), range(25, 45), range(40, 42)), start=2):
        wanted = service(1, revision=revision, pools=(pool(1, members=tuple(member(1, place) for place in places)),))
        before = len(rig.commits())
        outcome = await agent.apply(batch(wanted))
        assert not outcome.outcomes[0].error
        commits = rig.commits()[before:]
        assert len(commits) > 1
        (held,) = (await rig.hands.items("ltm/pool")).values()
        assert len(held["membersReference"]["items"]) == len(places)
        assert len(await rig.hands.items("ltm/node", "Common")) == len(places)
        again = await agent.apply(batch(wanted, complete=True))
        assert again.writes == 0


async def test_a_member_that_is_refused_is_the_load_balancers_error(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenkeel.devices.bigip.reconcile.partition_pass.OPERATIONS_PER_TRANSACTION_MAX", AT_ONCE)
    agent = rig.owner()
    await agent.apply(batch(service(1, members=1), complete=True))
    places = [member(1, place) for place in range(1, 31)]
    bad = member(1, 31, address="255.255.255.255")
    wanted = service(1, revision=2, pools=(pool(1, members=(*places, bad)),))
    outcome = await agent.apply(batch(wanted, service(2, members=1)))
    assert {one.load_balancer_id: bool(one.error) for one in outcome.outcomes} == {"lb-1": True, "lb-2": False}
