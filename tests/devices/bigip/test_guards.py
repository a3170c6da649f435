"""Guards that should not be there: of one epoch twice, of epochs that nobody can have, of earlier versions; and devices
that two device groups name."""

import asyncio
from typing import Any

import pytest

from evenkeel.core.control.epochs import EPOCH_MAX
from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.kit.errors import DeviceRejected, GuardLost, StaleOwner
from evenkeel.devices.bigip.naming import Guard, guard_of
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
    for guard in (Guard(epoch=epoch), guard_of(epoch, "attacker")):
        await add_guard(rig.hands, guard.name)
    agent = rig.agent()
    await agent.take_over(PROJECT, 5, session_of(5))
    assert not (await agent.apply(batch(service(), epoch=5, complete=True))).writes
    assert await guards(rig.hands) == [guard_of(5, session_of(5)).name]
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
    assert await guards(rig.hands) == [guard_of(4, session_of(4)).name]


async def test_an_impossible_guard_beside_ours_is_removed_by_its_owner(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), epoch=4))
    await add_guard(rig.hands, Guard(epoch=2**62).name)
    assert not (await agent.apply(batch(service(members=1), epoch=4, complete=True))).outcomes[0].error
    assert await guards(rig.hands) == [guard_of(4, session_of(4)).name]


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
    await add_guard(rig.hands, guard_of(3, "second").name)
    for session in ("first", "second"):
        with pytest.raises(StaleOwner) as refusal:
            await rig.agent().take_over(PROJECT, 3, session)
        assert refusal.value.seen_epoch == 3
        with pytest.raises(StaleOwner):
            await rig.agent().apply(batch(service(2), epoch=3, session_id=session, complete=True))
    above = rig.owner()
    await above.take_over(PROJECT, 4, "first")
    assert await guards(rig.hands) == [guard_of(4, "first").name]


@pytest.mark.parametrize("epoch", [3, 4])
async def test_guards_and_marks_of_an_earlier_version_are_taken_over(rig: BigIpRig, epoch: int) -> None:
    """Guards without a session, marks without a group, no claim on the device."""
    await rig.owner().apply(batch(service(), service(2), epoch=3))
    content = await rig.content()
    await age(rig)
    agent = rig.agent()
    with pytest.raises(GuardLost):
        await agent.apply(batch(service(), epoch=epoch))
    await agent.take_over(PROJECT, epoch, session_of(epoch))
    outcome = await agent.apply(batch(service(), epoch=epoch, complete=True))
    assert not outcome.outcomes[0].error
    assert await guards(rig.hands) == [guard_of(epoch, session_of(epoch)).name]
    left = await rig.content()
    assert left == {name: item for name, item in content.items() if "-2" not in name and "10.2.2." not in name}


async def test_an_earlier_version_sees_that_a_partition_is_no_longer_its_own(rig: BigIpRig) -> None:
    """It knows no guard of today, but the sentinel's mark names an environment that is not its own."""
    await rig.owner().apply(batch(service(), epoch=3))
    await age(rig)
    await rig.owner().apply(batch(service(), epoch=4))
    sentinel = (await rig.hands.items(DATA_GROUP))["evenkeel_guard"]
    assert sentinel["description"].split(":")[1] == "dev/1"


async def age(rig: BigIpRig) -> None:
    """Everything of the partition as the version before made it."""
    for kind, name, item in await marked(rig):
        description = {"description": item["description"].replace(":dev/1:", ":dev:")}
        await rig.hands.call("PATCH", f"{kind}/~{PARTITION}~{name}", description)
    for name in await guards(rig.hands):
        await rig.hands.call("DELETE", f"{DATA_GROUP}/~{PARTITION}~{name}")
    await add_guard(rig.hands, "evenkeel_guard_3", "evenkeel:dev:guard")
    await rig.hands.call("DELETE", f"{DATA_GROUP}/~Common~evenkeel_owner_dev")


async def marked(rig: BigIpRig) -> list[tuple[str, str, dict[str, Any]]]:
    found = []
    for kind in ("ltm/virtual", "ltm/virtual-address", "ltm/pool", "ltm/monitor/http", DATA_GROUP):
        for name, item in (await rig.hands.items(kind)).items():
            if ":dev/1:" in str(item.get("description")):
                found.append((kind, name, item))
    return found


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
    for name in ("evenkeel_guard", guard_of(1, session_of(1)).name):
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
