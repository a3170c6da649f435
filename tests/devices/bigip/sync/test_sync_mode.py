"""``sync_mode = sync``: one device is written and config-sync copies that, over nobody else's changes."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evenkeel.core.kit.errors import DeviceUnavailable, StaleOwner
from evenkeel.devices.bigip.driver import BigIpGroup
from icontrol_emulator import DeviceSpec, Emulator, Fault
from tests.devices.bigip.rig import BigIpRig, Hands, bigip
from tests.devices.services import PROJECT, batch, gone, service, session_of
from tests.waiting import eventually

GROUP = "device-group-1"
QUICK = {"sync_mode": "sync", "retry_time": "0.1", "connect_timeout": "5", "sync_timeout": "20"}


@pytest.fixture
async def synced() -> AsyncIterator[BigIpRig]:
    """A pair after its initial sync."""
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        await push(rig)
        yield rig


async def push(rig: BigIpRig, device: str = "bigip-1") -> None:
    """An operator's own config-sync."""
    await Hands(rig.emulator, device).call(
        "POST", "cm", {"command": "run", "utilCmdArgs": f"config-sync to-group {GROUP}"}
    )


def state(rig: BigIpRig, device: str = "bigip-1") -> str:
    return rig.emulator.cluster.sync_of(device).state(device).status


def writes(rig: BigIpRig, device: str) -> int:
    """Transactions that a device committed."""
    return len(rig.commits(device))


async def contents(rig: BigIpRig) -> list[dict[str, Any]]:
    return [await Hands(rig.emulator, name).content() for name in rig.emulator.devices]


async def same_everywhere(rig: BigIpRig) -> dict[str, Any]:
    first, *others = await contents(rig)
    assert all(other == first for other in others)
    return first


def forced(minutes: int) -> dict[str, str]:
    return {"sync_force_until": (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()}


async def test_one_device_is_written_and_the_other_gets_it_by_config_sync(synced: BigIpRig) -> None:
    agent = synced.owner(**QUICK)
    outcome = await agent.apply(batch(service(), complete=True))
    assert (outcome.writes, outcome.lagging) == (1, ()) and not outcome.outcomes[0].error
    assert "ltm/virtual dev_listener-1" in await same_everywhere(synced)
    assert state(synced) == "In Sync"
    before = {name: writes(synced, name) for name in synced.emulator.devices}
    outcome = await agent.apply(batch(service(members=1), gone(2)))
    assert (outcome.writes, outcome.lagging) == (1, ())
    assert sorted(writes(synced, name) - count for name, count in before.items()) == [0, 1]
    await same_everywhere(synced)
    assert (await agent.apply(batch(service(members=1), complete=True))).writes == 0
    assert not any(one.problem for one in await agent.check())


async def test_a_failover_of_the_written_device_changes_nothing(synced: BigIpRig) -> None:
    agent = synced.owner(**QUICK)
    await agent.apply(batch(service(), complete=True))
    await synced.emulator.failover("bigip-1")
    outcome = await agent.apply(batch(service(members=5)))
    assert not outcome.lagging and state(synced) == "In Sync"
    await same_everywhere(synced)


async def test_two_agents_exclude_each_other_whichever_device_they_write(synced: BigIpRig) -> None:
    old, new = synced.owner(**QUICK), synced.owner(**QUICK)
    await old.apply(batch(service(), epoch=1, complete=True))
    await synced.emulator.failover("bigip-1")
    await new.take_over(PROJECT, 2, session_of(2))
    with pytest.raises(StaleOwner):  # before anything was pushed: its guard is gone from both devices
        await old.apply(batch(service(members=1), epoch=1))
    await new.apply(batch(service(members=5), epoch=2, complete=True))
    content = await same_everywhere(synced)
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=2), epoch=1))
    assert await same_everywhere(synced) == content


