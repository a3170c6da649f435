from typing import Any

import pytest

from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.resources.model import (
    HealthMonitor,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    SessionPersistence,
)
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import PROJECT, confirm, create, listener, load_balancer, placed, pool


@pytest.fixture
async def stored(store: SqlStore) -> LoadBalancerTree:
    """Placed, and confirmed by the device."""
    await placed(store)
    made = await create(store)
    await confirm(store, made.load_balancer.id)
    return await store.tenants.tree(made.load_balancer.id, project_id=None)


def changed(tree: LoadBalancerTree) -> set[str]:
    """Which kinds of objects are pending."""
    rows = [tree.load_balancer, *tree.listeners, *tree.pools, *tree.members, *tree.health_monitors]
    return {type(row).__name__ for row in rows if row.provisioning_status is not ProvisioningStatus.ACTIVE}


ALL_CHANGES: list[tuple[Any, dict[str, Any], set[str]]] = [
    (Listener, {"name": "n", "connection_limit": 5, "insert_headers": {"X-Forwarded-For": "true"}}, {"Listener"}),
    (Listener, {"default_pool_id": None, "timeout_client_data": 1}, {"Listener"}),
    (Listener, {"allowed_cidrs": ("10.0.0.0/8", "192.0.2.0/24"), "timeout_tcp_inspect": 5}, {"Listener"}),
    (Pool, {"lb_algorithm": "SOURCE_IP"}, {"Pool", "Listener"}),
    (Pool, {"session_persistence": SessionPersistence(type="SOURCE_IP")}, {"Pool", "Listener"}),
    (Pool, {"session_persistence": None, "tags": ("a",)}, {"Pool", "Listener"}),
    (Member, {"weight": 0, "backup": True, "monitor_port": 81}, {"Member", "Pool", "Listener"}),
    (HealthMonitor, {"delay": 9, "url_path": "/health"}, {"HealthMonitor", "Pool", "Listener"}),
]


@pytest.mark.parametrize(("kind", "changes", "pending"), ALL_CHANGES)
async def test_an_update_changes_the_object_and_touches_its_parents(
    store: SqlStore, stored: LoadBalancerTree, kind: Any, changes: dict[str, Any], pending: set[str]
) -> None:
    rows: dict[Any, Any] = {
        Listener: stored.listeners[0],
        Pool: stored.pools[0],
        Member: stored.members[0],
        HealthMonitor: stored.health_monitors[0],
    }
    object_id = rows[kind].id

    change = await store.tenants.update_child(kind, object_id, changes, project_id=PROJECT)

    now = await store.tenants.get(kind, object_id, project_id=None)
    assert change.resources == (now,)
    assert {name: getattr(now, name) for name in changes} == changes
    assert (now.revision, now.provisioning_status) == (2, ProvisioningStatus.PENDING_UPDATE)
    assert now.updated_at is not None
    assert changed(await store.tenants.tree(stored.load_balancer.id, project_id=None)) == pending | {"LoadBalancer"}


async def test_fixed_attribute_of_a_listener_cannot_be_updated(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Invalid, match="protocol_port"):
        await store.tenants.update_child(Listener, stored.listeners[0].id, {"protocol_port": 1}, project_id=None)


