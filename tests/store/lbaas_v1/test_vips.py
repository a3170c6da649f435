"""Vips of LBaaS v1: they bring a VIP, and its address stays taken until the device has let go of it."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import update

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.service import NO_VIP, service_definition_of_tree
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import Conflict, NetworkUnavailable, NotFound, QuotaReached
from evenkeel.core.networking.network import PortClaim, lbaas_v1_port_mark
from evenkeel.core.protocol.messages import ReportApplied
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Pool, SessionPersistence
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.status.outcomes import Applied
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore, open_store
from tests.store.builders import (
    AGENT,
    PROJECT,
    SESSION,
    SHARD,
    bare,
    column,
    create,
    listener,
    load_balancer,
    member,
    monitor,
    new_id,
    placed,
    pool,
    vip,
)
from tests.store.conftest import ON_ALL, statements_of

LATER = Backoff(initial_seconds=300.0, max_seconds=300.0)

PERSISTENCE = SessionPersistence(type="SOURCE_IP")


def rooted(pool_id: str | None = None, **values: Any) -> LoadBalancerTree:
    """A load balancer made for a pool."""
    pool_id = pool_id or new_id()
    root = load_balancer(vip=None, root_pool_id=pool_id)
    return LoadBalancerTree(
        load_balancer=root, pools=(pool(id=pool_id, load_balancer_id=root.id, subnet_id="subnet-1", **values),)
    )


async def make_pool(store: SqlStore) -> Pool:
    change = await store.tenants.create_load_balancer(rooted(), None)
    assert change.tree is not None
    return change.tree.pools[0]


async def make_vip(store: SqlStore, pool_id: str, **plan: Any) -> Change:
    row = listener(default_pool_id=pool_id)
    return await store.lbaas_v1.add_vip(row, vip(**plan), PERSISTENCE, project_id=PROJECT)


async def applied(store: SqlStore, load_balancer_id: str, revision: int | None = None) -> None:
    """The device has confirmed it."""
    if revision is None:
        revision = (await store.tenants.get(LoadBalancer, load_balancer_id, project_id=None)).revision
    outcome = Applied(load_balancer_id=load_balancer_id, revision=revision)
    await store.reports.record_applied(
        ReportApplied(agent_id=AGENT, session_id=SESSION, shard_id=SHARD, epoch=1, outcomes=(outcome,))
    )


async def test_a_pool_without_vip_is_for_its_device_nothing_and_becomes_active(store: SqlStore) -> None:
    await placed(store)
    made = await make_pool(store)
    service = service_definition_of_tree(await store.tenants.tree(made.load_balancer_id, project_id=None))
    assert (service.deleted, service.vip, service.pools) == (True, NO_VIP, ())

    await applied(store, made.load_balancer_id)

    root = await store.tenants.get(LoadBalancer, made.load_balancer_id, project_id=None)
    assert (root.provisioning_status, root.vip) == (ProvisioningStatus.ACTIVE, None)
    stored = await store.tenants.get(Pool, made.id, project_id=None)
    assert (stored.provisioning_status, stored.subnet_id) == (ProvisioningStatus.ACTIVE, "subnet-1")


async def test_a_vip_brings_its_pool_a_listener_an_address_and_persistence(store: SqlStore) -> None:
    await placed(store)
    made = await make_pool(store)
    await applied(store, made.load_balancer_id)

    change = await make_vip(store, made.id, address="10.0.0.9", port_id="port")

    tree = await store.tenants.tree(made.load_balancer_id, project_id=None)
    root = tree.load_balancer
    assert root.vip is not None
    assert (root.vip.address, root.vip.port_id, root.revision) == ("10.0.0.9", "port", change.revision)
    assert root.provisioning_status is ProvisioningStatus.PENDING_UPDATE
    assert tree.pools[0].session_persistence == PERSISTENCE
    assert tree.pools[0].provisioning_status is ProvisioningStatus.PENDING_UPDATE
    service = service_definition_of_tree(tree)
    assert not service.deleted
    assert [row.default_pool_id for row in service.listeners] == [made.id]
    assert change.owner is not None


async def test_without_an_address_a_free_one_is_taken(store: SqlStore) -> None:
    await create(store, bare(), address="10.0.0.1")
    narrow = {"allocation_start": "10.0.0.1", "allocation_end": "10.0.0.2"}
    first, second = await make_pool(store), await make_pool(store)

    await make_vip(store, first.id, **narrow)

    root = await store.tenants.get(LoadBalancer, first.load_balancer_id, project_id=None)
    assert root.vip.address == "10.0.0.2"
    with pytest.raises(Conflict, match="no free VIP address"):
        await make_vip(store, second.id, **narrow)


@ON_ALL
async def test_an_address_is_given_once(store: SqlStore) -> None:
    pools = [await make_pool(store) for _ in range(6)]

    answers = await asyncio.gather(
        *(make_vip(store, each.id, address="10.0.0.9") for each in pools), return_exceptions=True
    )

    assert sum(isinstance(answer, Change) for answer in answers) == 1
    assert {answer.code for answer in answers if isinstance(answer, Conflict)} == {"address_taken"}
    with pytest.raises(Conflict, match=r"10\.0\.0\.9 is in use"):
        await create(store, bare(), address="10.0.0.9")


@ON_ALL
async def test_a_pool_has_one_vip(store: SqlStore) -> None:
    made = await make_pool(store)

    answers = await asyncio.gather(*(make_vip(store, made.id) for _ in range(6)), return_exceptions=True)

    assert sum(isinstance(answer, Change) for answer in answers) == 1
    assert {answer.code for answer in answers if isinstance(answer, Conflict)} == {"vip_exists"}


async def test_a_pool_of_a_load_balancer_gets_no_second_vip(store: SqlStore) -> None:
    stored = await create(store)

    with pytest.raises(Conflict, match=f"is of load balancer {stored.load_balancer.id}, which has the VIP"):
        await make_vip(store, stored.pools[0].id)


async def test_the_address_is_free_once_the_device_has_let_go_of_it(store: SqlStore) -> None:
    await placed(store)
    made = await make_pool(store)
    listener_id = (await make_vip(store, made.id, address="10.0.0.9")).resources[0].id
    await applied(store, made.load_balancer_id)

    gone = await store.tenants.delete_child(Listener, listener_id, project_id=PROJECT)

    tree = await store.tenants.tree(made.load_balancer_id, project_id=None)
    assert tree.load_balancer.vip is not None
    assert tree.load_balancer.vip_leaving_revision == gone.revision
    assert service_definition_of_tree(tree).deleted
    for refused in (make_vip(store, made.id), create(store, bare(), address="10.0.0.9")):
        with pytest.raises(Conflict):
            await refused
    await applied(store, made.load_balancer_id, gone.revision - 1)
    with pytest.raises(Conflict, match="has not released yet"):
        await make_vip(store, made.id)

    await store.tenants.add_members((member(pool_id=made.id),), project_id=PROJECT)
    await applied(store, made.load_balancer_id)

    root = await store.tenants.get(LoadBalancer, made.load_balancer_id, project_id=None)
    assert (root.vip, root.vip_leaving_revision) == (None, None)
    assert root.provisioning_status is ProvisioningStatus.ACTIVE
    with pytest.raises(NotFound):
        await store.tenants.get(Listener, listener_id, project_id=None)
    await make_vip(store, made.id, address="10.0.0.9")
    assert not service_definition_of_tree(await store.tenants.tree(made.load_balancer_id, project_id=None)).deleted


async def test_vip_that_was_never_placed_frees_its_address_at_once(store: SqlStore) -> None:
    made = await make_pool(store)
    listener_id = (await make_vip(store, made.id, address="10.0.0.9")).resources[0].id

    await store.tenants.delete_child(Listener, listener_id, project_id=PROJECT)

    await create(store, bare(), address="10.0.0.9")
    await make_vip(store, made.id)


async def test_the_vip_stays_with_another_listener(store: SqlStore) -> None:
    made = await make_pool(store)
    first = (await make_vip(store, made.id)).resources[0]
    await store.tenants.add_listener(
        listener(load_balancer_id=made.load_balancer_id, protocol_port=81, default_pool_id=made.id),
        project_id=PROJECT,
    )

    await store.tenants.delete_child(Listener, first.id, project_id=PROJECT)

    root = await store.tenants.get(LoadBalancer, made.load_balancer_id, project_id=None)
    assert root.vip is not None
    assert root.vip_leaving_revision is None


async def test_without_a_vip_there_is_nothing_to_listen_on(store: SqlStore) -> None:
    made = await make_pool(store)

    with pytest.raises(Conflict, match="has no VIP"):
        await store.tenants.add_listener(listener(load_balancer_id=made.load_balancer_id), project_id=PROJECT)


async def test_port_attributes_of_a_pool_without_vip_are_refused(store: SqlStore) -> None:
    made = await make_pool(store)

    with pytest.raises(Conflict, match="vip_qos_policy_id"):
        await store.tenants.update_load_balancer(made.load_balancer_id, {"vip_qos_policy_id": "q"}, project_id=PROJECT)


async def test_vip_waits_for_its_pool_where_immutability_is_strict(store: SqlStore, database_url: str) -> None:
    await placed(store)
    made = await make_pool(store)
    strict = open_store(database_url, StoreOptions(strict_immutability=True))
    try:
        for refused in (make_vip(strict, made.id), strict.lbaas_v1.delete_v1_pool(made.id, project_id=PROJECT)):
            with pytest.raises(Conflict, match="immutable"):
                await refused
        await applied(store, made.load_balancer_id)
        vip_id = (await make_vip(strict, made.id)).resources[0].id
        with pytest.raises(Conflict, match="immutable"):
            await strict.lbaas_v1.update_vip(vip_id, {"name": "n"}, None, project_id=PROJECT)
    finally:
        await strict.close()


def claim_from_row(vip_id: str) -> PortClaim:
    port = lbaas_v1_port_mark(vip_id)
    return PortClaim(claim_id=vip_id, device_owner=port.device_owner, device_id=port.device_id)


async def test_the_claim_of_a_vip_is_due_once_its_device_has_let_go(store: SqlStore) -> None:
    await placed(store)
    made = await make_pool(store)
    row = listener(default_pool_id=made.id)
    await store.claims.store_claim(claim_from_row(row.id), grace_seconds=1000.0)
    await store.lbaas_v1.add_vip(row, vip(claim=claim_from_row(row.id), port_id="port"), None, project_id=PROJECT)
    await applied(store, made.load_balancer_id)
    await store.tenants.delete_child(Listener, row.id, project_id=PROJECT)
    assert await store.claims.take_due_claims(limit=10, backoff=LATER) == ()

    await applied(store, made.load_balancer_id)

    (due,) = await store.claims.take_due_claims(limit=10, backoff=LATER)
    assert due.claim == replace(claim_from_row(row.id), port_id="port")


async def test_the_claim_of_a_vip_is_due_once_its_load_balancer_is_gone(store: SqlStore) -> None:
    made = await make_pool(store)
    row = listener(default_pool_id=made.id)
    await store.claims.store_claim(claim_from_row(row.id), grace_seconds=1000.0)
    await store.lbaas_v1.add_vip(row, vip(claim=claim_from_row(row.id), port_id="port"), None, project_id=PROJECT)

    await store.tenants.delete_load_balancer(made.load_balancer_id, cascade=True, project_id=PROJECT)

    assert len(await store.claims.take_due_claims(limit=10, backoff=LATER)) == 1


async def test_a_vip_whose_claim_was_given_up_is_not_stored(store: SqlStore) -> None:
    made = await make_pool(store)
    row = listener(default_pool_id=made.id)

    with pytest.raises(NetworkUnavailable):
        await store.lbaas_v1.add_vip(row, vip(claim=claim_from_row(row.id)), None, project_id=PROJECT)

    root = await store.tenants.get(LoadBalancer, made.load_balancer_id, project_id=None)
    assert (root.vip, root.revision) == (None, 1)


async def test_a_change_of_a_vip_sets_the_persistence_of_its_pool(store: SqlStore) -> None:
    made = await make_pool(store)
    row = (await make_vip(store, made.id)).resources[0]

    change = await store.lbaas_v1.update_vip(row.id, {"name": "new", "connection_limit": 5}, None, project_id=PROJECT)

    assert change.resources[0].name == "new"
    assert (await store.tenants.get(Pool, made.id, project_id=None)).session_persistence is None
    assert change.revision == 3


async def test_a_pool_with_a_vip_is_not_deleted(store: SqlStore) -> None:
    made = await make_pool(store)
    await make_vip(store, made.id)

    with pytest.raises(Conflict, match="still in use by vip") as refused:
        await store.lbaas_v1.delete_v1_pool(made.id, project_id=PROJECT)

    assert refused.value.code == "pool_has_vip"


async def test_a_load_balancer_goes_with_the_pool_it_was_made_for(store: SqlStore) -> None:
    await placed(store)
    made = await make_pool(store)
    await store.tenants.add_members((member(pool_id=made.id),), project_id=PROJECT)
    await store.tenants.add_health_monitor(monitor(pool_id=made.id), project_id=PROJECT)
    await applied(store, made.load_balancer_id)

    await store.lbaas_v1.delete_v1_pool(made.id, project_id=PROJECT)
    await store.lbaas_v1.delete_v1_pool(made.id, project_id=PROJECT)

    root = await store.tenants.get(LoadBalancer, made.load_balancer_id, project_id=None)
    assert (root.deleted, root.provisioning_status) == (True, ProvisioningStatus.PENDING_DELETE)
    await applied(store, made.load_balancer_id)
    for kind, object_id in ((LoadBalancer, made.load_balancer_id), (Pool, made.id)):
        with pytest.raises(NotFound):
            await store.tenants.get(kind, object_id, project_id=None)


async def test_a_load_balancer_made_for_a_pool_goes_with_the_last_pool_in_it(store: SqlStore) -> None:
    await placed(store)
    made = await make_pool(store)
    other = pool(load_balancer_id=made.load_balancer_id)
    await store.tenants.add_pool(other, (), None, listener_id=None, project_id=PROJECT)

    await store.lbaas_v1.delete_v1_pool(made.id, project_id=PROJECT)
    assert not (await store.tenants.get(LoadBalancer, made.load_balancer_id, project_id=None)).deleted
    await store.lbaas_v1.delete_v1_pool(other.id, project_id=PROJECT)

    assert (await store.tenants.get(LoadBalancer, made.load_balancer_id, project_id=None)).deleted


async def test_an_agent_has_the_pools_it_acts_for_or_is_home_to(store: SqlStore) -> None:
    await placed(store)
    made = await make_pool(store)
    assert [each.id for each in (await store.lbaas_v1.list_v1_pools(ListQuery(), agent_id=AGENT)).items] == [made.id]
    assert (await store.lbaas_v1.list_v1_pools(ListQuery(), agent_id="nobody")).items == ()

    statement = update(schema.shard).values(acting_agent_id=None)
    await store.database.write(lambda connection: connection.execute(statement))

    assert [each.id for each in (await store.lbaas_v1.list_v1_pools(ListQuery(), agent_id=AGENT)).items] == [made.id]


async def test_one_that_was_never_placed_goes_at_once(store: SqlStore) -> None:
    made = await make_pool(store)

    await store.lbaas_v1.delete_v1_pool(made.id, project_id=PROJECT)

    with pytest.raises(NotFound):
        await store.tenants.get(LoadBalancer, made.load_balancer_id, project_id=None)


async def test_a_pool_of_a_load_balancer_goes_alone(store: SqlStore) -> None:
    stored = await create(store)
    row = pool(load_balancer_id=stored.load_balancer.id)
    await store.tenants.add_pool(row, (), None, listener_id=None, project_id=PROJECT)

    await store.lbaas_v1.delete_v1_pool(row.id, project_id=PROJECT)

    with pytest.raises(NotFound):
        await store.tenants.get(Pool, row.id, project_id=None)
    assert not (await store.tenants.get(LoadBalancer, stored.load_balancer.id, project_id=None)).deleted


async def test_another_project_sees_nothing(store: SqlStore) -> None:
    made = await make_pool(store)
    row = (await make_vip(store, made.id)).resources[0]

    for refused in (
        store.lbaas_v1.add_vip(listener(default_pool_id=made.id), vip(), None, project_id="other"),
        store.lbaas_v1.update_vip(row.id, {}, None, project_id="other"),
        store.lbaas_v1.delete_v1_pool(made.id, project_id="other"),
    ):
        with pytest.raises(NotFound):
            await refused
    assert (await store.lbaas_v1.vips(ListQuery(project_id="other"))).items == ()
    assert (await store.lbaas_v1.list_v1_pools(ListQuery(project_id="other"))).items == ()


async def test_a_vip_counts_as_a_listener(store: SqlStore) -> None:
    await store.quotas.set_quotas(PROJECT, {"listener": 1})
    first, second = await make_pool(store), await make_pool(store)
    await make_vip(store, first.id)

    with pytest.raises(QuotaReached, match="Listener"):
        await make_vip(store, second.id)


async def test_every_listener_with_a_pool_is_a_vip(store: SqlStore) -> None:
    made = await make_pool(store)
    await make_vip(store, made.id, address="10.0.0.9")
    stored = await create(store)
    await store.tenants.add_listener(
        listener(load_balancer_id=stored.load_balancer.id, protocol_port=99), project_id=PROJECT
    )

    page = await store.lbaas_v1.vips(ListQuery())
    assert {(each.pool.id, each.load_balancer.vip.address) for each in page.items} == {
        (made.id, "10.0.0.9"),
        (stored.pools[0].id, stored.load_balancer.vip.address),
    }
    (found,) = (await store.lbaas_v1.vips(ListQuery(filters={"vip_address": ("10.0.0.9",)}))).items
    assert found.pool.id == made.id


async def test_every_pool_is_a_pool(store: SqlStore) -> None:
    made = await make_pool(store)
    stored = await create(store)
    vip_id = stored.listeners[0].id

    page = await store.lbaas_v1.list_v1_pools(ListQuery())
    assert {(each.pool.id, each.monitor and each.monitor.id) for each in page.items} == {
        (made.id, None),
        (stored.pools[0].id, stored.health_monitors[0].id),
    }
    (found,) = (await store.lbaas_v1.list_v1_pools(ListQuery(filters={"vip_id": (vip_id,)}))).items
    assert found.pool.id == stored.pools[0].id


async def test_lists_cost_as_many_statements_however_long_they_are(store: SqlStore) -> None:
    counts = []
    for _ in range(2):
        for _ in range(3):
            await make_vip(store, (await make_pool(store)).id)
        await create(store)
        with statements_of(store.database) as seen:
            await store.lbaas_v1.vips(ListQuery())
            await store.lbaas_v1.list_v1_pools(ListQuery())
        counts.append(len(seen))

    assert counts == [6, 6]


async def test_a_pool_keeps_no_deadline_once_it_is_active(store: SqlStore) -> None:
    await placed(store)
    made = await make_pool(store)
    await applied(store, made.load_balancer_id)

    assert await column(store, schema.load_balancer, made.load_balancer_id, "pending_deadline") is None
