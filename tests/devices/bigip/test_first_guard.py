"""The guard of a new partition, which comes with the partition's first objects."""

import asyncio
from typing import Any

import pytest

from evenkeel.core.kit.errors import StaleOwner
from evenkeel.core.resources.model import Vip
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.naming import parse_guard
from icontrol_emulator.faults import Fault
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import PROJECT, batch, gone, service, session_of


async def guards(rig: BigIpRig) -> list[int]:
    names = await rig.hands.items("ltm/data-group/internal")
    return [guard.epoch for name in names if (guard := parse_guard(name)) is not None]


async def test_first_guard_is_made_by_the_transaction_with_the_first_objects(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.take_over(PROJECT, 1, session_of(1))
    assert not await guards(rig)
    await agent.apply(batch(service(), complete=True))
    assert await guards(rig) == [1]
    assert len(rig.commits()) == 1


async def test_first_guard_is_made_where_there_is_nothing_to_write(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.take_over(PROJECT, 1, session_of(1))
    await agent.apply(batch(complete=True))
    assert await guards(rig) == [1]


async def test_an_owner_that_has_not_made_it_yet_is_stale_once_another_has(rig: BigIpRig) -> None:
    late, heir = rig.owner(), rig.owner()
    await late.take_over(PROJECT, 1, session_of(1))
    await heir.take_over(PROJECT, 2, session_of(2))
    assert await guards(rig) == [2]
    for content in (batch(service(2)), batch(service(2), complete=True), batch(gone())):
        with pytest.raises(StaleOwner):
            await late.apply(content)
    await heir.apply(batch(service(), epoch=2, complete=True))
    with pytest.raises(StaleOwner):
        await late.apply(batch(service(2)))
    assert await guards(rig) == [2]


async def test_of_two_owners_that_make_it_at_once_the_newer_one_owns(rig: BigIpRig) -> None:
    older, newer = rig.owner(), rig.owner()
    await older.take_over(PROJECT, 1, session_of(1))
    await newer.take_over(PROJECT, 2, session_of(2))
    found = await asyncio.gather(
        older.apply(batch(service(), epoch=1, complete=True)),
        newer.apply(batch(service(), epoch=2, complete=True)),
        return_exceptions=True,
    )
    assert isinstance(found[0], StaleOwner)
    assert not isinstance(found[1], BaseException)
    assert await guards(rig) == [2]


async def test_an_owner_whose_partition_came_again_meanwhile_takes_it_only_by_a_newer_epoch(rig: BigIpRig) -> None:
    late, heir = rig.owner(), rig.owner()
    await late.take_over(PROJECT, 1, session_of(1))
    await heir.take_over(PROJECT, 2, session_of(2))
    await heir.apply(batch(epoch=2, complete=True))
    assert not (await heir.retire(PROJECT, 2, session_of(2))).left
    with pytest.raises(StaleOwner):
        await late.apply(batch(service(), complete=True))
    assert not await guards(rig)


async def test_first_objects_that_the_device_refuses_cost_only_their_load_balancer(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.take_over(PROJECT, 1, session_of(1))
    await rig.hands.call("POST", "ltm/virtual", {"name": "somebody-elses", "destination": "10.99.0.1:80"})
    bad = service(2, vip=Vip(address="10.99.0.1", subnet_id="s", network_id="n", port_id="p"))
    outcome = await agent.apply(batch(service(), bad, complete=True))
    errors = {one.load_balancer_id: one.error for one in outcome.outcomes}
    assert not errors["lb-1"] and errors["lb-2"]
    assert await guards(rig) == [1]
    assert (await agent.apply(batch(service()))).writes == 0


async def test_state_discarded_while_the_device_refuses_the_first_objects_is_read_again(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another tenant's pass finds the device unreachable meanwhile."""
    agent = rig.owner()
    await agent.take_over(PROJECT, 1, session_of(1))
    write = IControl.write

    async def discarding(self: IControl, method: str, path: str, body: Any = None, **given: Any) -> dict[str, Any]:
        agent.forget(PROJECT)
        return await write(self, method, path, body, **given)

    monkeypatch.setattr(IControl, "write", discarding)
    await rig.hands.call("POST", "ltm/virtual", {"name": "somebody-elses", "destination": "10.99.0.1:80"})
    bad = service(2, vip=Vip(address="10.99.0.1", subnet_id="s", network_id="n", port_id="p"))
    outcome = await agent.apply(batch(service(), bad, complete=True))
    errors = {one.load_balancer_id: one.error for one in outcome.outcomes}
    assert not errors["lb-1"] and errors["lb-2"]
    assert await guards(rig) == [1]


async def test_an_owner_that_made_it_without_an_answer_goes_on(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.take_over(PROJECT, 1, session_of(1))
    rig.emulator.faults.add(Fault(kind="drop_after", method="PATCH", path="/mgmt/tm/transaction/[0-9]+$", count=1))
    outcome = await agent.apply(batch(service(), complete=True))
    assert not outcome.outcomes[0].error
    assert await guards(rig) == [1]
    assert len(rig.commits()) == 1


async def test_a_partition_goes_only_after_a_pass_made_it(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.take_over(PROJECT, 1, session_of(1))
    assert (await agent.retire(PROJECT, 1, session_of(1))).left
    await agent.apply(batch(complete=True))
    assert not (await agent.retire(PROJECT, 1, session_of(1))).left
