"""Guards that should not be there: of one epoch twice, of epochs that nobody can have; and devices
that two device groups name."""

import asyncio

import pytest

from evenkeel.core.control.epochs import EPOCH_MAX
from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.kit.errors import DeviceRejected, StaleOwner
from evenkeel.devices.bigip.naming import Guard, build_guard
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, at
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, service, session_of

DATA_GROUP = "ltm/data-group/internal"


async def add_guard(hands: Hands, name: str, mark: str = "evenkeel:dev/1:guard") -> None:
    body = {"name": name, "partition": PARTITION, "type": "string", "description": mark}
    await hands.call("POST", DATA_GROUP, body)


async def guards(hands: Hands) -> list[str]:
    return sorted(name for name in await hands.items(DATA_GROUP) if name.startswith("evenkeel_guard_"))


@pytest.mark.parametrize("epoch", [EPOCH_MAX + 1, 2**63 - 1, 10**40])
async def test_a_guard_of_an_epoch_that_nobody_can_have_is_removed(rig: BigIpRig, epoch: int) -> None:
    await rig.owner().apply(batch(service(), epoch=4))
    content = await rig.content()
    for guard in (Guard(epoch=epoch), build_guard(epoch, "attacker")):
        await add_guard(rig.hands, guard.name)
    agent = rig.agent()
    await agent.take_over(PROJECT, 5, session_of(5))
    assert not (await agent.apply(batch(service(), epoch=5, complete=True))).writes
    assert await guards(rig.hands) == [build_guard(5, session_of(5)).name]
    assert await rig.content() == content


async def test_an_owner_at_an_epoch_that_nobody_can_have_is_refused(rig: BigIpRig) -> None:
    await rig.owner().apply(batch(service(), epoch=4))
    content = await rig.content()
    for impossible in (EPOCH_MAX + 1, 2**63 - 1):
        with pytest.raises(DeviceRejected, match=f"epoch {impossible} is out of range; 0 to {EPOCH_MAX} are allowed"):
            await rig.agent().take_over(PROJECT, impossible, "attacker")
        with pytest.raises(DeviceRejected):
            await rig.agent().apply(batch(gone(), epoch=impossible, session_id="attacker", complete=True))
    assert await rig.content() == content
    assert await guards(rig.hands) == [build_guard(4, session_of(4)).name]


async def test_an_impossible_guard_beside_ours_is_removed_by_its_owner(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), epoch=4))
    await add_guard(rig.hands, Guard(epoch=2**62).name)
    assert not (await agent.apply(batch(service(members=1), epoch=4, complete=True))).outcomes[0].error
    assert await guards(rig.hands) == [build_guard(4, session_of(4)).name]


async def test_a_guard_of_the_largest_epoch_is_believed(rig: BigIpRig) -> None:
    await rig.owner().apply(batch(service(), epoch=4))
    await add_guard(rig.hands, Guard(epoch=EPOCH_MAX).name)
    with pytest.raises(StaleOwner) as refusal:
        await rig.agent().take_over(PROJECT, 5, session_of(5))
    assert refusal.value.seen_epoch == EPOCH_MAX


async def test_an_impossible_guard_in_one_partition_is_no_trouble_in_another(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), epoch=4))
    await add_guard(rig.hands, Guard(epoch=2**63).name)
    other = PartitionBatch(
        project_id="other", epoch=1, session_id="s", services=(service(7, project_id="other"),), complete=True
    )
    assert not (await agent.apply(other)).outcomes[0].error


async def test_the_device_itself_refuses_the_second_session_of_an_epoch(rig: BigIpRig) -> None:
    """The first one reads nothing before it writes: it believes in what it remembers."""
    first, second = rig.agent(), rig.agent()
    await first.take_over(PROJECT, 3, "first")
    await first.apply(batch(service(), epoch=3, session_id="first", complete=True))
    for guard in await guards(rig.hands):
        await rig.hands.call("DELETE", f"{DATA_GROUP}/~{PARTITION}~{guard}")
    await second.take_over(PROJECT, 3, "second")
    await second.apply(batch(service(members=1), epoch=3, session_id="second", complete=True))
    content = await rig.content()
    refused = len(rig.emulator.write_log.entries(after=0))
    with pytest.raises(StaleOwner) as refusal:
        await first.apply(batch(service(members=5), epoch=3, session_id="first"))
    assert refusal.value.seen_epoch == 3
    late = rig.emulator.write_log.entries(after=0)[refused:]
    assert "transaction_refused" in [entry["event"] for entry in late]
    with pytest.raises(StaleOwner):
        await first.apply(batch(gone(), epoch=3, session_id="first"))
    assert await rig.content() == content