@pytest.mark.parametrize("acquainted", [False, True])
async def test_nothing_is_pushed_over_a_device_whose_owner_cannot_be_verified(
    synced: BigIpRig, acquainted: bool
) -> None:
    """The successor does not reach the second device, which is connected to the first."""
    old, new = synced.owner(**QUICK), synced.owner(**QUICK)
    await old.apply(batch(service(), epoch=1, complete=True))
    if acquainted:
        await new.check()
    away = synced.emulator.faults.add(Fault(kind="refuse", device="bigip-2"))
    await new.take_over(PROJECT, 2, session_of(2))
    with pytest.raises(DeviceUnavailable, match="its owner cannot be verified before config-sync"):
        await new.apply(batch(service(members=5), epoch=2, complete=True))
    synced.emulator.faults.remove(away)
    with pytest.raises(StaleOwner):  # the stale agent reaches both
        await old.apply(batch(service(members=1), epoch=1))
    await eventually(lambda: in_step(new, service(members=5), epoch=2))
    content = await same_everywhere(synced)
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=1), epoch=1))
    assert await same_everywhere(synced) == content


async def test_a_stale_agent_that_wrote_the_other_device_does_not_push_over_its_successors(synced: BigIpRig) -> None:
    old, new = synced.owner(**QUICK), synced.owner(**QUICK)
    await old.apply(batch(service(), epoch=1, complete=True))
    await new.check()
    away = synced.emulator.faults.add(Fault(kind="refuse", device="bigip-1"))  # which old writes
    await new.take_over(PROJECT, 2, session_of(2))
    with pytest.raises(DeviceUnavailable, match="its owner cannot be verified"):
        await new.apply(batch(service(members=5), epoch=2, complete=True))
    synced.emulator.faults.remove(away)
    with pytest.raises(StaleOwner):  # the first device took it, the second one shows that there is a new owner
        await old.apply(batch(service(members=1), epoch=1))
    pool = (await Hands(synced.emulator, "bigip-2").items("ltm/pool"))["dev_pool-1"]
    assert len(pool["membersReference"]["items"]) == 5
    await eventually(lambda: in_step(new, service(members=5), epoch=2))
    content = await same_everywhere(synced)
    with pytest.raises(StaleOwner):
        await old.apply(batch(service(members=2), epoch=1))
    assert await same_everywhere(synced) == content


async def test_another_device_is_written_while_the_written_one_is_off_and_gets_it_when_it_is_back(
    synced: BigIpRig,
) -> None:
    agent = synced.owner(**QUICK)
    await agent.apply(batch(service(), service(2), complete=True))
    await synced.emulator.power_off("bigip-1")
    for _ in range(2):  # the first one finds that it is off
        try:
            outcome = await agent.apply(batch(service(members=5), gone(2), service(3), complete=True))
            break
        except DeviceUnavailable:
            continue
    assert outcome.lagging and not any(one.error for one in outcome.outcomes)
    assert "changes did not reach bigip-1" in (await agent.check())[1].problem
    await synced.emulator.power_on("bigip-1")
    before = writes(synced, "bigip-1")
    await eventually(lambda: in_step(agent, service(members=5), service(3)))
    content = await same_everywhere(synced)
    assert "ltm/pool dev_pool-3" in content and "ltm/pool dev_pool-2" not in content
    assert writes(synced, "bigip-1") == before
    assert state(synced) == "In Sync" and not any(one.problem for one in await agent.check())


async def in_step(agent: Any, *services: Any, epoch: int = 1) -> bool:
    try:
        return not (await agent.apply(batch(*services, epoch=epoch, complete=True))).lagging
    except DeviceUnavailable:
        return False


async def test_a_strangers_edit_is_not_pushed_over_or_along_unless_forced(synced: BigIpRig) -> None:
    agent = synced.owner(**QUICK)
    await agent.apply(batch(service(), complete=True))
    await Hands(synced.emulator, "bigip-2").call("POST", "ltm/pool", {"name": "strangers"})
    assert state(synced) == "Changes Pending"
    told = "device group device-group-1: Changes Pending, and not by an agent"
    with pytest.raises(DeviceUnavailable, match=told):
        await agent.apply(batch(service(members=5)))
    assert synced.emulator.devices["bigip-2"].objects("ltm/pool", "Common") == ["/Common/strangers"]
    for states in (await agent.check(), (await agent.observe()).devices):
        assert all(told in one.problem for one in states)
    with pytest.raises(DeviceUnavailable, match=told):
        await synced.owner(**QUICK, **forced(-1)).apply(batch(service(members=5)))
    await push(synced, "bigip-2")  # an operator decides for it
    assert not (await agent.apply(batch(service(members=5)))).lagging
    assert synced.emulator.devices["bigip-1"].objects("ltm/pool", "Common") == ["/Common/strangers"]
    assert not any(one.problem for one in await agent.check())
    devices = synced.emulator.devices
    copy = max(devices, key=lambda name: devices[name].url)  # the other one, the first by address, is written
    await Hands(synced.emulator, copy).call("DELETE", "ltm/pool/strangers")
    await synced.owner(**QUICK, **forced(10)).apply(batch(service(members=4), complete=True))  # or against it
    assert state(synced) == "In Sync"
    assert devices[copy].objects("ltm/pool", "Common") == ["/Common/strangers"]


