"""What looks at devices find amiss: what is expected, what is shown, who is told."""

from typing import Any

from evenkeel.core.protocol.messages import ReportReceipt, ReportStatus
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.outcomes import ObservedStatus
from evenkeel.store.records import schema
from evenkeel.store.reports.findings import ABSENT_REASON
from tests.store.ownership_world import World, applied, statements, world_fixture

__all__ = ["world_fixture"]


async def report(world: World, **parts: Any) -> ReportStatus:
    common = await world.shard_of("")
    return ReportStatus(agent_id="a1", session_id="session-of-a1", shard_id=common.id, epoch=common.epoch, **parts)


async def find(world: World, **parts: Any) -> list[tuple[str, tuple[str, ...], bool]]:
    """Host, load balancers and completeness of what is to be looked at."""
    looks = await world.store.reports.record_findings(await report(world, **parts))
    return [(look.owner.host, look.load_balancer_ids, look.complete) for look in looks]


async def expected(world: World, after: str = "", limit: int = 100) -> ReportReceipt:
    return await world.store.reports.read_expected_load_balancers(
        await report(world, expected_after=after), limit=limit
    )


async def confirmed(world: World, **changes: Any) -> str:
    load_balancer = await world.placed(**changes)
    await world.report(applied(load_balancer.id), project_id=load_balancer.project_id)
    return load_balancer.id


async def test_expected_load_balancers_are_the_confirmed_ones_page_by_page(world: World) -> None:
    await world.agent("a1")
    ids = sorted([await confirmed(world) for _ in range(3)])
    deleted, leaving, bare, returning = [await confirmed(world) for _ in range(4)]
    await world.change(schema.load_balancer, deleted, deleted=True)
    await world.change(schema.load_balancer, leaving, vip_leaving_revision=2)
    await world.change(schema.load_balancer, bare, vip_network_id="")
    # confirmed without the VIP that its pool has got again
    await world.change(schema.load_balancer, returning, root_pool_id="v1-pool", revision=3, applied_revision=2)
    await world.placed()  # not confirmed yet
    await world.agent("b1", group_number=2, endpoints=("10.0.1.1",))
    elsewhere = await world.load_balancer(project_id="p2")
    await world.store.scheduling.place_load_balancer(elsewhere.id, "east", "p2", 2, "b1")
    await world.change(schema.load_balancer, elsewhere.id, applied_revision=1)

    assert await expected(world) == ReportReceipt(expected=tuple(ids), reached_count=0)
    assert await expected(world, limit=2) == ReportReceipt(expected=tuple(ids[:2]), more=True, reached_count=0)
    assert await expected(world, after=ids[1], limit=2) == ReportReceipt(expected=(ids[2],), reached_count=0)
    await find(world, absent=(ids[1],))
    assert (await expected(world)).absent == (ids[1],)
    stale = ReportStatus(agent_id="a2", session_id="session-of-a2", shard_id="x", epoch=1, expected_after="")
    assert (await world.store.reports.read_expected_load_balancers(stale, limit=1)).stale


async def test_an_absent_load_balancer_is_an_error_with_all_below_it_until_it_is_seen(world: World) -> None:
    await world.agent("a1")
    id_ = await confirmed(world)
    below = await world.tree(await world.placed(id=f"{id_[:-1]}x"))
    below.pop("monitor")
    for kind, child in below.items():
        await world.change(schema.metadata.tables[kind], child, load_balancer_id=id_, operating_status="ONLINE")
    for _ in range(2):  # the hint may be lost, so it is repeated; the event is not
        assert await find(world, absent=(id_,)) == [("host-of-a1", (id_,), True)]
    row = await world.load_balancer_row(id_)
    assert (row.operating_status, row.operating_reason) == ("ERROR", ABSENT_REASON)
    assert row.provisioning_status == "ACTIVE"
    for kind, child in below.items():
        assert (await world.row(schema.metadata.tables[kind], child)).operating_status == "ERROR"

    assert await find(world, present=(id_,)) == []
    row = await world.load_balancer_row(id_)
    assert (row.operating_status, row.operating_reason) == ("OFFLINE", "")
    online = ObservedStatus(kind="loadbalancer", id=id_, status=OperatingStatus.ONLINE)
    await world.store.reports.record_observed(await report(world, statuses=(online,)))
    assert await find(world, present=(id_,)) == []
    assert (await world.load_balancer_row(id_)).operating_status == "ONLINE"
    told = await world.events("load_balancer_absent", "load_balancer_present")
    assert [(row.kind, row.load_balancer_id) for row in told] == [
        ("load_balancer_absent", id_),
        ("load_balancer_present", id_),
    ]
    assert id_ in told[0].text and "east/1" in told[0].text


