"""The floor in /Common: raised with each guard that goes, and checked with each first guard."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.kit.errors import StaleOwner
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import response_error
from evenkeel.devices.bigip.ownership.minimum_epoch import MinimumEpoch
from tests.devices.bigip.rig import BigIpRig
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, service, session_of

NAME = "evenkeel_floor_dev"


async def floors(rig: BigIpRig) -> list[str]:
    return sorted(name for name in await rig.hands.items("ltm/data-group/internal", "Common") if NAME in name)


async def served_and_removed(agent: Owner, epoch: int) -> None:
    await agent.take_over(PROJECT, epoch, session_of(epoch))
    await agent.apply(batch(service(), epoch=epoch, complete=True))
    await agent.apply(batch(gone(), epoch=epoch))
    await agent.apply(batch(epoch=epoch, complete=True))
    assert not (await agent.retire(PROJECT, epoch, session_of(epoch))).left


async def test_there_is_one_after_the_first_check_and_only_the_newest_stays(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.check()
    assert await floors(rig) == [NAME, f"{NAME}_0"]
    for epoch in (3, 7):
        await served_and_removed(agent, epoch)
        found = await floors(rig)
        assert found[0] == NAME and len(found) == 2 and found[1].startswith(f"{NAME}_{epoch}_")


async def test_a_device_that_refuses_it_has_a_problem_and_serves_with_one_made_when_it_is_needed(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = IControl.write

    async def refusing(self: IControl, method: str, path: str, body: Any = None, **given: Any) -> dict[str, Any]:
        if method == "POST" and NAME in str((body or {}).get("name")) and not given.get("transaction"):
            raise response_error(self.host, 400, b'{"code":400,"message":"01070734:3: Configuration error: read-only"}')
        return await write(self, method, path, body, **given)

    monkeypatch.setattr(IControl, "write", refusing)
    agent = rig.owner()
    (state,) = await agent.check()
    assert state.reachable and state.version and state.incarnation and "error: read-only" in state.problem
    await served_and_removed(agent, 1)
    (state,) = await rig.owner().check()
    assert not state.problem


async def test_a_first_guard_decided_before_the_floor_was_raised_is_refused(
    rig: BigIpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, agent = rig.owner(), rig.owner()
    await late.check()
    admitted, resume = asyncio.Event(), asyncio.Event()
    real = MinimumEpoch.first_guard_check_commands

    async def admit(self: MinimumEpoch, *args: Any) -> Any:
        commands = await real(self, *args)
        if not admitted.is_set():
            admitted.set()
            await resume.wait()
        return commands

    monkeypatch.setattr(MinimumEpoch, "first_guard_check_commands", admit)
    task = asyncio.create_task(late.take_over(PROJECT, 1, session_of(1)))
    await admitted.wait()
    await served_and_removed(agent, 2)
    resume.set()
    await task  # the first guard comes with the first objects
    with pytest.raises(StaleOwner):
        await late.apply(batch(service(), epoch=1, complete=True))
    assert not await rig.content()


async def test_a_floor_of_an_epoch_that_nobody_can_have_locks_nobody_out(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.check()
    body = {
        "name": f"{NAME}_{2**63}",
        "partition": "Common",
        "type": "string",
        "description": "evenkeel:dev/1:floor",
    }
    await rig.hands.call("POST", "ltm/data-group/internal", body)
    agent.forget(PROJECT)
    other = rig.owner()
    await served_and_removed(other, 1)
    assert [name for name in await floors(rig) if str(2**63) in name] == []


async def test_a_floor_of_another_group_or_environment_is_not_ours(rig: BigIpRig) -> None:
    for name, mark in ((f"{NAME}_99", "evenkeel:dev/7:floor"), (f"{NAME}_98", "")):
        body = {"name": name, "partition": "Common", "type": "string", "description": mark}
        await rig.hands.call("POST", "ltm/data-group/internal", body)
    await served_and_removed(rig.owner(), 1)
    assert {f"{NAME}_99", f"{NAME}_98"} < set(await floors(rig))


async def test_partitions_of_several_tenants_are_removed_at_once_by_several_agents(rig: BigIpRig) -> None:
    projects = [f"{number:032x}" for number in range(4)]

    async def one(project: str, epoch: int) -> None:
        agent = rig.owner()
        await agent.take_over(project, epoch, session_of(epoch))
        empty = batch(epoch=epoch, complete=True)
        await agent.apply(replace(empty, project_id=project))
        assert not (await agent.retire(project, epoch, session_of(epoch))).left

    await asyncio.gather(*(one(project, epoch + 1) for epoch, project in enumerate(projects)))
    assert (await floors(rig))[1].startswith(f"{NAME}_4_")
