from typing import Any

import pytest

from evenkeel.core.control.events import Event
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ShardId
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import (
    AGENT,
    PROJECT,
    SHARD,
    add_agent,
    add_shard,
    bare,
    confirm,
    create,
    ids,
    next_moment,
    placed,
)
from tests.store.plans import plan_of


async def kinds(store: SqlStore) -> list[str]:
    return [event.kind for event in await store.operators.events()]


# -- agents


async def test_agents_come_with_their_load(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, "agent-2")
    await add_shard(store, "shard-2", project_id="other", acting_agent_id="agent-2")
    for _ in range(2):
        await create(store, bare())
    await create(store, bare(project_id="other"))

    first, second = await store.operators.agents()

    assert (first.id, first.acting_shards, first.home_shards, first.load_balancers) == (AGENT, 1, 2, 3)
    assert (second.id, second.acting_shards, second.home_shards, second.load_balancers) == ("agent-2", 1, 0, 0)
    assert first == await store.operators.agent(AGENT)


async def test_shards_are_counted_by_environment_and_as_unserved_without_a_live_agent(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, "agent-2", ttl_seconds=-1.0)
    await add_shard(store, "shard-2", project_id="other", acting_agent_id="agent-2")
    await add_shard(store, "shard-3", project_id="third", acting_agent_id=None)

    (counted,) = await store.operators.shard_counts()

    assert (counted.environment, counted.total, counted.unserved) == ("prod", 3, 2)


@pytest.mark.parametrize(("ttl_seconds", "alive"), [(600.0, True), (-1.0, False), (None, False)])
async def test_an_agent_is_alive_while_its_session_stands(
    store: SqlStore, ttl_seconds: float | None, alive: bool
) -> None:
    await add_agent(store, ttl_seconds=ttl_seconds)

    assert (await store.operators.agent(AGENT)).alive is alive


async def test_reported_state_of_an_agent_is_read_back(store: SqlStore) -> None:
    await add_agent(
        store,
        endpoints='["10.0.0.1"]',
        configurations='{"a":"b"}',
        devices='[{"name":"d","reachable":true}]',
        queue_depth=4,
    )

    agent = await store.operators.agent(AGENT)

    assert (agent.endpoints, agent.configurations, agent.queue_depth) == (("10.0.0.1",), {"a": "b"}, 4)
    assert (agent.devices[0].name, agent.devices[0].reachable) == ("d", True)


async def test_agents_are_ordered_and_filtered(store: SqlStore) -> None:
    for agent_id, values in {
        "a": {"group": 2},
        "b": {"group": 1, "host": "z"},
        "c": {"group": 1, "host": "y"},
        "d": {"environment": "dev"},
    }.items():
        await add_agent(store, agent_id, **values)

    assert ids(await store.operators.agents()) == ["d", "c", "b", "a"]
    assert ids(await store.operators.agents(environment="prod")) == ["c", "b", "a"]


async def test_an_unknown_agent_is_not_found(store: SqlStore) -> None:
    for ask in (
        store.operators.agent("nope"),
        store.operators.set_agent_admin_state("nope", False),
        store.operators.delete_agent("nope"),
        store.operators.load_balancers_on_agent("nope", ListQuery()),
    ):
        with pytest.raises(NotFound, match="Agent nope not found"):
            await ask


async def test_the_admin_state_is_set_and_reported_once(store: SqlStore) -> None:
    await add_agent(store)

    assert not (await store.operators.set_agent_admin_state(AGENT, False)).admin_state_up
    assert not (await store.operators.set_agent_admin_state(AGENT, False)).admin_state_up
    assert (await store.operators.set_agent_admin_state(AGENT, True)).admin_state_up
    assert await kinds(store) == ["environment_added", "agent_drained", "agent_undrained"]


# -- deleting agents


async def test_an_agent_that_is_alive_stays(store: SqlStore) -> None:
    await add_agent(store)

    with pytest.raises(Conflict, match="is alive"):
        await store.operators.delete_agent(AGENT)


async def test_a_home_of_load_balancers_stays_and_states_what_to_do(store: SqlStore) -> None:
    await add_agent(store, ttl_seconds=None)
    await add_shard(store)
    await create(store, bare())
    await create(store, bare())

    with pytest.raises(Conflict, match=r"is home to 2 load balancers.*--rebind-to.*drain"):
        await store.operators.delete_agent(AGENT)


