"""Devices that nobody reaches: written on their group and its load balancers once, and taken back."""

from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.device import DeviceState
from evenkeel.core.placement.reach import UNWATCHED_SECONDS
from evenkeel.core.protocol.messages import ReportState, ReportStatus
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.outcomes import ObservedStatus
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.ownership_world import World, statements, world_fixture

__all__ = ["world_fixture"]

ONLINE = OperatingStatus.ONLINE
NONE = "no device of device group east/1 can be reached"
UNWATCHED = "no agent of device group east/1 is up, so its devices are not observed"


async def says(world: World, agent_id: str, *, a: bool, b: bool) -> None:
    """The agent reports what it reaches, and has for a while."""
    devices = DeviceState(name="a", reachable=a), DeviceState(name="b", reachable=b)
    state = ReportState(agent_id=agent_id, session_id=f"session-of-{agent_id}", devices=devices)
    await world.store.ownership.record_state(state)
    await world.change(schema.agent, agent_id, sight_since=db_now() - 60.0)


async def news(world: World) -> tuple[tuple[str, int], ...]:
    due_work = await world.store.scheduling.read_due_work(settle_seconds=0.0, breaker_window_seconds=30.0, homes=False)
    return due_work.reach


async def note(world: World) -> Any:
    assert await news(world) == (("east", 1),)
    return await world.store.scheduling.record_reachability("east", 1)


async def online(world: World) -> tuple[str, dict[str, str]]:
    """A load balancer that serves."""
    load_balancer = await world.placed()
    below = await world.tree(load_balancer)
    below.pop("monitor")
    common = await world.shard_of("")
    ids = {"loadbalancer": load_balancer.id, **below}
    statuses = tuple(ObservedStatus(kind=kind, id=id_, status=ONLINE) for kind, id_ in ids.items())
    await world.store.reports.record_observed(
        ReportStatus(agent_id="a1", session_id="session-of-a1", shard_id=common.id, epoch=1, statuses=statuses)
    )
    return load_balancer.id, below


async def shown(world: World, id_: str) -> tuple[str, str]:
    row = await world.load_balancer_row(id_)
    return row.operating_status, row.operating_reason


async def statuses_below(world: World, below: dict[str, str]) -> set[str]:
    return {(await world.row(schema.metadata.tables[kind], id_)).operating_status for kind, id_ in below.items()}


async def test_a_group_that_nobody_reaches_is_offline_with_all_that_is_in_it_until_somebody_does(world: World) -> None:
    for agent_id in ("a1", "a2"):
        await world.agent(agent_id)
        await says(world, agent_id, a=True, b=True)
    id_, below = await online(world)
    assert await news(world) == ()

    await says(world, "a1", a=False, b=False)
    assert await news(world) == ()  # the other one reaches them
    await says(world, "a2", a=False, b=False)
    assert await note(world) is None
    assert await shown(world, id_) == ("OFFLINE", NONE)
    assert await statuses_below(world, below) == {"OFFLINE"}
    assert await news(world) == ()
    assert await world.store.scheduling.record_reachability("east", 1) is None
    assert [row.reach.away for row in await world.store.operators.unreachable_groups()] == [("a", "b")]

    await says(world, "a2", a=False, b=True)
    observer = await note(world)
    assert observer.host == "host-of-a1"  # it is to report all that it sees
    assert (await shown(world, id_))[1] == ""
    await says(world, "a2", a=True, b=True)
    await note(world)
    assert await world.store.operators.unreachable_groups() == ()
    events = await world.events()
    assert [row.kind for row in events if row.kind.startswith("device_")] == [
        "device_unreachable",
        "device_unreachable",
        "device_group_unreachable",
        "device_reachable",
        "device_group_reachable",
        "device_reachable",
    ]
    assert "device a of device group east/1" in events[-1].text


async def test_one_of_a_pair_that_is_gone_is_an_event_and_changes_no_status_by_itself(world: World) -> None:
    await world.agent("a1")
    await says(world, "a1", a=True, b=True)
    id_, _ = await online(world)
    await says(world, "a1", a=True, b=False)
    await note(world)
    assert await shown(world, id_) == ("ONLINE", "")
    assert [row.kind for row in await world.events("device_unreachable")] == ["device_unreachable"]