async def test_two_guards_of_one_epoch_are_stale_for_both_owners(rig: BigIpRig) -> None:
    await rig.owner().apply(batch(service(), epoch=3, session_id="first"))
    await add_guard(rig.hands, build_guard(3, "second").name)
    for session in ("first", "second"):
        with pytest.raises(StaleOwner) as refusal:
            await rig.agent().take_over(PROJECT, 3, session)
        assert refusal.value.seen_epoch == 3
        with pytest.raises(StaleOwner):
            await rig.agent().apply(batch(service(2), epoch=3, session_id=session, complete=True))
    above = rig.owner()
    await above.take_over(PROJECT, 4, "first")
    assert await guards(rig.hands) == [build_guard(4, "first").name]


# -- device groups of one environment


async def test_a_group_refuses_a_device_that_is_another_groups(rig: BigIpRig) -> None:
    assert not (await rig.agent().check())[0].problem
    state = (await rig.agent(group_number=2).check())[0]
    assert state.reachable and state.problem == "belongs to device group dev/1; this is device group dev/2"
    assert not (await rig.agent().check())[0].problem
    assert not (await rig.agent(environment="prod").check())[0].problem


async def test_of_two_groups_on_one_device_the_second_one_touches_nothing(rig: BigIpRig) -> None:
    first, second = rig.owner(), rig.owner(group_number=2)
    await first.apply(batch(service(), complete=True))
    content = await rig.content()
    for epoch in (1, 7):
        with pytest.raises(DeviceRejected, match="belongs to device group dev/1; this is device group dev/2"):
            await second.take_over(PROJECT, epoch, "another")
        for services in ((service(2),), (), (gone(),)):
            with pytest.raises(DeviceRejected, match="dev/1"):
                await second.apply(batch(*services, epoch=epoch, session_id="another", complete=True))
    assert await rig.content() == content
    assert not (await second.observe()).statuses
    assert "dev/1" in (await second.observe()).devices[0].problem
    assert (await first.apply(batch(service(), complete=True))).writes == 0


async def test_a_partition_that_another_group_guards_is_refused_also_without_a_claim(rig: BigIpRig) -> None:
    await rig.owner().apply(batch(service(), complete=True))
    content = await rig.content()
    await rig.hands.call("DELETE", f"{DATA_GROUP}/~Common~evenkeel_owner_dev")
    second = rig.owner(group_number=2)
    with pytest.raises(DeviceRejected, match=f"partition {PARTITION} belongs to device group dev/1; .* dev/2"):
        await second.take_over(PROJECT, 9, "another")
    with pytest.raises(DeviceRejected, match="dev/1"):
        await second.apply(batch(epoch=9, session_id="another", complete=True))
    assert await rig.content() == content


async def test_a_partition_that_another_group_made_is_refused_also_without_guards(rig: BigIpRig) -> None:
    await rig.owner().apply(batch(service(), complete=True))
    content = await rig.content()
    await rig.hands.call("DELETE", f"{DATA_GROUP}/~Common~evenkeel_owner_dev")
    for name in ("evenkeel_guard", build_guard(1, session_of(1)).name):
        await rig.hands.call("DELETE", f"{DATA_GROUP}/~{PARTITION}~{name}")
    for epoch in (1, 9):
        with pytest.raises(DeviceRejected, match=f"partition {PARTITION} belongs to device group dev/1; .* dev/2"):
            await rig.agent(group_number=2).take_over(PROJECT, epoch, "another")
    assert await rig.content() == content
    assert not await guards(rig.hands)


async def test_object_with_another_groups_mark_is_no_orphan(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), service(2), complete=True))
    other = {"description": "evenkeel:dev/2:pool:lb-2:pool-2"}
    await rig.hands.call("PATCH", at("ltm/virtual", "listener-2"), {"pool": ""})
    await rig.hands.call("PATCH", at("ltm/pool", "pool-2"), other)
    await agent.apply(batch(service(), complete=True))
    assert "dev_pool-2" in await rig.hands.items("ltm/pool")
    assert "dev/2" in (await agent.apply(batch(service(2)))).outcomes[0].error


async def test_two_first_agents_of_two_groups_do_not_both_get_the_device(rig: BigIpRig) -> None:
    """The claim is made by a request that only one of them can win."""
    one, other = Owner(rig.agent()), Owner(rig.agent(group_number=2))
    states = await asyncio.gather(one.check(), other.check())
    assert sorted(bool(state.problem) for (state,) in states) == [False, True]


async def test_devices_tell_who_they_are(pair: BigIpRig) -> None:
    agent = pair.agent()
    identities = [state.identity for state in await agent.check()]
    assert len(set(identities)) == 2 and all(identities)
    assert [state.identity for state in (await agent.observe()).devices] == identities