async def test_an_idle_agent_goes_and_its_shards_find_another_home(store: SqlStore) -> None:
    await add_agent(store, ttl_seconds=None)
    await add_agent(store, "agent-2")
    await add_shard(store)
    common = {"project_id": "", "home_agent_id": "agent-2", "acting_agent_id": "agent-2"}
    await add_shard(store, "shard-2", **common, handover_to=AGENT, epoch=3)
    before = await store.operators.agent("agent-2")

    await store.operators.delete_agent(AGENT)

    assert ids(await store.operators.agents()) == ["agent-2"]
    shared, tenants = await store.operators.shards()
    assert (shared.id, shared.acting_agent_id, shared.handover_to, shared.epoch) == ("shard-2", "agent-2", None, 3)
    assert (tenants.id, tenants.home_agent_id, tenants.acting_agent_id) == (SHARD, "agent-2", None)
    assert (await store.operators.agent("agent-2")).assignments_revision == before.assignments_revision + 1
    assert (await kinds(store))[-1] == "agent_deleted"


async def test_the_last_agent_of_a_group_leaves_its_shards_for_the_next(store: SqlStore) -> None:
    await add_agent(store, ttl_seconds=None)
    await add_shard(store, epoch=9)

    await store.operators.delete_agent(AGENT)

    (left,) = await store.operators.shards()
    assert (left.epoch, left.acting_agent_id) == (9, None)


# -- shards and load balancers


async def test_load_balancers_on_an_agent_are_those_it_acts_for_or_is_home_to(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, "agent-2")
    await add_shard(store, "shard-2", project_id="other", home_agent_id="agent-2", acting_agent_id=AGENT)
    mine = (await create(store, bare())).load_balancer
    await next_moment(store)
    theirs = (await create(store, bare(project_id="other"))).load_balancer

    async def on(agent_id: str, **query: Any) -> list[str]:
        return ids((await store.operators.load_balancers_on_agent(agent_id, ListQuery(**query))).items)

    assert await on(AGENT) == [mine.id, theirs.id]
    assert await on("agent-2") == [theirs.id]
    assert await on(AGENT, limit=1, marker=mine.id) == [theirs.id]


async def test_hosting_is_the_shard(store: SqlStore) -> None:
    waiting = (await create(store, bare())).load_balancer
    await placed(store)
    served = (await create(store, bare())).load_balancer

    assert await store.operators.shard_of_load_balancer(waiting.id) is None
    shard = await store.operators.shard_of_load_balancer(served.id)
    assert shard is not None
    assert (shard.id, shard.acting_agent_id, shard.epoch) == (SHARD, AGENT, 1)
    with pytest.raises(NotFound, match="Load Balancer nope"):
        await store.operators.shard_of_load_balancer("nope")


async def test_place_in_line_counts_earlier_changes_that_wait_for_the_same_agent(store: SqlStore) -> None:
    unplaced = []
    for _ in range(3):
        unplaced.append((await create(store, bare())).load_balancer)
        await next_moment(store)
    # settled: all were created; the moments only part them
    assert [await store.operators.position_in_queue(each.id) for each in unplaced] == [0, 1, 2]
    await placed(store)
    await add_shard(store, "s2", project_id="p2")
    await add_shard(store, "s3", project_id="p3", acting_agent_id="other")
    waiting = []
    for project in ("p2", PROJECT, "p3", "p2"):
        waiting.append((await create(store, bare(project_id=project))).load_balancer)
        await next_moment(store)
    # settled: all were created; the moments only part them
    assert [await store.operators.position_in_queue(each.id) for each in waiting] == [0, 1, 0, 2]
    await confirm(store, waiting[0].id)
    assert [await store.operators.position_in_queue(each.id) for each in waiting] == [0, 0, 0, 1]
    assert await store.operators.position_in_queue(LoadBalancerId("nope")) == 0


async def test_shards_are_ordered_and_filtered(store: SqlStore) -> None:
    await placed(store)
    await add_shard(store, "s2", environment="dev", home_agent_id="x", acting_agent_id="y")
    await add_shard(store, "s3", project_id="", home_agent_id="x", acting_agent_id=AGENT)

    assert ids(await store.operators.shards()) == ["s2", "s3", SHARD]
    assert ids(await store.operators.shards(environment="prod")) == ["s3", SHARD]
    assert ids(await store.operators.shards(agent_id="x")) == ["s2", "s3"]
    assert ids(await store.operators.shards(agent_id="y")) == ["s2"]


# -- events and counts