async def test_load_balancer_being_created_or_deleted_is_not_absent(world: World) -> None:
    await world.agent("a1")
    new = (await world.placed()).id
    leaving = await confirmed(world)
    await world.change(schema.load_balancer, leaving, deleted=True)
    assert await find(world, absent=(new, leaving, "gone"), changed=(new, leaving)) == []
    assert not await world.events("load_balancer_absent")


async def test_changed_load_balancer_is_hinted_to_its_owner_unless_a_change_is_pending(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    first, second, third = [await confirmed(world) for _ in range(3)]
    other = await world.load_balancer(project_id="p2")
    await world.store.scheduling.place_load_balancer(other.id, "east", "p2", 1, "a2")
    await world.report(applied(other.id), agent_id="a2", project_id="p2")
    await world.tenant_changes(second)
    looks = await find(world, changed=(first, second, other.id), lacking={third: "device b"})
    assert sorted(looks) == sorted(
        [("host-of-a1", tuple(sorted((first, third))), True), ("host-of-a2", (other.id,), False)]
    )
    assert (await world.load_balancer_row(first)).operating_reason == ""
    assert await find(world, changed=(first,)) == [("host-of-a1", (first,), False)]
    await world.expire("a1")  # it may come back with its workers: what is sent to it meanwhile waits for it
    assert await find(world, changed=(first,)) == [("host-of-a1", (first,), False)]


async def test_a_device_that_may_hold_anything_is_for_all_agents_of_its_group(world: World) -> None:
    for agent_id, number in (("a1", 1), ("a2", 1), ("b1", 2)):
        await world.agent(agent_id, group_number=number, endpoints=(f"10.0.{number}.1",))
    assert sorted(await find(world, renewed=("a",))) == [("host-of-a1", (), True), ("host-of-a2", (), True)]
    await world.expire("a2")
    assert sorted(await find(world, renewed_before=("a",))) == [("host-of-a1", (), True), ("host-of-a2", (), True)]
    (event,) = await world.events("device_renewed")
    assert "device a of device group east/1" in event.text


async def test_findings_of_others_than_the_observer_change_nothing(world: World) -> None:
    await world.agent("a1")
    await world.agent("a2")
    id_ = await confirmed(world)
    common = await world.shard_of("")
    stale = ReportStatus(
        agent_id="a2", session_id="session-of-a2", shard_id=common.id, epoch=common.epoch, absent=(id_,), renewed=("a",)
    )
    assert await world.store.reports.record_findings(stale) == ()
    assert not await world.events("load_balancer_absent", "device_renewed")
    assert (await world.load_balancer_row(id_)).operating_reason == ""


async def test_the_number_of_statements_and_events_does_not_depend_on_how_many_are_amiss(world: World) -> None:
    await world.agent("a1")
    counts = []
    for count in (1, 30):
        ids = tuple([await confirmed(world) for _ in range(count)])
        for parts in ({"absent": ids}, {"present": ids}, {"changed": ids}):
            with statements() as sent:
                await find(world, **parts)
            counts.append(len(sent.sent))
        with statements() as sent:
            await expected(world)
        assert len(sent.sent) == 3  # one of them is the test's own look for the common shard
    assert counts[:3] == counts[3:]
    assert len(await world.events("load_balancer_absent")) == 2
