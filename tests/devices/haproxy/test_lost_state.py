"""A daemon that holds something else than agents believe, or belongs to somebody else."""

import shutil
from pathlib import Path

import pytest

from evenkeel.core.control.epochs import EPOCH_JUMP_MAX, EPOCH_MAX
from evenkeel.core.kit.errors import DeviceRejected, OwnershipGuardLost, StaleOwner
from evenkeel.core.ports import Device
from evenkeel.devices.haproxy.driver import HaproxyGroup
from evenkeel.haproxyd import wire
from tests.devices.haproxy.rig import PARTITION, Box, HaproxyRig
from tests.devices.services import PROJECT, batch, service, session_of
from tests.haproxyd.world import get
from tests.waiting import eventually


def state_of(box: Box) -> Path:
    return box.folder / "state"


async def restarted_with(box: Box, state: Path | None) -> None:
    """The daemon begins with another state directory; HAProxy knows nothing of it."""
    await box.stop()
    shutil.rmtree(state_of(box))
    if state is not None:
        shutil.copytree(state, state_of(box))
    await box.start()


async def serves(box: Box, number: int) -> bool:
    """Does HAProxy listen for this load balancer? Its members are nobody's."""
    return await get(*box.moved(service(number).vip.address, 80)) != "refused"


async def life(agent: Device) -> tuple[str, str]:
    (state,) = (await agent.observe()).devices
    assert state.reachable and not state.problem
    return state.identity, state.incarnation


async def test_a_daemon_that_lost_its_state_takes_nothing_but_everything(rig: HaproxyRig) -> None:
    agent = rig.agent()
    await agent.take_over(PROJECT, 1, session_of(1))
    await agent.apply(batch(service(), service(2), complete=True))
    before, held = await life(agent), (await agent.observe()).configurations
    assert held.keys() == {"lb-1", "lb-2"}

    await restarted_with(rig.box, None)
    seen = await agent.observe()
    assert (seen.configurations, seen.statuses) == ({}, ())
    now = await life(agent)
    assert now[0] != before[0] and now[1] != before[1]
    for change in (batch(service(revision=2, members=1)), batch(service(), complete=True)):
        with pytest.raises(OwnershipGuardLost) as refusal:
            await agent.apply(change)
        assert refusal.value.seen_epoch is None
    assert [await serves(rig.box, number) for number in (1, 2)] == [True, True]

    await agent.take_over(PROJECT, 1, session_of(1))
    outcome = await agent.apply(batch(service(), service(2), complete=True))
    assert not [one.error for one in outcome.outcomes if one.error]
    assert [await serves(rig.box, number) for number in (1, 2)] == [True, True]
    assert (await agent.observe()).configurations == held
    assert await life(agent) == now


async def test_an_older_copy_of_the_state_takes_nothing_but_everything(rig: HaproxyRig) -> None:
    agent = rig.agent()
    await agent.take_over(PROJECT, 1, session_of(1))
    await agent.apply(batch(service(), complete=True))
    await rig.box.stop()
    copy = rig.box.folder / "copy"
    shutil.copytree(state_of(rig.box), copy)
    await rig.box.start()
    with pytest.raises(OwnershipGuardLost):  # also after a mere restart
        await agent.apply(batch(service()))
    await agent.take_over(PROJECT, 1, session_of(1))
    assert (await agent.apply(batch(service(), service(2), complete=True))).writes == 1
    held, before = (await agent.observe()).configurations, await life(agent)

    await restarted_with(rig.box, copy)  # its guard names this owner, too
    assert (await life(agent))[0] == before[0] and (await life(agent))[1] != before[1]
    assert (await agent.observe()).configurations.keys() == {"lb-1"}
    with pytest.raises(OwnershipGuardLost):
        await agent.apply(batch(service(revision=2)))
    await agent.take_over(PROJECT, 1, session_of(1))
    await agent.apply(batch(service(), service(2), complete=True))
    assert (await agent.observe()).configurations == held
    assert await serves(rig.box, 2)