async def test_events_are_read_forwards_or_from_the_end(store: SqlStore) -> None:
    for number in range(5):
        await store.scheduling.add_event(Event(kind="k", text=str(number)))

    first = await store.operators.events(limit=3)
    rest = await store.operators.events(after=first[-1].id)
    last = await store.operators.events(limit=2, newest=True)

    assert [event.text for event in (*first[1:], *rest)] == ["0", "1", "2", "3", "4"]
    assert [event.text for event in last] == ["3", "4"]
    assert await store.operators.events(after=last[-1].id, newest=True) == ()
    assert all(event.at > 0 for event in first)


async def test_events_of_one_object(store: SqlStore) -> None:
    for event in (
        Event(kind="k", text="t", agent_id=AgentId("x")),
        Event(kind="k", text="t", shard_id=ShardId("x")),
        Event(kind="k", text="t", load_balancer_id=LoadBalancerId("y")),
    ):
        await store.scheduling.add_event(event)
    assert [event.agent_id or event.shard_id for event in await store.operators.events(object_id="x")] == ["x", "x"]
    assert len(await store.operators.events(object_id="y", newest=True)) == 1


async def test_events_of_one_object_are_the_first_or_last_of_them(store: SqlStore) -> None:
    for number in range(3):
        await store.scheduling.add_event(Event(kind="k", text=f"{number}", agent_id=AgentId("x")))
        await store.scheduling.add_event(Event(kind="k", text=f"{number}", shard_id=ShardId("x")))
        await store.scheduling.add_event(Event(kind="k", text="other", agent_id=AgentId("y")))
    both = Event(kind="k", text="3", agent_id=AgentId("x"), shard_id=ShardId("x"))
    await store.scheduling.add_event(both)

    async def texts(**options: Any) -> list[str]:
        return [event.text for event in await store.operators.events(object_id="x", **options)]

    assert await texts() == list("0011223")
    assert await texts(limit=3) == list("001")
    assert await texts(limit=3, newest=True) == list("223")
    first = (await store.operators.events(object_id="x"))[0]
    assert await texts(limit=3, after=first.id) == list("011")
    assert await texts(limit=0) == []


async def test_events_of_one_object_are_found_by_indexes(store: SqlStore) -> None:
    plan = await plan_of(store, lambda: store.operators.events(object_id="x", newest=True, limit=20))
    for column in ("agent_id", "shard_id", "load_balancer_id"):
        assert f"ix_event_{column}" in plan


async def test_ids_that_begin_alike(store: SqlStore) -> None:
    made = (await create(store, bare())).load_balancer
    found = await store.operators.find_ids_by_prefix(made.id[:8], limit=10)
    assert (found["loadbalancers"], found["agents"]) == ((made.id,), ())
    assert (await store.operators.find_ids_by_prefix("%", limit=10))["loadbalancers"] == ()


async def test_the_summary_states_how_long_the_oldest_change_is_pending(store: SqlStore) -> None:
    assert (await store.operators.load_balancer_summary()).oldest_pending_seconds == 0
    made = (await create(store, bare())).load_balancer
    await create(store, bare())
    table = schema.load_balancer
    long_ago = table.update().where(table.c.id == made.id).values(created_at=1000.0, updated_at=None)
    await store.database.write(lambda connection: connection.execute(long_ago))
    assert (await store.operators.load_balancer_summary()).oldest_pending_seconds > 1e9
    await confirm(store, made.id)
    assert (await store.operators.load_balancer_summary()).oldest_pending_seconds < 1e9


async def test_the_summary_counts_every_status(store: SqlStore) -> None:
    confirmed = (await create(store, bare())).load_balancer
    await create(store, bare())
    await confirm(store, confirmed.id)

    summary = await store.operators.load_balancer_summary()
    assert summary.by_status == {
        "ACTIVE": 1,
        "PENDING_CREATE": 1,
        "PENDING_UPDATE": 0,
        "PENDING_DELETE": 0,
        "ERROR": 0,
    }
    assert summary.waiting == 0
    for status, waiting in (("ACTIVE", 0), ("PENDING_UPDATE", 1)):
        changed = {"status_reason": "device a: no answer", "provisioning_status": status}
        table = schema.load_balancer
        change = table.update().where(table.c.id == confirmed.id).values(**changed)
        await store.database.write(lambda connection, change=change: connection.execute(change))  # type: ignore[misc]
        assert (await store.operators.load_balancer_summary()).waiting == waiting


async def test_deleting_an_agent_leaves_other_environments_alone(store: SqlStore) -> None:
    await add_agent(store, ttl_seconds=None)
    await add_shard(store, "s2", environment="dev", home_agent_id=AGENT)

    await store.operators.delete_agent(AGENT)

    row = await store.database.read(lambda connection: connection.execute(schema.shard.select()).one())
    assert row.home_agent_id == AGENT
