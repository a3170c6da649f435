"""The past of a load balancer, controllers, and who may write to which devices."""

import pytest

from evenkeel.core.control.overview import ControllerHeartbeat
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.kit.request_context import begin_request, record_request_user
from evenkeel.core.protocol.messages import ReportApplied
from evenkeel.core.status.outcomes import Applied
from evenkeel.store.operators.overview import SHARDS_SHOWN
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from evenkeel.store.writing.revisions import REVISIONS_KEPT
from tests.store.builders import AGENT, SESSION, SHARD, add_agent, add_shard, create, new_id, placed


async def report(store: SqlStore, load_balancer_id: str, revision: int, error: str = "") -> None:
    shard = await store.operators.shard(SHARD)
    outcome = Applied(load_balancer_id=load_balancer_id, revision=revision, error=error)
    await store.reports.record_applied(
        ReportApplied(agent_id=AGENT, session_id=SESSION, shard_id=SHARD, epoch=shard.epoch, outcomes=(outcome,))
    )


async def change(store: SqlStore, load_balancer_id: str, name: str) -> None:
    await store.tenants.update_load_balancer(load_balancer_id, {"name": name}, project_id=None)


async def test_each_revision_has_who_requested_it_and_who_applied_it(store: SqlStore) -> None:
    await placed(store)
    request_id = begin_request()
    record_request_user(name="alice", user_id="u-1", project_id="p1", address="192.0.2.1")
    made = (await create(store)).load_balancer.id
    second = begin_request()
    record_request_user(name="bob", user_id="u-2", project_id="p2", address="192.0.2.1")
    await change(store, made, "renamed")
    await report(store, made, 1)
    newest, first = await store.operators.revisions(made)
    assert (first.number, first.user, first.project_id, first.request_id) == (1, "alice", "p1", request_id)
    assert (first.agent_id, first.problem) == (AGENT, "")
    shard = await store.operators.shard(SHARD)
    agent = await store.operators.agent(AGENT)
    assert (first.epoch, first.host) == (shard.epoch, agent.host)
    assert first.applied_at is not None and first.applied_at >= first.accepted_at
    assert (newest.number, newest.user, newest.request_id, newest.applied_at) == (2, "bob", second, None)


async def test_a_failure_is_reported_until_it_is_applied(store: SqlStore) -> None:
    await placed(store)
    made = (await create(store)).load_balancer.id
    await change(store, made, "x")
    await report(store, made, 2, error="the device has no room")
    newest, first = await store.operators.revisions(made)
    assert {newest.problem, first.problem} == {"the device has no room"}
    assert newest.applied_at is None and newest.agent_id == AGENT
    await report(store, made, 2)
    newest, first = await store.operators.revisions(made)
    assert {newest.problem, first.problem} == {""}
    assert newest.applied_at is not None and first.applied_at is not None


async def test_a_bounded_number_is_kept_and_goes_with_the_load_balancer(store: SqlStore) -> None:
    await placed(store)
    made = (await create(store)).load_balancer.id
    for number in range(REVISIONS_KEPT + 3):
        await change(store, made, f"name-{number}")
    kept = await store.operators.revisions(made)
    assert [row.number for row in kept] == list(range(REVISIONS_KEPT + 4, 4, -1))
    await store.tenants.delete_load_balancer(made, cascade=True, project_id=None)
    (row,) = await store.database.read(
        lambda connection: connection.execute(schema.load_balancer.select().where(schema.load_balancer.c.id == made))
    )
    await report(store, made, row.revision)
    with pytest.raises(NotFound):
        await store.operators.revisions(made)
    left = await store.database.read(
        lambda connection: connection.execute(schema.load_balancer_revision.select()).all()
    )
    assert not [row for row in left if row.load_balancer_id == made]


async def test_load_balancer_that_does_not_exist_has_no_past(store: SqlStore) -> None:
    with pytest.raises(NotFound):
        await store.operators.revisions(LoadBalancerId(new_id()))


async def test_controllers_come_stay_and_go(store: SqlStore) -> None:
    one = ControllerHeartbeat(id=new_id(), host="c-1", url="http://c-1:9876", version="1")
    other = ControllerHeartbeat(id=new_id(), host="c-2", url="http://c-2:9876", version="1", message_broker="refused")
    for seen in (one, other, one):
        await store.scheduling.record_heartbeat(seen)
    first, second = await store.operators.controllers()
    assert (first.id, first.alive, first.message_broker) == (one.id, True, "")
    assert (second.id, second.message_broker) == (other.id, "refused")
    controller = schema.controller
    for ago, left in ((60.0, 2), (3600.0, 1)):
        await store.database.write(
            lambda connection, ago=ago: connection.execute(
                controller.update().where(controller.c.id == other.id).values(seen_at=controller.c.started_at - ago)
            )
        )
        await store.scheduling.record_heartbeat(one)
        found = await store.operators.controllers()
        assert len(found) == left
        assert [row.alive for row in found] == [True, False][:left]
    again = ControllerHeartbeat(id=new_id(), host=one.host, url=one.url, version="2")
    await store.scheduling.record_heartbeat(again)  # the same one, killed and started again
    assert [row.id for row in await store.operators.controllers()] == [again.id]
    await store.scheduling.delete_controller(again.id)
    assert await store.operators.controllers() == ()


async def test_few_shards_are_shown_one_by_one_and_many_by_their_number(store: SqlStore) -> None:
    await add_agent(store)
    common = new_id()
    await add_shard(store, common, project_id=COMMON_PROJECT, acting_agent_id=AGENT, epoch=99)
    for number in range(SHARDS_SHOWN):
        await add_shard(store, new_id(), project_id=f"p-{number}", acting_agent_id=AGENT, epoch=number)
    few = await store.operators.ownership()
    assert [(line.agent_id, line.count, line.newest_epoch) for line in few.lines] == [
        (AGENT, SHARDS_SHOWN, SHARDS_SHOWN - 1)
    ]
    assert [shard.project_id for shard in few.shards][:2] == [COMMON_PROJECT, "p-0"]
    assert len(few.shards) == SHARDS_SHOWN + 1
    await add_shard(store, new_id(), project_id="one-more", acting_agent_id=AGENT)
    many = await store.operators.ownership()
    assert many.lines[0].count == SHARDS_SHOWN + 1
    assert [shard.id for shard in many.shards] == [common]
    assert (await store.operators.ownership(environment="another")).lines == ()
    assert [agent.id for agent in many.agents] == [AGENT]
