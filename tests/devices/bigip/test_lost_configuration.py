"""Devices that lost what they were told, and what somebody changed by hand: looks show it, passes tell of it."""

from typing import Any

import pytest

from evenkeel.core.devices.device import Observation
from evenkeel.core.devices.service import ServiceMember
from evenkeel.core.kit.errors import OwnershipGuardLost
from evenkeel.core.resources.model import Vip
from icontrol_emulator import Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, at
from tests.devices.services import batch, gone, pool, service, session_of
from tests.waiting import eventually

EDITS: dict[str, tuple[str, str, Any, str]] = {
    "pool": ("PATCH", at("ltm/pool", "pool-1"), {"loadBalancingMode": "least-connections-member"}, "loadBalancingMode"),
    "monitor of a pool": ("PATCH", at("ltm/pool", "pool-1"), {"monitor": "/Common/tcp"}, "monitor"),
    "virtual switched off": ("PATCH", at("ltm/virtual", "listener-1"), {"disabled": True}, "enabled"),
    "virtual without pool": ("PATCH", at("ltm/virtual", "listener-1"), {"pool": ""}, "pool"),
    "address switched off": ("PATCH", at("ltm/virtual-address", "lb-1"), {"enabled": "no"}, "enabled"),
    "mark": ("PATCH", at("ltm/pool", "pool-1"), {"description": "mine"}, "mark"),
    "virtual gone": ("DELETE", at("ltm/virtual", "listener-1"), None, "virtual server dev_listener-1 was missing"),
    "member gone": (
        "DELETE",
        f"{at('ltm/pool', 'pool-1')}/members/~Common~dev_10.2.1.1:8080",
        None,
        "member /Common/dev_10.2.1.1:8080 of pool dev_pool-1 was missing; put back",
    ),
    "member more": (
        "POST",
        f"{at('ltm/pool', 'pool-1')}/members",
        {"name": "10.7.7.7:77", "partition": PARTITION},
        "member 10.7.7.7:77 of pool dev_pool-1 did not belong there; removed",
    ),
    "member off": (
        "PATCH",
        f"{at('ltm/pool', 'pool-1')}/members/~Common~dev_10.2.1.1:8080",
        {"session": "user-disabled"},
        "member /Common/dev_10.2.1.1:8080 of pool dev_pool-1 was changed (session); repaired",
    ),
}


def first_and_second(rig: BigIpRig) -> list[str]:
    return [device.url.removeprefix("https://") for device in rig.emulator.devices.values()]


def incarnations(seen: Observation) -> list[str]:
    return [state.incarnation for state in seen.devices]


def held(seen: Observation) -> dict[str, str]:
    assert seen.configurations is not None
    return dict(seen.configurations)


# -- digests


@pytest.mark.parametrize("edit", EDITS)
async def test_manual_change_is_observed_reported_and_repaired(rig: BigIpRig, edit: str) -> None:
    agent, observer = rig.owner(), rig.agent()
    method, path, body, told = EDITS[edit]
    await agent.apply(batch(service(), service(2), complete=True))
    before = held(await observer.observe())
    assert set(before) == {"lb-1", "lb-2"}
    content = await rig.content()
    await rig.hands.call(method, path, body)
    after = held(await observer.observe())
    assert after["lb-1"] != before["lb-1"] and after["lb-2"] == before["lb-2"]
    agent.forget(service().project_id)
    outcome = await agent.apply(batch(service(), service(2)))
    (repaired,) = outcome.repaired
    assert (repaired.load_balancer_id, repaired.device) == ("lb-1", first_and_second(rig)[0])
    assert told in " ".join(repaired.found), repaired
    assert await rig.content() == content
    assert held(await observer.observe()) == before
    assert not (await agent.apply(batch(service(), service(2), complete=True))).repaired


async def test_a_digest_stays_while_nobody_changes_anything(pair: BigIpRig) -> None:
    agent = pair.owner()
    await agent.apply(batch(service(), complete=True))
    before = held(await agent.observe())
    for state in ("down", "up"):
        for name in pair.emulator.devices:
            pair.emulator.set_member_state(name, "/dev_a3f1c2/dev_pool-1", "/Common/dev_10.2.1.1:8080", state)
        assert held(await pair.agent().observe()) == before
    await pair.emulator.failover("bigip-1")
    pair.emulator.faults.add(Fault(kind="refuse", device="bigip-1"))
    seen = await agent.observe()
    assert held(seen) == before and not seen.lacking


