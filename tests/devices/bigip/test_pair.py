"""Two devices that hold the same."""

import pytest

from evenkeel.core.kit.errors import DeviceUnavailable, StaleOwner
from icontrol_emulator import Fault
from tests.devices.bigip.rig import BigIpRig, Hands, at
from tests.devices.services import PROJECT, batch, gone, service, session_of


def hands(pair: BigIpRig) -> tuple[Hands, Hands]:
    return Hands(pair.emulator, "bigip-1"), Hands(pair.emulator, "bigip-2")


async def test_both_devices_get_the_same(pair: BigIpRig) -> None:
    outcome = await pair.owner().apply(batch(service(), complete=True))
    first, second = hands(pair)
    assert outcome.writes == 2 and not outcome.lagging
    assert await first.content() == await second.content() != {}


async def test_a_device_out_of_reach_lags_and_catches_up(pair: BigIpRig) -> None:
    agent = pair.owner(retry_time="0.1")
    await agent.apply(batch(service(), service(2), complete=True))
    fault = pair.emulator.faults.add(Fault(kind="refuse", device="bigip-2"))
    outcome = await agent.apply(batch(service(members=1), gone(2)))
    assert not any(one.error for one in outcome.outcomes)
    away = pair.emulator.devices["bigip-2"].url.removeprefix("https://")
    assert outcome.lagging == (away,)
    pair.emulator.faults.remove(fault)
    outcome = await agent.apply(batch(service(members=1), complete=True))
    first, second = hands(pair)
    assert not outcome.lagging and outcome.writes == 1
    assert await first.content() == await second.content()


async def test_a_device_that_returns_gets_its_guard_moved_before_anything_else(pair: BigIpRig) -> None:
    old, new = pair.owner(retry_time="0.1"), pair.owner(retry_time="0.1")
    await old.apply(batch(service(), epoch=1))
    fault = pair.emulator.faults.add(Fault(kind="refuse", device="bigip-2"))
    await new.take_over(PROJECT, 2, session_of(2))
    await new.apply(batch(service(members=1), epoch=2))
    pair.emulator.faults.remove(fault)
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=2), epoch=1))
    await new.apply(batch(service(members=1), epoch=2, complete=True))
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=2), epoch=1))
    first, second = hands(pair)
    assert await first.content() == await second.content()


async def test_without_any_device_it_is_unavailable(pair: BigIpRig) -> None:
    agent = pair.owner(retry_time="0.1")
    pair.emulator.faults.add(Fault(kind="refuse"))
    with pytest.raises(DeviceUnavailable):
        await agent.apply(batch(service()))


async def test_statuses_come_from_the_active_device_and_statistics_from_both(pair: BigIpRig) -> None:
    agent = pair.owner()
    await agent.apply(batch(service(members=2)))
    pool, where = "/dev_a3f1c2/dev_pool-1", "/Common/dev_10.2.1.1:8080"
    pair.emulator.set_member_state("bigip-1", pool, where, "down")
    pair.emulator.set_member_state("bigip-2", pool, where, "up")
    found = {(one.kind, one.id): one.status for one in (await agent.observe()).statuses}
    assert found["member", "member-1-1"] == "ERROR"
    assert found["pool", "pool-1"] == found["loadbalancer", "lb-1"] == "DEGRADED"
    await pair.emulator.failover("bigip-1")
    seen = await agent.observe()
    found = {(one.kind, one.id): one.status for one in seen.statuses}
    assert found["member", "member-1-1"] == found["pool", "pool-1"] == "ONLINE"
    assert sorted(state.failover_state for state in seen.devices) == ["active", "standby"]


async def test_a_missing_device_is_seen_and_the_other_one_observed(pair: BigIpRig) -> None:
    agent = pair.owner(retry_time="0.1")
    await agent.apply(batch(service()))
    pair.emulator.faults.add(Fault(kind="refuse", device="bigip-1"))
    seen = await agent.observe()
    assert [state.reachable for state in seen.devices] == [True, False]
    assert seen.statuses


async def test_a_pair_named_standalone_is_unfit_and_the_other_way_round(pair: BigIpRig) -> None:
    one = pair.emulator.devices["bigip-1"].url.removeprefix("https://")
    state = (await pair.owner(icontrol_hostname=one, f5_ha_type="standalone").check())[0]
    assert state.reachable and "also has bigip-2, which would not get the configuration" in state.problem
    assert not any(state.problem for state in await pair.owner().check())


async def test_single_devices_are_no_pair(rig: BigIpRig) -> None:
    one = next(iter(rig.emulator.devices.values())).url.removeprefix("https://")
    agent = rig.owner(f5_ha_type="pair", icontrol_hostname=f"{one},{one.replace('127.0.0.1', 'localhost')}")
    states = await agent.check()
    assert all("f5_ha_type pair needs 2" in state.problem for state in states)


async def test_devices_that_hold_different_things_for_longer_are_not_in_step(pair: BigIpRig) -> None:
    agent = pair.owner()
    await agent.apply(batch(service(), service(2), complete=True))
    await hands(pair)[1].call("DELETE", at("ltm/virtual", "listener-1"))

    async def balancers() -> dict[str, tuple[str, str]]:
        seen = await agent.observe()
        return {one.id: (one.status, one.reason) for one in seen.statuses if one.kind == "loadbalancer"}

    fine = ("ONLINE", "")
    assert await balancers() == {"lb-1": fine, "lb-2": fine}  # it may be being written just now
    found = await balancers()
    second = pair.emulator.devices["bigip-2"].url.removeprefix("https://")
    assert found["lb-2"] == fine
    assert found["lb-1"] == ("DEGRADED", f"not in step with the other devices: {second}")
    await agent.apply(batch(service(), service(2), complete=True))
    assert await balancers() == {"lb-1": fine, "lb-2": fine}


async def test_a_device_restored_from_an_old_backup_is_no_way_in_for_a_stale_owner(pair: BigIpRig) -> None:
    """Guard and content are old again; the next pass finds out, whatever it was for."""
    old, new = pair.owner(), pair.owner()
    await old.apply(batch(service(), epoch=1, complete=True))
    pair.emulator.snapshot("bigip-2", "backup")
    await new.apply(batch(service(members=5), service(2), epoch=2, complete=True))
    pair.emulator.restore("bigip-2", "backup")
    await new.apply(batch(service(members=4), epoch=2))
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=1), epoch=1))
    await new.apply(batch(service(members=4), service(2), epoch=2, complete=True))
    first, second = hands(pair)
    assert await first.content() == await second.content() != {}
    assert (await new.apply(batch(service(members=4), service(2), epoch=2, complete=True))).writes == 0