async def test_a_restart_costs_one_request_that_changes_nothing(rig: HaproxyRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    worker = rig.box.running.partitions.get(PARTITION).worker_pid
    await rig.box.stop()
    await rig.box.start()
    assert (await agent.apply(batch(service(), complete=True))).writes == 0
    assert rig.box.running.partitions.get(PARTITION).worker_pid == worker


async def test_load_balancer_missing_on_one_of_two_hosts_is_named(pair: HaproxyRig) -> None:
    agent, (first, second) = pair.owner(), pair.boxes
    await agent.apply(batch(service(), complete=True))
    seen = await agent.observe()
    assert seen.lacking == {} and seen.configurations.keys() == {"lb-1"}
    assert len({state.identity for state in seen.devices} | {state.incarnation for state in seen.devices}) == 4
    await restarted_with(second, None)
    seen = await agent.observe()
    assert seen.lacking == {"lb-1": second.host} and seen.configurations.keys() == {"lb-1"}
    assert await serves(second, 1)
    await agent.apply(batch(service(), complete=True))
    assert (await agent.observe()).lacking == {}
    assert [await serves(box, 1) for box in (first, second)] == [True, True]


async def test_files_removed_under_a_running_daemon_are_restored(rig: HaproxyRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    content, before = await rig.content(), await life(agent)
    shutil.rmtree(state_of(rig.box))
    shutil.rmtree(rig.box.folder / "r")

    async def whole() -> bool:
        if not (rig.box.directory / "guard.json").exists() or await rig.content() != content:
            return False
        (state,) = (await agent.observe()).devices
        well = state.reachable and not state.problem
        return well and state.identity == before[0] and state.incarnation != before[1]

    await eventually(whole)
    with pytest.raises(OwnershipGuardLost):
        await rig.agents[0].apply(batch(service()))
    assert (await agent.apply(batch(service(), complete=True))).writes == 0
    assert await serves(rig.box, 1)


async def test_an_impossible_epoch_of_an_agents_credential_stops_no_owner(rig: HaproxyRig) -> None:
    agent = rig.agent()
    assert isinstance(agent, HaproxyGroup)
    thief = agent._devices[0].daemon
    with pytest.raises(DeviceRejected, match="allowed"):
        await thief.set_guard(PARTITION, wire.GuardState(epoch=EPOCH_MAX, session_id="thief"))
    await agent.take_over(PROJECT, 1, session_of(1))
    for epoch in (EPOCH_MAX, 2**63 - 1, EPOCH_JUMP_MAX + 2):
        with pytest.raises(DeviceRejected, match="allowed"):
            await thief.set_guard(PARTITION, wire.GuardState(epoch=epoch, session_id="thief"))
    await agent.take_over(PROJECT, 2, session_of(2))
    assert not (await agent.apply(batch(service(), epoch=2, complete=True))).outcomes[0].error


async def test_a_daemon_that_is_far_behind_is_brought_up_in_steps(rig: HaproxyRig) -> None:
    agent = rig.agent()
    await agent.take_over(PROJECT, 1, session_of(1))
    far = 3 * EPOCH_JUMP_MAX
    await agent.take_over(PROJECT, far, session_of(far))
    assert (await agent.apply(batch(service(), epoch=far))).writes == 1
    with pytest.raises(StaleOwner):
        await agent.take_over(PROJECT, far - 1, session_of(1))
    with pytest.raises(DeviceRejected, match="too far behind"):
        await agent.take_over(PROJECT, far + 100 * EPOCH_JUMP_MAX, session_of(1))


async def test_two_device_groups_cannot_have_one_daemon(rig: HaproxyRig) -> None:
    first, second = rig.owner(group_number=1), rig.owner(group_number=2)
    assert [state.problem for state in await second.check()] == [""]  # nobody's yet
    await first.apply(batch(service(), complete=True))
    (state,) = await second.check()
    assert state.problem == "its partitions of the prefix dev belong to dev/1; this is dev/2"
    content = await rig.content()
    for project in (PROJECT, "another"):
        with pytest.raises(DeviceRejected, match="belong to dev/1, not dev/2"):
            await second.take_over(project, 9, session_of(9))
    seen = await second.observe()
    assert not seen.statuses and not seen.configurations
    assert await rig.content() == content
    (state,) = await first.check()
    assert not state.problem
    other = rig.owner(environment="prod", group_number=1)  # another prefix
    await other.take_over("another", 1, session_of(1))
    assert [state.problem for state in await other.check()] == [""]
    stolen = rig.owner(environment="prod", prefix="dev")
    assert "belong to dev/1; this is prod/1" in (await stolen.check())[0].problem


async def test_manual_change_is_repaired_by_the_observation_that_finds_it(rig: HaproxyRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), complete=True))
    content = await rig.content()
    assert await rig.content() == content
    for words in (
        "set server pool-1/member-1-1 state maint",
        "set server pool-1/member-1-2 weight 7",
        "set server pool-1/member-1-3 addr 10.9.9.9 port 9",
        "disable frontend listener-1",
    ):
        await rig.box.tell(words)
    assert await rig.content() != content

    async def right() -> bool:
        seen = await agent.observe()
        listening = {one.id: one.status for one in seen.statuses if one.kind == "listener"}
        return await rig.content() == content and "ERROR" not in listening.values()

    await eventually(right)
    # settled: the write is the action of which this is the outcome
    assert (await agent.apply(batch(service(), complete=True))).writes == 0


async def test_repair_of_the_daemon_is_reported_once(rig: HaproxyRig) -> None:
    agent = rig.agent()
    await agent.take_over(PROJECT, 1, session_of(1))
    everything = batch(service(), service(2), complete=True)
    assert not (await agent.apply(everything)).repaired

    await rig.box.tell("set server pool-1/member-1-1 weight 9")
    (told,) = (await agent.apply(everything)).repaired
    assert (told.load_balancer_id, told.device) == ("lb-1", rig.box.host)
    assert told.found == ("server member-1-1 of backend pool-1 was changed (weight); repaired",)
    assert not (await agent.apply(everything)).repaired

    shutil.rmtree(rig.box.directory)
    await eventually(lambda: rig.box.configuration.exists())  # before anybody asked for a change
    outcome = await agent.apply(everything)
    assert [(one.load_balancer_id, one.device) for one in outcome.repaired] == [
        ("lb-1", rig.box.host),
        ("lb-2", rig.box.host),
    ]
    assert all(one.found[0].endswith("; repaired") for one in outcome.repaired)
    assert not (await agent.apply(everything)).repaired