async def test_a_device_out_of_reach_is_shown_by_its_own_name_before_its_address(world: World) -> None:
    await world.agent("a1")
    await says(world, "a1", a=True, b=True)
    await online(world)
    devices = DeviceState(name="a", reachable=True), DeviceState(name="b", reachable=False, own_name="lb-2")
    await world.store.ownership.record_state(ReportState(agent_id="a1", session_id="session-of-a1", devices=devices))
    await note(world)
    (event,) = await world.events("device_unreachable")
    assert event.text == "device lb-2 (b) of device group east/1 is unreachable from every agent"
    (group,) = await world.store.operators.unreachable_groups()
    assert (group.reach.away, group.unreachable_device_titles) == (("b",), ("lb-2 (b)",))


async def test_a_group_whose_agents_are_gone_is_degraded_and_online_again_with_the_next(world: World) -> None:
    await world.agent("a1")
    await says(world, "a1", a=True, b=True)
    id_, below = await online(world)
    waiting = await world.placed()
    await world.expire("a1")
    assert await news(world) == ()
    await world.change(schema.agent, "a1", session_expires_at=db_now() - UNWATCHED_SECONDS - 1)
    await note(world)
    assert await shown(world, id_) == ("DEGRADED", UNWATCHED)
    assert await shown(world, waiting.id) == ("OFFLINE", "")
    assert await statuses_below(world, below) == {"ONLINE"}
    (row,) = await world.store.operators.unreachable_groups()
    assert (row.reach.kind, row.reach.away, row.tenants) == ("unwatched", (), 1)

    await world.agent("a2")
    await says(world, "a2", a=True, b=True)
    await note(world)
    assert await shown(world, id_) == ("ONLINE", "")


async def test_a_group_that_was_out_of_reach_when_its_last_agent_went_stays_so(world: World) -> None:
    await world.agent("a1")
    id_, _ = await online(world)
    await says(world, "a1", a=False, b=False)
    await note(world)
    await world.store.ownership.end_session("a1", "session-of-a1")
    await world.change(schema.agent, "a1", session_expires_at=db_now() - UNWATCHED_SECONDS - 1)
    assert await news(world) == ()
    assert await shown(world, id_) == ("OFFLINE", NONE)


async def test_each_answer_to_the_observer_tells_whether_the_group_was_out_of_reach_meanwhile(world: World) -> None:
    await world.agent("a1")
    await says(world, "a1", a=True, b=True)
    common = await world.shard_of("")
    nothing = ReportStatus(agent_id="a1", session_id="session-of-a1", shard_id=common.id, epoch=1)
    asked = replace(nothing, expected_after="")

    async def told() -> int | None:
        receipt = await world.store.reports.record_observed(nothing)
        assert (
            await world.store.reports.read_expected_load_balancers(asked, limit=9)
        ).reached_count == receipt.reached_count
        return receipt.reached_count

    assert await told() == 0
    for times in (0, 1):
        for reached, count in ((False, times), (True, times + 1)):
            await says(world, "a1", a=reached, b=reached)
            await note(world)
            assert await told() == count
    await says(world, "a1", a=True, b=False)
    await note(world)
    assert await told() == 2, "no status was overwritten"


async def test_the_number_of_statements_does_not_depend_on_the_number_of_load_balancers(world: World) -> None:
    await world.agent("a1")
    await says(world, "a1", a=True, b=True)
    counts = []
    for count in (1, 40):
        for _ in range(count):
            await online(world)
        with statements() as sent:
            await world.store.scheduling.record_reachability("east", 1)
        assert len(sent.sent) <= 3
        await says(world, "a1", a=False, b=False)
        with statements() as sent:
            await world.store.scheduling.record_reachability("east", 1)
        counts.append(len(sent.sent))
        await says(world, "a1", a=True, b=True)
        await world.store.scheduling.record_reachability("east", 1)
    assert counts[0] == counts[1] <= 11