async def test_change_of_the_tenant_is_not_reported_as_a_repair(rig: BigIpRig) -> None:
    agent = rig.owner()
    outcomes = [
        await agent.apply(batch(service(change_id="a"), complete=True)),
        await agent.apply(batch(service(change_id="b", members=5))),
        await agent.apply(batch(service(change_id="b", members=5), complete=True)),
        await agent.apply(batch(service(change_id="c", revision=2, pools=(pool(members=1),)))),
    ]
    assert not any(outcome.repaired for outcome in outcomes)
    before = held(await agent.observe())
    await agent.apply(batch(service(change_id="d", revision=3), complete=True))
    assert held(await agent.observe())["lb-1"] != before["lb-1"]


async def test_memory_of_a_removed_load_balancer_is_dropped(rig: BigIpRig) -> None:
    agent = rig.agent()
    await agent.take_over(service().project_id, 1, session_of(1))
    await agent.apply(batch(service(), service(2), service(3), complete=True))
    ((_, left),) = agent._devices[0]._left.values()  # type: ignore[attr-defined]
    assert set(left) == {"lb-1", "lb-2", "lb-3"}
    await agent.apply(batch(gone()))
    assert set(left) == {"lb-2", "lb-3"}
    await agent.apply(batch(service(3), complete=True))
    assert set(left) == {"lb-3"}


async def test_object_missing_on_one_device_of_a_pair_is_named_by_the_next_observation(pair: BigIpRig) -> None:
    agent = pair.owner()
    await agent.apply(batch(service(), service(2), complete=True))
    seen = await agent.observe()
    assert not seen.lacking
    second = first_and_second(pair)[1]
    await Hands(pair.emulator, "bigip-2").call("DELETE", at("ltm/virtual", "listener-1"))
    later = await agent.observe()
    assert later.lacking == {"lb-1": second}
    assert held(later)["lb-1"] != held(seen)["lb-1"] and held(later)["lb-2"] == held(seen)["lb-2"]
    outcome = await agent.apply(batch(service(), service(2)))
    assert [(one.load_balancer_id, one.device) for one in outcome.repaired] == [("lb-1", second)]
    assert held(await agent.observe()) == held(seen)


async def test_after_a_look_that_misses_something_the_next_pass_reads_everything(rig: BigIpRig) -> None:
    """Even if there is something to write, which would be written without a look else."""
    agent = rig.owner()
    await agent.apply(batch(service(), service(2)))
    await rig.hands.call("DELETE", at("ltm/virtual", "listener-2"))
    await agent.observe()
    rig.counts()
    await agent.apply(batch(service(members=1, revision=2), service(2)))
    assert rig.counts()["reads"] >= 12
    assert "dev_listener-2" in await rig.hands.items("ltm/virtual")
    await agent.observe()
    rig.counts()
    await agent.apply(batch(service(members=2, revision=3)))
    assert rig.counts()["reads"] == 0


async def test_a_look_forgets_nothing_of_what_is_as_it_should_be(rig: BigIpRig) -> None:
    agent = rig.owner()
    ipv6 = ServiceMember(id="m", address="2001:DB8::0:7", protocol_port=80)
    six = service(
        3,
        vip=Vip(address="2001:db8:0::3", subnet_id="s", network_id="n", port_id="p"),
        pools=(pool(3, members=(ipv6,)),),
    )
    outcome = await agent.apply(batch(service(), service(2), six))
    assert not any(one.error for one in outcome.outcomes)
    await rig.add_foreign()
    await agent.observe()
    rig.counts()
    await agent.apply(batch(service(members=1, revision=2)))
    assert rig.counts()["reads"] == 0


# -- lost configurations


SAVED_LAST = {"save_interval": "600"}
"""Of an agent that saves only when it is closed."""


