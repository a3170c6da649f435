"""Deleting as LBaaS v2 does it, and members that come together: all or none, in one accepted change."""

import pytest

from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.kit.errors import Conflict, QuotaReached
from evenkeel.core.resources.model import HealthMonitor, L7Policy, Listener, LoadBalancerTree, Member, Pool
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import PROJECT, confirm, create, member, placed, tree, with_policies


@pytest.fixture
async def stored(store: SqlStore) -> LoadBalancerTree:
    """Placed and confirmed: a listener with two policies that send to the only pool, which has a monitor."""
    await placed(store)
    made = await create(store, with_policies(tree()))
    await confirm(store, made.load_balancer.id)
    return await store.tenants.tree(made.load_balancer.id, project_id=None)


async def test_a_pool_with_a_monitor_stays(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Conflict, match="is in use by Health Monitor") as caught:
        await store.tenants.delete_child(Pool, stored.pools[0].id, restrict=True, project_id=PROJECT)
    assert caught.value.code == "in_use"
    assert await store.tenants.tree(stored.load_balancer.id, project_id=None) == stored


async def test_a_listener_with_policies_stays(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Conflict, match="is in use by L7 Policy"):
        await store.tenants.delete_child(Listener, stored.listeners[0].id, restrict=True, project_id=PROJECT)
    for row in stored.l7policies:
        await store.tenants.delete_child(L7Policy, row.id, restrict=True, project_id=PROJECT)
    await store.tenants.delete_child(Listener, stored.listeners[0].id, restrict=True, project_id=PROJECT)


async def test_policies_of_a_pool_that_goes_reject(store: SqlStore, stored: LoadBalancerTree) -> None:
    await store.tenants.delete_child(HealthMonitor, stored.health_monitors[0].id, restrict=True, project_id=PROJECT)
    await confirm(store, stored.load_balancer.id)

    change = await store.tenants.delete_child(Pool, stored.pools[0].id, restrict=True, project_id=PROJECT)

    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    assert {(row.action, row.redirect_pool_id) for row in now.l7policies} == {("REJECT", None)}
    touched = [*now.l7policies, *now.listeners]
    assert {(row.provisioning_status, row.revision) for row in touched} == {
        (ProvisioningStatus.PENDING_UPDATE, change.revision)
    }
    assert now.listeners[0].default_pool_id is None and now.pools[0].deleted
    service_definition_of_tree(now)


async def test_members_come_together_or_not_at_all(store: SqlStore, stored: LoadBalancerTree) -> None:
    at = stored.pools[0].id
    change = await store.tenants.add_members([member(number, pool_id=at) for number in (7, 8)], project_id=PROJECT)
    assert [type(row) for row in change.resources] == [Member, Member]
    assert {row.load_balancer_id for row in change.resources} == {stored.load_balancer.id}
    before = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    for again in ((9, 8), (9, 9)):
        with pytest.raises(Conflict) as caught:
            await store.tenants.add_members([member(number, pool_id=at) for number in again], project_id=PROJECT)
        assert caught.value.code == "member_exists"
    assert await store.tenants.tree(stored.load_balancer.id, project_id=None) == before


async def test_members_that_come_together_count_together(store: SqlStore, stored: LoadBalancerTree) -> None:
    await store.quotas.set_quotas(PROJECT, {"member": 3})
    at = stored.pools[0].id
    with pytest.raises(QuotaReached):
        await store.tenants.add_members([member(number, pool_id=at) for number in (7, 8)], project_id=PROJECT)
    await store.tenants.add_members([member(7, pool_id=at)], project_id=PROJECT)
