"""When the running configuration is saved."""

from evenkeel.devices.bigip.driver import BigIpGroup
from icontrol_emulator import Fault
from tests.devices.bigip.rig import BigIpRig
from tests.devices.services import PROJECT, batch, service, session_of
from tests.waiting import eventually

SAVE = "/mgmt/tm/sys/config"


def saves(rig: BigIpRig, device: str = "bigip-1") -> int:
    return sum(entry["path"] == SAVE for entry in rig.emulator.write_log.entries(after=0, device=device))


async def test_changes_are_coalesced_into_one_save(rig: BigIpRig) -> None:
    agent = rig.owner(save_interval="600")
    for members in (1, 2, 3):
        await agent.apply(batch(service(members=members)))
    assert not saves(rig)
    await agent.close()
    assert saves(rig) == 1


async def test_without_a_change_nothing_is_saved(rig: BigIpRig) -> None:
    agent = rig.agent(save_interval="0.01")
    assert isinstance(agent, BigIpGroup)
    await agent.take_over(PROJECT, 1, session_of(1))
    await agent.apply(batch(service()))
    saver = agent._devices[0]._saver
    await eventually(lambda: saver._task is not None and saver._task.done())
    saved = saves(rig)
    await agent.apply(batch(service()))
    assert not saver._dirty
    await agent.close()
    assert saves(rig) == saved


async def test_each_device_of_a_pair_is_saved(pair: BigIpRig) -> None:
    agent = pair.owner(save_interval="600")
    await agent.apply(batch(service()))
    await agent.close()
    assert saves(pair) == saves(pair, "bigip-2") == 1


async def test_unsaved_changes_of_a_dead_agent_are_saved_after_the_takeover(rig: BigIpRig) -> None:
    await rig.owner(save_interval="0").apply(batch(service(), epoch=1))
    heir = rig.owner(save_interval="0.01")
    await heir.take_over(PROJECT, 2, session_of(2))
    await eventually(lambda: saves(rig) == 1)


async def test_a_save_that_fails_is_shown_and_repeated(rig: BigIpRig) -> None:
    fault = rig.emulator.faults.add(Fault(kind="mcpd_lost", method="POST", path=f"{SAVE}$"))
    agent = rig.agent(save_interval="0.01", retry_time="0.01")
    assert isinstance(agent, BigIpGroup)
    await agent.take_over(PROJECT, 1, session_of(1))
    await agent.apply(batch(service(), complete=True))
    device = agent._devices[0]
    await eventually(lambda: bool(device._saver.problem))
    told = "running configuration not saved, a reboot would lose changes: "
    for states in (await agent.check(), (await agent.observe()).devices):
        assert states[0].reachable and told in states[0].problem
    rig.emulator.faults.remove(fault)
    await eventually(lambda: not device._saver.problem)
    # settled: the check tells the same problem, which ends after the save
    assert not (await agent.check())[0].problem and saves(rig)
