"""Passes over a partition that is as it should be: nothing is planned twice, and every change from outside is found."""

from typing import Any

import pytest

from evenkeel.devices.bigip.reconcile import partition_pass
from tests.devices.bigip.certificates import bringing, certificate, tls_service
from tests.devices.bigip.rig import BigIpRig, at
from tests.devices.services import batch, service

EITHER = pytest.mark.parametrize("complete", [False, True], ids=["light", "complete"])


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that gets an item for each plan that is computed."""
    computed: list[Any] = []
    compute = partition_pass.plan_operations

    def counting(*arguments: Any, **named: Any) -> Any:
        computed.append(arguments)
        return compute(*arguments, **named)

    monkeypatch.setattr(partition_pass, "plan_operations", counting)
    return computed


@EITHER
async def test_a_pass_that_equals_the_one_before_is_not_planned_again(
    rig: BigIpRig, plans: list[Any], complete: bool
) -> None:
    agent = rig.owner()
    wanted = batch(service(members=2), service(2), complete=complete)
    for _ in range(2):
        await agent.apply(wanted)
    assert plans
    plans.clear()
    outcome = await agent.apply(wanted)
    assert plans == [] and outcome.writes == 0 and not any(one.error for one in outcome.outcomes)


@EITHER
async def test_a_change_from_outside_is_repaired_after_equal_passes(rig: BigIpRig, complete: bool) -> None:
    agent = rig.owner()
    wanted = batch(service(members=2), service(2), complete=complete)
    for _ in range(3):
        await agent.apply(wanted)
    content = await rig.content()
    for path, changes in (
        (at("ltm/pool", "pool-1"), {"members": []}),
        (at("ltm/virtual", "listener-1"), {"disabled": True}),
        (at("ltm/virtual", "listener-1"), {"disabled": True}),  # as before: the page is one that was seen already
    ):
        await rig.hands.call("PATCH", path, changes)
        assert (await agent.apply(wanted)).writes == 1
        assert await rig.content() == content
        assert (await agent.apply(wanted)).writes == 0


@EITHER
async def test_another_definition_is_written_after_equal_passes(rig: BigIpRig, complete: bool) -> None:
    agent = rig.owner()
    for _ in range(3):
        await agent.apply(batch(service(members=1), complete=complete))
    assert (await agent.apply(batch(service(members=3, revision=2), complete=complete))).writes == 1
    assert (await agent.apply(batch(service(members=1, revision=3), complete=complete))).writes == 1


async def test_an_orphan_is_left_by_light_passes_and_removed_by_a_complete_one(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(service(), service(2), complete=True))
    for _ in range(3):
        assert (await agent.apply(batch(service()))).writes == 0
    assert (await agent.apply(batch(service(), complete=True))).writes == 1


async def test_private_keys_are_not_kept_with_the_plan(rig: BigIpRig) -> None:
    content = certificate("kept.example")
    agent = rig.owner()
    outcome = await agent.apply(bringing(content, services=(tls_service(names={"ref-a": content}),), complete=True))
    assert not outcome.lacking
    device: Any = rig.agents[0]
    (view,) = vars(device._devices[0])["_views"].values()
    assert view.observed and view.planned is None