async def test_a_member_of_another_pool_is_not_found(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(NotFound, match=f"Member {stored.members[0].id} not found"):
        await store.tenants.update_child(
            Member, stored.members[0].id, {"weight": 2}, parent_id="other", project_id=None
        )
    with pytest.raises(NotFound):
        await store.tenants.delete_child(Member, stored.members[0].id, parent_id="other", project_id=None)
    with pytest.raises(NotFound):
        await store.tenants.get(Member, stored.members[0].id, parent_id="other", project_id=None)


async def test_another_project_sees_no_children(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(NotFound, match="Health Monitor"):
        await store.tenants.update_child(HealthMonitor, stored.health_monitors[0].id, {"delay": 1}, project_id="other")


async def test_a_deleted_child_is_immutable(store: SqlStore, stored: LoadBalancerTree) -> None:
    victim = stored.members[0].id
    await store.tenants.delete_child(Member, victim, project_id=None)

    with pytest.raises(Conflict, match=rf"^Member {victim} is immutable and cannot be updated\.$"):
        await store.tenants.update_child(Member, victim, {"weight": 2}, project_id=None)


# -- the default pool of a listener


async def test_a_pool_may_serve_several_listeners(store: SqlStore, stored: LoadBalancerTree) -> None:
    second = listener(load_balancer_id=stored.load_balancer.id, protocol_port=81)
    await store.tenants.add_listener(second, project_id=None)

    await store.tenants.update_child(Listener, second.id, {"default_pool_id": stored.pools[0].id}, project_id=None)

    now = await store.tenants.get(Pool, stored.pools[0].id, project_id=None)
    assert set(now.listener_ids) == {second.id, stored.listeners[0].id}


async def test_a_default_pool_must_be_of_the_same_load_balancer(store: SqlStore, stored: LoadBalancerTree) -> None:
    other = await create(store)

    with pytest.raises(NotFound, match="Pool"):
        await store.tenants.update_child(
            Listener, stored.listeners[0].id, {"default_pool_id": other.pools[0].id}, project_id=None
        )


async def test_a_default_pool_must_fit_the_protocol(store: SqlStore) -> None:
    row, group = listener(), pool(protocol="HTTPS")
    await create(store, LoadBalancerTree(load_balancer=load_balancer(), listeners=(row,), pools=(group,)))

    with pytest.raises(Invalid, match="The pool protocol 'HTTPS' is invalid while the listener protocol is 'HTTP'"):
        await store.tenants.update_child(Listener, row.id, {"default_pool_id": group.id}, project_id=None)


async def test_a_pool_being_deleted_is_no_default_pool(store: SqlStore, stored: LoadBalancerTree) -> None:
    await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=None)

    with pytest.raises(NotFound, match="Pool"):
        await store.tenants.update_child(
            Listener, stored.listeners[0].id, {"default_pool_id": stored.pools[0].id}, project_id=None
        )


# -- delete


async def test_a_deleted_listener_leaves_its_pool_behind(store: SqlStore, stored: LoadBalancerTree) -> None:
    change = await store.tenants.delete_child(Listener, stored.listeners[0].id, project_id=PROJECT)

    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    assert change.resources == now.listeners
    assert now.listeners[0].deleted
    assert now.listeners[0].provisioning_status is ProvisioningStatus.PENDING_DELETE
    assert changed(now) == {"LoadBalancer", "Listener"}
    assert now.load_balancer.listener_ids == (stored.listeners[0].id,)


async def test_a_deleted_pool_takes_what_is_in_it_and_leaves_its_listeners(
    store: SqlStore, stored: LoadBalancerTree
) -> None:
    await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=PROJECT)

    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    assert all(row.deleted for row in (*now.pools, *now.members, *now.health_monitors))
    assert {row.revision for row in (*now.pools, *now.members, *now.health_monitors, *now.listeners)} == {2}
    assert not now.listeners[0].deleted
    assert now.listeners[0].default_pool_id is None
    assert now.listeners[0].provisioning_status is ProvisioningStatus.PENDING_UPDATE


@pytest.mark.parametrize("kind", [Member, HealthMonitor])
async def test_deleting_what_is_in_a_pool_touches_its_parents(
    store: SqlStore, stored: LoadBalancerTree, kind: Any
) -> None:
    victim = stored.members[0] if kind is Member else stored.health_monitors[0]

    await store.tenants.delete_child(kind, victim.id, parent_id=None, project_id=PROJECT)

    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    assert changed(now) == {"LoadBalancer", "Listener", "Pool", kind.__name__}
    assert (await store.tenants.get(kind, victim.id, project_id=None)).deleted


async def test_deleting_a_child_again_changes_nothing(store: SqlStore, stored: LoadBalancerTree) -> None:
    first = await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=None)

    again = await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=None)

    assert again == first
    assert (await store.tenants.get(LoadBalancer, stored.load_balancer.id, project_id=None)).revision == 2


async def test_deleting_a_child_of_a_deleted_load_balancer_is_harmless(
    store: SqlStore, stored: LoadBalancerTree
) -> None:
    gone = await store.tenants.delete_load_balancer(stored.load_balancer.id, cascade=True, project_id=None)

    change = await store.tenants.delete_child(Member, stored.members[0].id, project_id=None)

    assert change.revision == gone.revision


@pytest.mark.parametrize("kind", [Listener, Pool, Member, HealthMonitor])
async def test_below_one_that_was_never_placed_rows_go_at_once(store: SqlStore, kind: Any) -> None:
    made = await create(store)
    rows: dict[Any, Any] = {
        Listener: made.listeners[0],
        Pool: made.pools[0],
        Member: made.members[0],
        HealthMonitor: made.health_monitors[0],
    }

    change = await store.tenants.delete_child(kind, rows[kind].id, project_id=PROJECT)

    assert change.resources[0].deleted
    with pytest.raises(NotFound):
        await store.tenants.get(kind, rows[kind].id, project_id=None)
    now = await store.tenants.tree(made.load_balancer.id, project_id=None)
    assert not any(row.deleted for row in (*now.listeners, *now.pools, *now.members, *now.health_monitors))
    if kind is Pool:
        assert now.members == now.health_monitors == ()
        assert now.listeners[0].default_pool_id is None