async def lose(rig: BigIpRig, device: str, way: str) -> None:
    """Back to what was saved; to the archive; to nothing."""
    if way == "rebooted":
        boots = rig.emulator.devices[device].boots
        await rig.emulator.reboot(device, seconds=0)
        await eventually(lambda: rig.emulator.devices[device].boots > boots and rig.emulator.devices[device].reachable)
    elif way == "restored":
        rig.emulator.restore(device, "archive")
    else:
        rig.emulator.wipe(device)


@pytest.mark.parametrize("way", ["rebooted", "restored", "wiped"])
async def test_a_device_that_lost_its_configuration_reports_it_and_gets_it_back(rig: BigIpRig, way: str) -> None:
    first, agent, observer = rig.owner(**SAVED_LAST), rig.owner(), rig.agent()
    await first.apply(batch(service(), epoch=1, complete=True))
    rig.emulator.snapshot("bigip-1", "archive")
    await first.close()
    await agent.apply(batch(service(), service(2), epoch=2, complete=True))
    content = await rig.content()
    before = await observer.observe()
    assert incarnations(before) == incarnations(await agent.observe()) != [""]
    await lose(rig, "bigip-1", way)
    after = await observer.observe()
    assert set(held(before)) - set(held(after)) == ({"lb-1", "lb-2"} if way == "wiped" else {"lb-2"})
    assert incarnations(after) != incarnations(before)
    assert incarnations(await agent.observe()) == incarnations(after)
    outcome = await agent.apply(batch(service(), service(2), epoch=2))
    assert not any(one.error for one in outcome.outcomes)
    found = {one.load_balancer_id: one.found for one in outcome.repaired}
    assert found["lb-2"] == ("nothing of it was left; put back",)
    assert await rig.content() == content
    assert incarnations(await observer.observe()) == incarnations(after)


@pytest.mark.parametrize("lost", [("bigip-2",), ("bigip-1", "bigip-2")])
async def test_devices_of_a_pair_that_lost_their_configuration_get_it_back(
    pair: BigIpRig, lost: tuple[str, ...]
) -> None:
    agent = pair.owner()
    await agent.apply(batch(service(), service(2), complete=True))
    hosts = dict(zip(pair.emulator.devices, first_and_second(pair), strict=True))
    both = [Hands(pair.emulator, name) for name in hosts]
    content = await both[0].content()
    before = await agent.observe()
    for name in lost:
        await lose(pair, name, "rebooted")
    after = await agent.observe()
    changed = [one != other for one, other in zip(incarnations(before), incarnations(after), strict=True)]
    assert changed == [name in lost for name in hosts]
    assert after.lacking == ({"lb-1": hosts["bigip-2"], "lb-2": hosts["bigip-2"]} if len(lost) == 1 else {})
    assert (held(after) == {}) == (len(lost) == 2)
    outcome = await agent.apply(batch(service(), service(2), complete=True))
    assert sorted((one.load_balancer_id, one.device) for one in outcome.repaired) == sorted(
        (balancer, hosts[name]) for balancer in ("lb-1", "lb-2") for name in lost
    )
    assert [await hands.content() for hands in both] == [content, content]


async def test_saving_changes_no_incarnation(rig: BigIpRig) -> None:
    observer = rig.agent()
    before = incarnations(await observer.observe())
    for epoch in range(1, 5):
        agent = rig.owner(**SAVED_LAST)
        await agent.apply(batch(service(members=epoch), epoch=epoch))
        await agent.close()
        assert incarnations(await observer.observe()) == before
        assert incarnations(await rig.agent().observe()) == before


async def test_plan_made_before_a_device_was_wiped_is_not_written(rig: BigIpRig) -> None:
    """The owner did not look: its guard is gone, so one change does not make a partition of one load balancer."""
    agent = rig.agent()
    await agent.take_over(service().project_id, 1, session_of(1))
    await agent.apply(batch(service(), service(2), complete=True))
    await lose(rig, "bigip-1", "wiped")
    with pytest.raises(OwnershipGuardLost):
        await agent.apply(batch(service(members=1, revision=2)))
    assert not await rig.content()
    assert (await agent.check())[0].problem == ""