async def test_unpushed_changes_of_a_dead_agent_are_pushed_by_the_next_owner(synced: BigIpRig) -> None:
    agent = synced.owner(**{**QUICK, "sync_timeout": "0.1"})
    fault = synced.emulator.faults.add(Fault(kind="mcpd_lost", method="POST", path="/mgmt/tm/cm$"))
    with pytest.raises(DeviceUnavailable):
        await agent.apply(batch(service(), epoch=1, complete=True))
    assert state(synced) == "Changes Pending"
    synced.emulator.faults.remove(fault)
    heir = synced.owner(**QUICK)
    await heir.take_over(PROJECT, 2, session_of(2))
    outcome = await heir.apply(batch(service(), epoch=2, complete=True))
    assert not outcome.lagging and state(synced) == "In Sync"
    assert "ltm/virtual dev_listener-1" in await same_everywhere(synced)


async def test_a_config_sync_that_does_not_complete_is_a_problem_and_done_again(
    synced: BigIpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = synced.owner(**{**QUICK, "sync_timeout": "0.2"})
    sync = synced.emulator.cluster.sync_of("bigip-1")
    with monkeypatch.context() as patched:
        patched.setattr(sync, "push", lambda *given, **named: [])
        outcome = await agent.apply(batch(service(), complete=True))
    assert outcome.lagging == (GROUP,) and not outcome.outcomes[0].error
    assert "device group device-group-1 is not in sync: Changes Pending" in (await agent.check())[0].problem
    outcome = await agent.apply(batch(service(), complete=True))
    assert (outcome.writes, outcome.lagging) == (0, ())
    await same_everywhere(synced)


async def test_a_group_before_its_initial_sync_is_left_alone() -> None:
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        agent = rig.owner(**QUICK)
        with pytest.raises(DeviceUnavailable, match="Awaiting Initial Sync"):
            await agent.apply(batch(service(), complete=True))


async def test_a_written_device_that_takes_no_guard_is_reported_as_such_and_written_when_it_does(
    synced: BigIpRig,
) -> None:
    await synced.owner(**QUICK).apply(batch(service(), epoch=1, complete=True))
    before = {name: writes(synced, name) for name in synced.emulator.devices}
    (written,) = [name for name, count in before.items() if count > 1]
    fault = synced.emulator.faults.add(Fault(kind="refuse_transaction", device=written))
    new = synced.agent(**QUICK)
    await new.take_over(PROJECT, 2, session_of(2))
    for complete in (True, False):
        with pytest.raises(DeviceUnavailable, match="refused by an injected fault"):
            await new.apply(batch(service(members=1), epoch=2, complete=complete))
    synced.emulator.faults.remove(fault)
    outcome = await new.apply(batch(service(members=1), epoch=2, complete=True))
    assert not outcome.lagging and state(synced) == "In Sync"
    await same_everywhere(synced)


async def test_with_auto_sync_the_devices_push_themselves(synced: BigIpRig) -> None:
    await synced.hands.call("PATCH", f"cm/device-group/{GROUP}", {"autoSync": "enabled"})
    agent = synced.owner(**QUICK)
    outcome = await agent.apply(batch(service(), complete=True))
    assert not outcome.lagging and not any(one.problem for one in await agent.check())
    await same_everywhere(synced)
    pushes = [one for one in synced.emulator.write_log.entries(after=0) if one["path"] == "/mgmt/tm/cm"]
    assert len(pushes) == 1  # the initial one


async def test_many_batches_share_pushes(synced: BigIpRig) -> None:
    agent = synced.owner(**QUICK)
    await agent.apply(batch(service(), complete=True))
    outcome = await agent.apply(batch(*(service(number) for number in range(1, 30))))
    assert outcome.writes == 1 and not outcome.lagging


@pytest.mark.parametrize("auto", [False, True])
async def test_standalone_names_one_device_of_a_cluster(auto: bool) -> None:
    async with bigip("a", "b", "c", ha="cluster") as rig:
        await push(rig, "a")
        await rig.hands.call("PATCH", f"cm/device-group/{GROUP}", {"autoSync": "enabled" if auto else "disabled"})
        one = rig.emulator.devices["b"].url.removeprefix("https://")
        mode = "replicate" if auto else "sync"
        agent = rig.owner(**{**QUICK, "sync_mode": mode}, icontrol_hostname=one, f5_ha_type="standalone")
        assert not any(state.problem for state in await agent.check())
        outcome = await agent.apply(batch(service(), complete=True))
        assert not outcome.lagging and outcome.writes == 1
        assert "ltm/virtual dev_listener-1" in await same_everywhere(rig)


async def test_a_pair_of_one_device_of_a_group_and_one_outside() -> None:
    async with bigip("a", "b", "c", ha="cluster", ha_type="pair") as rig:
        await rig.hands.call("DELETE", f"cm/device-group/{GROUP}/devices/c")
        await push(rig, "a")
        named = ",".join(rig.emulator.devices[name].url.removeprefix("https://") for name in "ac")
        agent = rig.owner(**QUICK, icontrol_hostname=named)
        assert not any(state.problem for state in await agent.check())
        outcome = await agent.apply(batch(service(), complete=True))
        assert not outcome.lagging and outcome.writes == 2
        await same_everywhere(rig)


async def test_a_group_that_changes_is_refused_again_and_shown(synced: BigIpRig) -> None:
    agent = synced.owner(**{**QUICK, "sync_mode": "replicate"})
    assert not any(one.problem for one in await agent.check())
    await agent.apply(batch(service(), complete=True))
    await synced.hands.call("PATCH", f"cm/device-group/{GROUP}", {"autoSync": "enabled"})
    told = "has autoSync enabled, which would overwrite"
    assert all(told in one.problem for one in (await agent.observe()).devices)
    with pytest.raises(DeviceUnavailable, match=told):
        await agent.apply(batch(service(members=5)))
    await synced.hands.call("PATCH", f"cm/device-group/{GROUP}", {"autoSync": "disabled"})
    assert not any(one.problem for one in await agent.check())
    assert not (await agent.apply(batch(service(members=5)))).lagging


async def test_the_second_device_of_a_pair_is_found_in_the_device_trust() -> None:
    specs = [DeviceSpec("bigip-1", "127.0.81.1"), DeviceSpec("bigip-2", "127.0.81.2")]
    async with Emulator(specs, ha="pair", data_plane=False) as first:
        port = int(first.devices["bigip-1"].url.rpartition(":")[2])
    again = [DeviceSpec(spec.name, spec.host, port) for spec in specs]
    async with Emulator(again, users={"admin": "admin"}, ha="pair", data_plane=False) as emulator:
        rig = BigIpRig(emulator, "pair")
        agent = rig.agent(icontrol_hostname=f"127.0.81.2:{port}")
        assert isinstance(agent, BigIpGroup)
        states = await agent.check()
        assert [state.name for state in states] == [f"127.0.81.2:{port}", f"127.0.81.1:{port}"]
        assert agent.facts.endpoints == tuple(state.name for state in states)
        assert not any(state.problem for state in states)
        await agent.take_over(PROJECT, 1, session_of(1))
        assert (await agent.apply(batch(service(), complete=True))).writes == 2
        await same_everywhere(rig)
        await rig.close()


async def test_a_pair_is_not_guessed_among_several() -> None:
    async with bigip("a", "b", "c", ha="cluster", ha_type="pair") as rig:
        one = rig.emulator.devices["a"].url.removeprefix("https://")
        (found,) = await rig.owner(icontrol_hostname=one).check()
        assert "its device trust has 2 other device(s)" in found.problem
