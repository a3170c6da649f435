import pytest

from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.resources.model import Listener, LoadBalancer, Pool
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import PROJECT, SHARD, bare, column, confirm, create, listener, placed


async def test_an_update_raises_the_revision_and_answers_what_is_there_now(store: SqlStore) -> None:
    await placed(store)
    stored = await create(store)
    root = stored.load_balancer
    await confirm(store, root.id)

    change = await store.tenants.update_load_balancer(root.id, {"name": "new", "tags": ("x",)}, project_id=PROJECT)

    now = await store.tenants.get(LoadBalancer, root.id, project_id=PROJECT)
    assert change.resources == (now,)
    assert (change.revision, now.revision, now.applied_revision) == (2, 2, 1)
    assert (now.name, now.tags) == ("new", ("x",))
    assert now.provisioning_status is ProvisioningStatus.PENDING_UPDATE
    assert now.updated_at >= now.created_at
    assert (now.listener_ids, now.pool_ids) == (root.listener_ids, root.pool_ids)
    assert change.owner is not None
    assert change.owner.shard_id == SHARD


async def test_change_before_the_first_confirmation_stays_pending_create(store: SqlStore) -> None:
    await placed(store)
    root = (await create(store, bare())).load_balancer

    change = await store.tenants.update_load_balancer(root.id, {"name": "new"}, project_id=None)

    assert change.resources[0].provisioning_status is ProvisioningStatus.PENDING_CREATE


@pytest.mark.parametrize(("applied", "expected"), [(0, "PENDING_CREATE"), (1, "PENDING_UPDATE")])
async def test_a_write_on_an_error_load_balancer_is_accepted_and_clears_the_reason(
    store: SqlStore, applied: int, expected: str
) -> None:
    await placed(store)
    root = (await create(store, bare())).load_balancer
    await store.database.write(
        lambda connection: connection.execute(
            schema.load_balancer.update().values(
                provisioning_status="ERROR", status_reason="no", applied_revision=applied
            )
        )
    )

    change = await store.tenants.update_load_balancer(root.id, {"name": "new"}, project_id=None)

    (now,) = change.resources
    assert isinstance(now, LoadBalancer)
    assert (now.provisioning_status.value, now.status_reason) == (expected, "")


async def test_why_it_waits_for_a_place_survives_an_update(store: SqlStore) -> None:
    root = (await create(store, bare())).load_balancer
    await store.scheduling.store_unplaced_reason([root.id], "no agent")

    change = await store.tenants.update_load_balancer(root.id, {"name": "new"}, project_id=None)

    (now,) = change.resources
    assert isinstance(now, LoadBalancer)
    assert now.status_reason == "no agent"
    assert await column(store, schema.load_balancer, root.id, "pending_deadline") is None


async def test_fixed_attribute_of_a_load_balancer_cannot_be_updated(store: SqlStore) -> None:
    root = (await create(store, bare())).load_balancer

    with pytest.raises(Invalid, match="provider"):
        await store.tenants.update_load_balancer(root.id, {"provider": "other"}, project_id=None)


async def test_another_project_sees_nothing(store: SqlStore) -> None:
    root = (await create(store, bare())).load_balancer

    with pytest.raises(NotFound, match=rf"^Load Balancer {root.id} not found\.$"):
        await store.tenants.update_load_balancer(root.id, {"name": "new"}, project_id="other")
    with pytest.raises(NotFound):
        await store.tenants.delete_load_balancer(root.id, cascade=True, project_id="other")
    assert (await store.tenants.get(LoadBalancer, root.id, project_id=PROJECT)).revision == 1


# -- delete


async def test_a_placed_one_is_marked_with_all_below_it(store: SqlStore) -> None:
    await placed(store)
    stored = await create(store)
    await confirm(store, stored.load_balancer.id)

    change = await store.tenants.delete_load_balancer(stored.load_balancer.id, cascade=True, project_id=PROJECT)

    after = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    rows = [after.load_balancer, *after.listeners, *after.pools, *after.members, *after.health_monitors]
    assert len(rows) == 6
    assert all(row.deleted and row.revision == 2 for row in rows)
    assert {row.provisioning_status for row in rows} == {ProvisioningStatus.PENDING_DELETE}
    assert change.resources == (after.load_balancer,)
    assert change.owner is not None
    assert await column(store, schema.listener, after.listeners[0].id, "live_key") == after.listeners[0].id
    assert await column(store, schema.load_balancer, after.load_balancer.id, "pending_deadline") is not None


async def test_deleting_again_is_harmless(store: SqlStore) -> None:
    await placed(store)
    root = (await create(store)).load_balancer
    first = await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)

    assert await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None) == first
    assert await store.tenants.delete_load_balancer(root.id, cascade=False, project_id=None) == first


async def test_writes_on_a_deleted_one_are_conflicts(store: SqlStore) -> None:
    await placed(store)
    stored = await create(store)
    root = stored.load_balancer
    await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)
    text = rf"^Load Balancer {root.id} is immutable and cannot be updated\.$"

    with pytest.raises(Conflict, match=text):
        await store.tenants.update_load_balancer(root.id, {"name": "new"}, project_id=None)
    with pytest.raises(Conflict, match=text):
        await store.tenants.add_listener(listener(load_balancer_id=root.id, protocol_port=99), project_id=None)
    with pytest.raises(Conflict, match=text):
        await store.tenants.update_child(Pool, stored.pools[0].id, {"name": "new"}, project_id=None)
    with pytest.raises(Conflict, match=text):
        await store.tenants.replace_members(stored.pools[0].id, [], additive_only=False, project_id=None)


async def test_without_cascade_one_with_children_is_refused_and_unchanged(store: SqlStore) -> None:
    await placed(store)
    stored = await create(store)
    root = stored.load_balancer

    with pytest.raises(
        Invalid, match=rf"^Validation failure: Cannot delete Load Balancer {root.id} - it has children$"
    ):
        await store.tenants.delete_load_balancer(root.id, cascade=False, project_id=None)

    after = await store.tenants.get(LoadBalancer, root.id, project_id=None)
    assert (after.revision, after.deleted) == (1, False)


async def test_children_marked_deleted_do_not_stand_in_the_way(store: SqlStore) -> None:
    await placed(store)
    stored = await create(store)
    await store.tenants.delete_child(Listener, stored.listeners[0].id, project_id=None)
    await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=None)

    change = await store.tenants.delete_load_balancer(stored.load_balancer.id, cascade=False, project_id=None)

    assert change.resources[0].deleted


async def test_one_that_was_never_placed_goes_at_once_and_frees_its_address(store: SqlStore) -> None:
    stored = await create(store, address="10.0.0.9")
    root = stored.load_balancer

    change = await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)

    assert not change.placed
    gone = change.resources[0]
    assert isinstance(gone, LoadBalancer)
    assert (gone.deleted, gone.vip) == (True, root.vip)
    for kind, object_id in ((LoadBalancer, root.id), (Pool, stored.pools[0].id)):
        with pytest.raises(NotFound):
            await store.tenants.get(kind, object_id, project_id=None)
    assert [event.kind for event in await store.operators.events()][-1] == "load_balancer_deleted"
    assert await create(store, address="10.0.0.9")


async def test_resize_to_a_flavor_that_was_deleted_is_refused(store: SqlStore) -> None:
    root = (await create(store)).load_balancer
    with pytest.raises(Invalid, match="flavor_id gone was deleted"):
        await store.tenants.resize_load_balancer(root.id, flavor_id="gone", enhanced_services=(), project_id=None)
    assert (await store.tenants.get(LoadBalancer, root.id, project_id=None)).revision == root.revision
