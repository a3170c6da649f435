"""Health monitors of LBaaS v1: one for any number of pools, and a change of it is a change of all of them."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound, QuotaReached
from evenkeel.core.resources import pool_rooted
from evenkeel.core.resources.model import HealthMonitor, LoadBalancer, LoadBalancerTree, Pool
from evenkeel.core.resources.pool_rooted import SharedMonitor
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.sql_store import SqlStore
from evenkeel.store.writing import shared_monitor_lock
from tests.store.builders import PROJECT, bare, confirm, create, monitor, new_id, next_moment, placed, pool, tree
from tests.store.conftest import ON_ALL, statements_of


def shared(**values: Any) -> SharedMonitor:
    defaults = {
        "id": new_id(),
        "project_id": PROJECT,
        "type": "HTTP",
        "delay": 5,
        "timeout": 3,
        "max_retries": 2,
        "http_method": "GET",
        "url_path": "/",
        "expected_codes": "200",
    }
    return SharedMonitor(**defaults | values)


async def with_pool(store: SqlStore, listeners: int = 1) -> LoadBalancerTree:
    """A load balancer with a pool that has no monitor."""
    wanted = tree(listeners=listeners)
    made = await create(store, wanted)
    await store.tenants.delete_child(HealthMonitor, made.health_monitors[0].id, project_id=PROJECT)
    await confirm(store, made.load_balancer.id)
    return await store.tenants.tree(made.load_balancer.id, project_id=None)


async def associate(store: SqlStore, pool_id: str, monitor_id: str) -> Change:
    return await store.lbaas_v1.associate_monitor(pool_id, monitor_id, new_id=new_id(), project_id=PROJECT)


async def exchange(store: SqlStore, pool_id: str, monitor_id: str | None, **changes: Any) -> Change:
    return await store.lbaas_v1.set_pool_monitor(pool_id, monitor_id, changes, new_id=new_id(), project_id=PROJECT)


async def listed(store: SqlStore, **filters: Any) -> dict[str, SharedMonitor]:
    page = await store.lbaas_v1.shared_monitors(ListQuery(filters={name: (value,) for name, value in filters.items()}))
    return {row.id: row for row in page.items}


async def live(store: SqlStore, load_balancer_id: str) -> list[HealthMonitor]:
    found = await store.tenants.tree(load_balancer_id, project_id=None)
    return [row for row in found.health_monitors if not row.deleted]


async def test_a_monitor_stands_alone(store: SqlStore) -> None:
    made = await store.lbaas_v1.add_shared_monitor(shared())

    assert made.created_at > 0
    assert await listed(store) == {made.id: made}
    assert await listed(store, type="TCP") == {}
    assert (await store.lbaas_v1.shared_monitors(ListQuery(project_id="other"))).items == ()


async def test_a_monitor_takes_its_place_in_each_pool_it_is_associated_with(store: SqlStore) -> None:
    await placed(store)
    made = await store.lbaas_v1.add_shared_monitor(shared(url_path="/up"))
    trees = [await with_pool(store) for _ in range(2)]

    for each in trees:
        change = await associate(store, each.pools[0].id, made.id)
        assert change.owner is not None

    for each in trees:
        (row,) = await live(store, each.load_balancer.id)
        assert (row.shared_monitor_id, row.url_path, row.id != made.id) == (made.id, "/up", True)
        service = service_definition_of_tree(await store.tenants.tree(each.load_balancer.id, project_id=None))
        assert service.pools[0].monitor is not None
        assert service.pools[0].monitor.url_path == "/up"
    uses = (await listed(store))[made.id].uses
    assert {use.pool_id for use in uses} == {each.pools[0].id for each in trees}
    assert {use.provisioning_status for use in uses} == {ProvisioningStatus.PENDING_CREATE}


async def test_a_pool_has_one_monitor(store: SqlStore) -> None:
    first, second = [await store.lbaas_v1.add_shared_monitor(shared()) for _ in range(2)]
    pool_id = (await with_pool(store)).pools[0].id
    await associate(store, pool_id, first.id)

    with pytest.raises(Conflict, match=f"has Health Monitor {first.id} already") as another:
        await associate(store, pool_id, second.id)
    with pytest.raises(Conflict, match="already associated") as again:
        await associate(store, pool_id, first.id)

    assert (another.value.code, again.value.code) == ("monitor_exists", "association_exists")
    with pytest.raises(Conflict):
        await store.tenants.add_health_monitor(monitor(pool_id=pool_id), project_id=PROJECT)


@ON_ALL
async def test_of_many_at_once_one_is_associated(store: SqlStore) -> None:
    monitors = [await store.lbaas_v1.add_shared_monitor(shared()) for _ in range(5)]
    pool_id = (await with_pool(store)).pools[0].id

    answers = await asyncio.gather(*(associate(store, pool_id, each.id) for each in monitors), return_exceptions=True)

    assert sum(isinstance(answer, Change) for answer in answers) == 1
    assert sum(isinstance(answer, Conflict) for answer in answers) == 4


async def test_one_takes_the_place_of_another(store: SqlStore) -> None:
    first, second = [await store.lbaas_v1.add_shared_monitor(shared()) for _ in range(2)]
    made = await with_pool(store)
    await associate(store, made.pools[0].id, first.id)

    await exchange(store, made.pools[0].id, second.id)

    (row,) = await live(store, made.load_balancer.id)
    assert row.shared_monitor_id == second.id
    uses = {id_: len(each.uses) for id_, each in (await listed(store)).items()}
    assert uses == {first.id: 0, second.id: 1}


async def test_a_change_reaches_all_its_pools_at_once(store: SqlStore) -> None:
    await placed(store)
    made = await store.lbaas_v1.add_shared_monitor(shared())
    trees = [await with_pool(store) for _ in range(3)]
    for each in trees[:2]:
        await associate(store, each.pools[0].id, made.id)
        await confirm(store, each.load_balancer.id)

    changes = await store.lbaas_v1.update_shared_monitor(made.id, {"delay": 30, "url_path": "/new"}, project_id=PROJECT)

    touched = sorted(each.load_balancer.id for each in trees[:2])
    assert [change.load_balancer_id for change in changes] == touched
    for change in changes:
        found = await store.tenants.tree(change.load_balancer_id, project_id=None)
        assert found.load_balancer.revision == change.revision
        assert change.owner is not None
        (row,) = [row for row in found.health_monitors if not row.deleted]
        assert (row.delay, row.url_path, row.revision) == (30, "/new", change.revision)
        for part in (found.load_balancer, row, *found.pools, *found.listeners):
            assert part.provisioning_status is ProvisioningStatus.PENDING_UPDATE
        assert {part.revision for part in (*found.pools, *found.listeners)} == {change.revision}
    other = await store.tenants.get(LoadBalancer, trees[2].load_balancer.id, project_id=None)
    assert other.provisioning_status is ProvisioningStatus.ACTIVE
    assert (await listed(store))[made.id].delay == 30


async def test_a_change_costs_as_many_statements_for_any_number_of_pools(store: SqlStore) -> None:
    made = await store.lbaas_v1.add_shared_monitor(shared())
    counts = []
    for _ in range(2):
        for _ in range(2):
            await associate(store, (await with_pool(store)).pools[0].id, made.id)
        with statements_of(store.database) as seen:
            await store.lbaas_v1.update_shared_monitor(made.id, {"delay": 9}, project_id=PROJECT)
        counts.append(len(seen))

    assert counts[0] == counts[1]


async def test_one_that_a_pool_has_is_not_deleted(store: SqlStore) -> None:
    made = await store.lbaas_v1.add_shared_monitor(shared())
    stored = await with_pool(store)
    await associate(store, stored.pools[0].id, made.id)

    with pytest.raises(Conflict, match="still in use by pool") as refused:
        await store.lbaas_v1.delete_shared_monitor(made.id, project_id=PROJECT)
    assert refused.value.code == "monitor_in_use"

    (row,) = await live(store, stored.load_balancer.id)
    await store.tenants.delete_child(HealthMonitor, row.id, project_id=PROJECT)
    await store.lbaas_v1.delete_shared_monitor(made.id, project_id=PROJECT)
    assert await listed(store) == {}
    with pytest.raises(NotFound):
        await store.lbaas_v1.delete_shared_monitor(made.id, project_id=PROJECT)


async def test_shared_monitor_can_be_deleted_once_its_pool_is_deleted(store: SqlStore) -> None:
    made = await store.lbaas_v1.add_shared_monitor(shared())
    stored = await with_pool(store)
    await associate(store, stored.pools[0].id, made.id)

    await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=PROJECT)

    await store.lbaas_v1.delete_shared_monitor(made.id, project_id=PROJECT)


async def test_another_project_sees_nothing(store: SqlStore) -> None:
    made = await store.lbaas_v1.add_shared_monitor(shared())
    pool_id = (await with_pool(store)).pools[0].id

    for refused in (
        store.lbaas_v1.update_shared_monitor(made.id, {"delay": 1}, project_id="other"),
        store.lbaas_v1.delete_shared_monitor(made.id, project_id="other"),
        store.lbaas_v1.associate_monitor(pool_id, made.id, new_id=new_id(), project_id="other"),
        store.lbaas_v1.set_pool_monitor(pool_id, None, {}, new_id=new_id(), project_id="other"),
    ):
        with pytest.raises(NotFound):
            await refused
    foreign = await store.lbaas_v1.add_shared_monitor(shared(project_id="other"))
    with pytest.raises(NotFound):
        await associate(store, pool_id, foreign.id)


async def test_monitor_of_another_project_is_refused(store: SqlStore) -> None:
    pool_id = (await with_pool(store)).pools[0].id
    foreign = await store.lbaas_v1.add_shared_monitor(shared(project_id="other"))

    for refused in (
        store.lbaas_v1.associate_monitor(pool_id, foreign.id, new_id=new_id(), project_id=None),
        store.lbaas_v1.set_pool_monitor(pool_id, foreign.id, {}, new_id=new_id(), project_id=None),
        store.tenants.create_load_balancer(*with_monitor(bare(), foreign.id)),
    ):
        with pytest.raises(NotFound, match="Health Monitor"):
            await refused

    assert (await listed(store))[foreign.id].uses == ()
    assert len((await store.tenants.list(LoadBalancer, ListQuery())).items) == 1


def with_monitor(wanted: LoadBalancerTree, monitor_id: str) -> tuple[LoadBalancerTree, None]:
    """What makes a load balancer with a pool that has the shared monitor."""
    root = replace(wanted.load_balancer, vip=None)
    group = pool(load_balancer_id=root.id)
    row = monitor(pool_id=group.id, load_balancer_id=root.id, shared_monitor_id=monitor_id, delay=99)
    return replace(wanted, load_balancer=root, pools=(group,), health_monitors=(row,)), None


async def test_a_new_pool_comes_with_the_monitor_as_that_is_then(store: SqlStore) -> None:
    await store.quotas.set_quotas(PROJECT, {"healthmonitor": 1})
    made = await store.lbaas_v1.add_shared_monitor(shared(delay=7, url_path="/up"))

    change = await store.tenants.create_load_balancer(*with_monitor(bare(), made.id))

    (row,) = await live(store, change.load_balancer_id)
    assert (row.shared_monitor_id, row.delay, row.url_path) == (made.id, 7, "/up")
    assert change.tree is not None
    assert change.tree.pools[0].health_monitor_id == row.id
    assert [use.pool_id for use in (await listed(store))[made.id].uses] == [row.pool_id]


async def test_a_pool_is_not_made_without_its_monitor(store: SqlStore) -> None:
    with pytest.raises(NotFound, match="Health Monitor"):
        await store.tenants.create_load_balancer(*with_monitor(bare(), "gone"))

    assert (await store.tenants.list(LoadBalancer, ListQuery())).items == ()


async def test_a_pool_changes_with_its_monitor_or_not_at_all(store: SqlStore) -> None:
    first, second = [await store.lbaas_v1.add_shared_monitor(shared()) for _ in range(2)]
    made = await with_pool(store)
    pool_id, root_id = made.pools[0].id, made.load_balancer.id
    await associate(store, pool_id, first.id)

    change = await exchange(store, pool_id, second.id, name="new", lb_algorithm="SOURCE_IP")
    with pytest.raises(NotFound):
        await exchange(store, pool_id, "gone", name="newer")

    (row,) = await live(store, root_id)
    stored = await store.tenants.get(Pool, pool_id, project_id=None)
    assert (row.shared_monitor_id, row.revision) == (second.id, change.revision)
    assert (stored.name, stored.lb_algorithm, stored.revision) == ("new", "SOURCE_IP", change.revision)
    assert stored.health_monitor_id == row.id

    await exchange(store, pool_id, None, name="alone")

    stored = await store.tenants.get(Pool, pool_id, project_id=None)
    assert (stored.name, stored.health_monitor_id, await live(store, root_id)) == ("alone", None, [])


async def test_type_of_a_shared_monitor_is_fixed(store: SqlStore) -> None:
    made = await store.lbaas_v1.add_shared_monitor(shared())

    with pytest.raises(Invalid, match="type"):
        await store.lbaas_v1.update_shared_monitor(made.id, {"type": "TCP"}, project_id=PROJECT)


async def test_as_many_pools_as_are_allowed_share_one(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pool_rooted.POOLS_OF_MONITOR_MAX == shared_monitor_lock.POOLS_OF_MONITOR_MAX
    monkeypatch.setattr(shared_monitor_lock, "POOLS_OF_MONITOR_MAX", 1)
    made = await store.lbaas_v1.add_shared_monitor(shared())
    await associate(store, (await with_pool(store)).pools[0].id, made.id)

    with pytest.raises(Conflict, match="as many as may share it"):
        await associate(store, (await with_pool(store)).pools[0].id, made.id)


async def test_a_monitor_counts_once_however_many_pools_share_it(store: SqlStore) -> None:
    await store.quotas.set_quotas(PROJECT, {"healthmonitor": 1})
    made = await store.lbaas_v1.add_shared_monitor(shared())
    for _ in range(2):
        stored = await create(store, bare())
        row = pool(load_balancer_id=stored.load_balancer.id)
        await store.tenants.add_pool(row, (), None, listener_id=None, project_id=PROJECT)
        await associate(store, row.id, made.id)

    with pytest.raises(QuotaReached, match="Health Monitor"):
        await store.lbaas_v1.add_shared_monitor(shared())


async def test_one_made_in_a_pool_is_shown_with_it(store: SqlStore) -> None:
    stored = await create(store)
    alone = await store.lbaas_v1.add_shared_monitor(shared())

    found = await listed(store)

    assert set(found) == {alone.id, stored.health_monitors[0].id}
    own = found[stored.health_monitors[0].id]
    assert own.in_pool
    assert [use.pool_id for use in own.uses] == [stored.pools[0].id]


async def test_pages_go_through_both_kinds(store: SqlStore) -> None:
    expected = []
    for _ in range(3):
        expected.append((await store.lbaas_v1.add_shared_monitor(shared())).id)
        await next_moment(store)
        expected.append((await create(store)).health_monitors[0].id)
        await next_moment(store)
    seen: list[str] = []
    marker = None
    while True:
        page = await store.lbaas_v1.shared_monitors(ListQuery(limit=2, marker=marker))
        seen += [row.id for row in page.items]
        if not page.after:
            break
        marker = seen[-1]

    assert seen == expected
