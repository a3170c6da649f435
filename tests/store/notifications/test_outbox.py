"""The outbox of notifications on all databases: it is written by the transactions that complete the events."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from evenkeel.core.control.mirrors import MirroredSourceState
from evenkeel.core.control.notifications import OutboxState, PendingNotification
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.protocol.messages import ReportApplied
from evenkeel.core.resources.catalogue import Flavor, FlavorProfile
from evenkeel.core.resources.model import Listener, LoadBalancerTree, Vip
from evenkeel.core.status.lifecycle import LifecycleEvent
from evenkeel.core.status.outcomes import Applied
from evenkeel.store.engine.clock import db_now
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore, open_store
from tests.store.builders import (
    AGENT,
    PROJECT,
    SESSION,
    SHARD,
    bare,
    create,
    listener,
    load_balancer,
    placed,
    tree,
    vip,
)
from tests.store.conftest import BACKENDS, databases, statements_of

backend = databases(*BACKENDS)

CREATE, UPDATE, DELETE = LifecycleEvent.CREATE, LifecycleEvent.UPDATE, LifecycleEvent.DELETE


@pytest.fixture
async def notifying(store: SqlStore, database_url: str) -> AsyncIterator[SqlStore]:
    """The store with notifications."""
    opened = open_store(database_url, StoreOptions(notifications=True))
    yield opened
    await opened.close()


def report(*outcomes: tuple[str, int]) -> ReportApplied:
    return ReportApplied(
        agent_id=AGENT,
        session_id=SESSION,
        shard_id=SHARD,
        epoch=1,
        outcomes=tuple(Applied(load_balancer_id=id_, revision=revision) for id_, revision in outcomes),
    )


async def applied(store: SqlStore, load_balancer_id: str) -> None:
    """The device has the newest revision."""
    row = await stored(store, load_balancer_id)
    await store.reports.record_applied(report((load_balancer_id, row.revision)))


async def stored(store: SqlStore, load_balancer_id: str) -> Any:
    statement = schema.load_balancer.select().where(schema.load_balancer.c.id == load_balancer_id)
    return await store.database.read(lambda connection: connection.execute(statement).first())


async def entries(store: SqlStore) -> tuple[PendingNotification, ...]:
    return await store.notifications.read_oldest_notifications(100)


async def events(store: SqlStore) -> list[tuple[str, LifecycleEvent]]:
    return [(each.name, each.event) for each in await entries(store)]


async def test_events_of_a_life_are_entries_with_the_attributes_of_their_time(notifying: SqlStore) -> None:
    store = notifying
    await placed(store)
    root = (await create(store, tree(name="first", description="shop"))).load_balancer
    assert await entries(store) == ()
    await applied(store, root.id)
    await store.tenants.update_load_balancer(root.id, {"name": "second"}, project_id=None)
    await applied(store, root.id)
    await store.tenants.update_load_balancer(root.id, {"admin_state_up": False}, project_id=None)
    await applied(store, root.id)
    await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)
    assert len(await entries(store)) == 3
    await applied(store, root.id)
    assert await stored(store, root.id) is None
    made, renamed, disabled, gone = await entries(store)
    assert [made.event, renamed.event, disabled.event, gone.event] == [CREATE, UPDATE, UPDATE, DELETE]
    assert [made.name, renamed.name, gone.name] == ["first", "second", "second"]
    assert (made.admin_state_up, disabled.admin_state_up) == (True, False)
    assert (made.provisioning_status, made.operating_status) == ("ACTIVE", "ONLINE")
    assert (made.load_balancer_id, made.project_id, made.description) == (root.id, PROJECT, "shop")
    assert root.vip is not None
    assert made.vip_address == gone.vip_address == root.vip.address
    assert (made.vip_subnet_id, made.vip_port_id) == (root.vip.subnet_id, root.vip.port_id)
    assert (made.listener_ids, made.pool_ids) == (root.listener_ids, root.pool_ids)
    assert gone.listener_ids == ()
    assert made.id < renamed.id < disabled.id < gone.id
    assert made.at <= renamed.at <= disabled.at <= gone.at


async def test_changes_of_children_are_no_entries(notifying: SqlStore) -> None:
    store = notifying
    await placed(store)
    root = (await create(store)).load_balancer
    await applied(store, root.id)
    await store.tenants.add_listener(listener(load_balancer_id=root.id, protocol_port=9), project_id=None)
    await applied(store, root.id)
    await store.tenants.update_child(Listener, root.listener_ids[0], {"name": "x"}, project_id=None)
    await applied(store, root.id)
    await store.tenants.fail_over_load_balancer(root.id, project_id=None)
    await applied(store, root.id)
    assert [event for _, event in await events(store)] == [CREATE]


async def test_an_entry_has_the_data_of_the_flavor(notifying: SqlStore) -> None:
    store = notifying
    await placed(store)
    profile = FlavorProfile(id="profile", name="gold", provider_name="prod", flavor_data='{"size": "gold"}')
    await store.catalogue.add_catalogue_entry(profile)
    await store.catalogue.add_catalogue_entry(Flavor(id="flavor", name="gold", flavor_profile_id="profile"))
    root = (await create(store, tree(flavor_id="flavor"))).load_balancer
    await applied(store, root.id)
    (entry,) = await entries(store)
    assert (entry.flavor_id, entry.flavor) == ("flavor", {"size": "gold"})


async def test_a_load_balancer_removed_before_it_was_placed_is_a_deletion(notifying: SqlStore) -> None:
    root = (await create(notifying, bare(name="early"))).load_balancer
    await notifying.tenants.delete_load_balancer(root.id, cascade=False, project_id=None)
    assert await events(notifying) == [("early", DELETE)]


async def test_mirrored_load_balancers_have_the_same_events(notifying: SqlStore) -> None:
    store = notifying
    await placed(store)
    address = Vip(address="203.0.113.5", subnet_id="s", network_id="n", port_id="p")
    whole = tree(vip=address, name="one")
    await put(store, whole, 1.0)
    await applied(store, whole.load_balancer.id)
    await put(store, replace(whole, members=whole.members[:1]), 2.0)
    await applied(store, whole.load_balancer.id)
    await put(store, replace(whole, load_balancer=replace(whole.load_balancer, name="two")), 3.0)
    await applied(store, whole.load_balancer.id)
    await store.mirrors.remove_mirrored_load_balancer(whole.load_balancer.id, "prod", 4.0)
    await applied(store, whole.load_balancer.id)
    assert await events(store) == [("one", CREATE), ("two", UPDATE), ("two", DELETE)]


async def put(store: SqlStore, whole: LoadBalancerTree, snapshot: float) -> None:
    plan = VipPlan(subnet_id="s", network_id="n", port_id="p", address="203.0.113.5")
    state = MirroredSourceState(provider="prod", snapshot=snapshot, digest="d")
    await store.mirrors.put_mirrored_load_balancer(whole, plan, state)


async def test_a_pool_of_lbaas_v1_has_an_update_when_it_gets_its_vip(notifying: SqlStore) -> None:
    store = notifying
    await placed(store)
    made = tree(listeners=0)
    group = made.pools[0]
    made = replace(made, load_balancer=load_balancer(id=made.load_balancer.id, vip=None, root_pool_id=group.id))
    await store.tenants.create_load_balancer(made, None)
    await applied(store, made.load_balancer.id)
    await store.lbaas_v1.add_vip(listener(default_pool_id=group.id), vip(), None, project_id=None)
    await applied(store, made.load_balancer.id)
    without, with_vip = await entries(store)
    assert (without.event, without.vip_address, without.vip_port_id) == (CREATE, None, None)
    assert with_vip.event is UPDATE
    assert with_vip.vip_address is not None


async def test_without_notifications_nothing_is_written_and_no_statement_is_added(
    store: SqlStore, notifying: SqlStore
) -> None:
    await placed(store)
    first, second = [(await create(store, bare())).load_balancer for _ in range(2)]
    with statements_of(store.database) as off:
        await store.reports.record_applied(report((first.id, 1)))
    assert await entries(store) == ()
    with statements_of(notifying.database) as on:
        await notifying.reports.record_applied(report((second.id, 1)))
    found = await entries(store)
    assert len(found) == 1
    assert len(on) == len(off) + 1


async def test_reports_of_many_load_balancers_add_one_statement(notifying: SqlStore) -> None:
    await placed(notifying)
    made = [(await create(notifying, bare())).load_balancer for _ in range(6)]
    with statements_of(notifying.database) as one:
        await notifying.reports.record_applied(report((made[0].id, 1)))
    with statements_of(notifying.database) as many:
        await notifying.reports.record_applied(report(*((each.id, 1) for each in made[1:])))
    assert len(await entries(notifying)) == 6
    assert len(many) == len(one)


async def test_a_repeated_report_adds_no_entry(notifying: SqlStore) -> None:
    await placed(notifying)
    root = (await create(notifying, bare())).load_balancer
    for _ in range(2):
        await notifying.reports.record_applied(report((root.id, 1)))
    assert [event for _, event in await events(notifying)] == [CREATE]


async def test_entries_that_were_sent_are_removed_and_others_stay(notifying: SqlStore) -> None:
    ids = [each.id for each in await five(notifying)]
    await notifying.notifications.delete_notifications([ids[0], ids[1], ids[3]])
    assert [each.id for each in await entries(notifying)] == [ids[2], ids[4]]
    await notifying.notifications.delete_notifications([])
    assert len(await notifying.notifications.read_oldest_notifications(1)) == 1


async def test_the_oldest_entries_are_dropped(notifying: SqlStore) -> None:
    ids = [each.id for each in await five(notifying)]
    assert await notifying.notifications.drop_oldest_notifications(2) == 2
    assert [each.id for each in await entries(notifying)] == ids[2:]
    assert await notifying.notifications.drop_oldest_notifications(9) == 3
    assert await notifying.notifications.drop_oldest_notifications(9) == 0


async def test_the_state_has_number_and_age(notifying: SqlStore) -> None:
    assert await notifying.notifications.read_outbox_state() == OutboxState(count=0, oldest_seconds=0.0)
    await five(notifying)
    table = schema.notification
    older = update(table).values(at=db_now() - 100.0)
    await notifying.database.write(lambda connection: connection.execute(older))
    found = await notifying.notifications.read_outbox_state()
    assert found.count == 5
    assert found.oldest_seconds >= 100.0


async def five(store: SqlStore) -> tuple[PendingNotification, ...]:
    await placed(store)
    made = [(await create(store, bare())).load_balancer for _ in range(5)]
    await store.reports.record_applied(report(*((each.id, 1) for each in made)))
    return await entries(store)


async def test_one_controller_has_the_turn_until_it_expires_or_is_given_back(store: SqlStore) -> None:
    turns = store.notifications
    assert sorted(await asyncio.gather(turns.take_sender_lease("a", 30), turns.take_sender_lease("b", 30))) == [
        False,
        True,
    ]
    holder, other = ("a", "b") if await turns.take_sender_lease("a", 30) else ("b", "a")
    assert not await turns.take_sender_lease(other, 30)
    expired = update(schema.notification_lease).values(expires_at=db_now() - 1.0)
    await store.database.write(lambda connection: connection.execute(expired))
    assert await turns.take_sender_lease(other, 30)
    assert not await turns.take_sender_lease(holder, 30)
    await turns.take_sender_lease(other, 0)
    assert await turns.take_sender_lease(holder, 30)
