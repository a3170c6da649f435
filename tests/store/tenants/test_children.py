from typing import Any

import pytest

from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, LoadBalancerTree, Member, NewPool, Pool
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import (
    PROJECT,
    bare,
    confirm,
    create,
    ids,
    l7policy,
    listener,
    load_balancer,
    member,
    monitor,
    placed,
    pool,
    tree,
)


@pytest.fixture
async def stored(store: SqlStore) -> LoadBalancerTree:
    """Placed, and confirmed by the device."""
    await placed(store)
    made = await create(store)
    await confirm(store, made.load_balancer.id)
    return await store.tenants.tree(made.load_balancer.id, project_id=None)


async def statuses(store: SqlStore, stored: LoadBalancerTree) -> dict[str, tuple[str, int]]:
    """Status and revision of the root, the listener and the pool."""
    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    rows = {"root": now.load_balancer, "listener": now.listeners[0], "pool": now.pools[0]}
    return {name: (row.provisioning_status.value, row.revision) for name, row in rows.items()}


async def test_a_listener_is_added(store: SqlStore, stored: LoadBalancerTree) -> None:
    row = listener(load_balancer_id=stored.load_balancer.id, protocol_port=443, project_id="ignored")

    change = await store.tenants.add_listener(row, project_id=PROJECT)

    now = await store.tenants.get(Listener, row.id, project_id=PROJECT)
    assert change.resources == (now,)
    assert (now.revision, now.provisioning_status) == (2, ProvisioningStatus.PENDING_CREATE)
    assert (await statuses(store, stored))["root"] == ("PENDING_UPDATE", 2)
    assert (await statuses(store, stored))["pool"] == ("ACTIVE", 1)


async def test_a_listener_takes_a_pool_of_its_load_balancer(store: SqlStore, stored: LoadBalancerTree) -> None:
    row = listener(load_balancer_id=stored.load_balancer.id, protocol_port=443, default_pool_id=stored.pools[0].id)

    await store.tenants.add_listener(row, project_id=PROJECT)

    now = await store.tenants.get(Pool, stored.pools[0].id, project_id=None)
    assert set(now.listener_ids) == {stored.listeners[0].id, row.id}


async def test_a_listener_does_not_take_a_pool_of_another_load_balancer(
    store: SqlStore, stored: LoadBalancerTree
) -> None:
    other = await create(store)
    row = listener(load_balancer_id=stored.load_balancer.id, protocol_port=443, default_pool_id=other.pools[0].id)

    with pytest.raises(NotFound, match=f"Pool {other.pools[0].id} not found"):
        await store.tenants.add_listener(row, project_id=None)


async def test_a_listener_does_not_take_a_pool_of_the_wrong_protocol(store: SqlStore, stored: LoadBalancerTree) -> None:
    row = listener(
        load_balancer_id=stored.load_balancer.id,
        protocol="HTTPS",
        protocol_port=443,
        default_pool_id=stored.pools[0].id,
    )

    with pytest.raises(Invalid, match="The pool protocol 'HTTP' is invalid while the listener protocol is 'HTTPS'"):
        await store.tenants.add_listener(row, project_id=None)


async def test_a_port_in_use_is_a_conflict_and_nothing_changes(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Conflict, match="already using protocol TCP and protocol_port 80"):
        await store.tenants.add_listener(
            listener(load_balancer_id=stored.load_balancer.id, protocol="TCP"), project_id=None
        )
    assert (await statuses(store, stored))["root"] == ("ACTIVE", 1)


async def test_the_port_of_a_listener_being_deleted_is_free(store: SqlStore, stored: LoadBalancerTree) -> None:
    await store.tenants.delete_child(Listener, stored.listeners[0].id, project_id=None)

    assert await store.tenants.add_listener(listener(load_balancer_id=stored.load_balancer.id), project_id=None)


async def test_an_id_that_exists_is_a_conflict(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Conflict, match="Already an entity with that specified id"):
        await store.tenants.add_listener(
            listener(id=stored.listeners[0].id, load_balancer_id=stored.load_balancer.id, protocol_port=9),
            project_id=None,
        )


async def test_a_child_of_an_unknown_parent_is_not_found(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(NotFound, match="Load Balancer nope not found"):
        await store.tenants.add_listener(listener(load_balancer_id="nope"), project_id=None)
    with pytest.raises(NotFound, match="Pool nope not found"):
        await store.tenants.add_members((member(pool_id="nope"),), project_id=None)
    with pytest.raises(NotFound, match=f"Pool {stored.pools[0].id} not found"):
        await store.tenants.add_members((member(pool_id=stored.pools[0].id),), project_id="other")


# -- pools


async def test_a_pool_is_added_with_all_that_is_in_it(store: SqlStore, stored: LoadBalancerTree) -> None:
    row = pool(load_balancer_id=stored.load_balancer.id)
    inside = [member(1), member(2)]

    change = await store.tenants.add_pool(row, inside, monitor(), listener_id=None, project_id=PROJECT)

    now = await store.tenants.get(Pool, row.id, project_id=PROJECT)
    assert (set(now.member_ids), now.listener_ids) == (set(ids(inside)), ())
    group, first, second, check = change.resources
    assert isinstance(group, Pool)
    assert group.member_ids == (first.id, second.id)
    assert group.health_monitor_id == now.health_monitor_id == check.id
    assert {row.revision for row in change.resources} == {2}
    assert (await statuses(store, stored))["listener"] == ("ACTIVE", 1)


async def test_a_pool_for_a_listener_becomes_its_default_pool(store: SqlStore) -> None:
    await placed(store)
    row = listener()
    stored = await create(store, LoadBalancerTree(load_balancer=load_balancer(), listeners=(row,)))
    await confirm(store, stored.load_balancer.id)
    group = pool()

    change = await store.tenants.add_pool(group, [], None, listener_id=row.id, project_id=PROJECT)

    now = await store.tenants.get(Listener, row.id, project_id=None)
    assert change.load_balancer_id == stored.load_balancer.id
    assert now.default_pool_id == group.id
    assert (now.revision, now.provisioning_status) == (2, ProvisioningStatus.PENDING_UPDATE)
    assert (await store.tenants.get(Pool, group.id, project_id=None)).listener_ids == (row.id,)


async def test_a_second_default_pool_is_a_conflict(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Conflict, match="This listener already has a default pool"):
        await store.tenants.add_pool(pool(), [], None, listener_id=stored.listeners[0].id, project_id=None)


async def test_a_pool_of_the_wrong_protocol_for_its_listener_is_refused(store: SqlStore) -> None:
    row = listener()
    await create(store, LoadBalancerTree(load_balancer=load_balancer(), listeners=(row,)))

    with pytest.raises(Invalid, match="The pool protocol 'TCP'"):
        await store.tenants.add_pool(pool(protocol="TCP"), [], None, listener_id=row.id, project_id=None)
    assert (await store.tenants.get(Listener, row.id, project_id=None)).default_pool_id is None


async def test_a_listener_of_another_load_balancer_is_not_found(store: SqlStore, stored: LoadBalancerTree) -> None:
    other = await create(store, LoadBalancerTree(load_balancer=load_balancer(), listeners=(listener(),)))

    with pytest.raises(NotFound, match="Listener"):
        await store.tenants.add_pool(
            pool(load_balancer_id=stored.load_balancer.id),
            [],
            None,
            listener_id=other.listeners[0].id,
            project_id=None,
        )


# -- members and monitors


async def test_a_member_is_added_and_its_parents_change_with_it(store: SqlStore, stored: LoadBalancerTree) -> None:
    row = member(9, pool_id=stored.pools[0].id)

    change = await store.tenants.add_members((row,), project_id=PROJECT)

    now = await store.tenants.get(Member, row.id, parent_id=stored.pools[0].id, project_id=PROJECT)
    assert change.resources == (now,)
    assert now.load_balancer_id == stored.load_balancer.id
    assert now.revision == 2
    pending = ("PENDING_UPDATE", 2)
    assert await statuses(store, stored) == {"root": pending, "listener": pending, "pool": pending}


async def test_parents_never_confirmed_stay_pending_create(store: SqlStore) -> None:
    stored = await create(store)

    await store.tenants.add_members((member(9, pool_id=stored.pools[0].id),), project_id=None)

    pending = ("PENDING_CREATE", 2)
    assert await statuses(store, stored) == {"root": pending, "listener": pending, "pool": pending}


async def test_the_same_member_again_is_a_conflict(store: SqlStore, stored: LoadBalancerTree) -> None:
    taken = stored.members[0]

    with pytest.raises(Conflict, match=f"already using ip {taken.address} on protocol_port 8080"):
        await store.tenants.add_members((member(pool_id=taken.pool_id, address=taken.address),), project_id=None)


async def test_a_second_monitor_is_a_conflict(store: SqlStore, stored: LoadBalancerTree) -> None:
    with pytest.raises(Conflict, match="This pool already has a health monitor"):
        await store.tenants.add_health_monitor(monitor(pool_id=stored.pools[0].id), project_id=None)


async def test_a_monitor_may_succeed_one_being_deleted(store: SqlStore, stored: LoadBalancerTree) -> None:
    await store.tenants.delete_child(HealthMonitor, stored.health_monitors[0].id, project_id=None)
    successor = monitor(pool_id=stored.pools[0].id)

    await store.tenants.add_health_monitor(successor, project_id=PROJECT)

    now = await store.tenants.tree(stored.load_balancer.id, project_id=None)
    assert len(now.health_monitors) == 2
    assert now.pools[0].health_monitor_id == successor.id
    assert (await store.tenants.get(Pool, stored.pools[0].id, project_id=None)).health_monitor_id == successor.id


async def test_nothing_is_added_to_a_pool_being_deleted(store: SqlStore, stored: LoadBalancerTree) -> None:
    await store.tenants.delete_child(Pool, stored.pools[0].id, project_id=None)

    with pytest.raises(Conflict, match=rf"^Pool {stored.pools[0].id} is immutable and cannot be updated\.$"):
        await store.tenants.add_members((member(9, pool_id=stored.pools[0].id),), project_id=None)


async def test_load_balancers_do_not_disturb_each_other(store: SqlStore, stored: LoadBalancerTree) -> None:
    other = await create(store, bare())

    await store.tenants.add_pool(
        pool(load_balancer_id=other.load_balancer.id), [], None, listener_id=None, project_id=None
    )

    assert await store.tenants.tree(stored.load_balancer.id, project_id=None) == stored
    assert (await store.tenants.get(LoadBalancer, other.load_balancer.id, project_id=None)).revision == 2


async def test_a_tree_of_several_pools_keeps_them_apart(store: SqlStore) -> None:
    whole = tree(members=2)
    second = pool()
    more = LoadBalancerTree(
        load_balancer=whole.load_balancer,
        listeners=whole.listeners,
        pools=(*whole.pools, second),
        members=(*whole.members, member(7, pool_id=second.id)),
        health_monitors=whole.health_monitors,
    )

    stored = await create(store, more)

    by_id = {row.id: row for row in (await store.tenants.tree(stored.load_balancer.id, project_id=None)).pools}
    assert len(by_id[whole.pools[0].id].member_ids) == 2
    assert by_id[second.id].member_ids == (more.members[-1].id,)
    assert by_id[second.id].health_monitor_id is None


@pytest.mark.parametrize("protocol", ["UDP", "SCTP"])
async def test_each_transport_has_ports_of_its_own(store: SqlStore, stored: LoadBalancerTree, protocol: Any) -> None:
    root = stored.load_balancer.id
    taken = stored.listeners[0].protocol_port
    row = listener(load_balancer_id=root, protocol=protocol, protocol_port=taken)
    await store.tenants.add_listener(row, project_id=PROJECT)
    for again in (protocol, "TERMINATED_HTTPS"):
        with pytest.raises(Conflict, match=f"{again} and protocol_port {taken}"):
            await store.tenants.add_listener(
                listener(load_balancer_id=root, protocol=again, protocol_port=taken), project_id=PROJECT
            )
    await store.tenants.delete_child(Listener, row.id, project_id=PROJECT)
    await store.tenants.add_listener(
        listener(load_balancer_id=root, protocol=protocol, protocol_port=taken), project_id=PROJECT
    )
    with pytest.raises(Conflict, match="protocol_port 7"):
        await create(store, with_ports(("UDP", 7), ("TCP", 7), ("UDP", 7)))
    await create(store, with_ports(("UDP", 7), ("TCP", 7), ("SCTP", 7)))


def with_ports(*places: tuple[Any, int]) -> LoadBalancerTree:
    return LoadBalancerTree(
        load_balancer=load_balancer(),
        listeners=tuple(listener(protocol=protocol, protocol_port=port) for protocol, port in places),
    )


async def test_a_listener_comes_with_its_pools(store: SqlStore, stored: LoadBalancerTree) -> None:
    new = NewPool(pool=pool(), members=(member(1), member(2)), monitor=monitor())
    row = listener(load_balancer_id=stored.load_balancer.id, protocol_port=9, default_pool_id=new.pool.id)

    change = await store.tenants.add_listener(row, new_pools=[new], project_id=PROJECT)

    now = await store.tenants.get(Pool, new.pool.id, project_id=PROJECT)
    (told,) = (each for each in change.resources if isinstance(each, Pool))
    assert told.listener_ids == now.listener_ids == (row.id,)
    assert list(told.member_ids) == ids(new.members) and told.health_monitor_id == now.health_monitor_id
    assert sorted(now.member_ids) == sorted(ids(new.members)) and now.health_monitor_id is not None
    assert (await store.tenants.get(Listener, row.id, project_id=PROJECT)).default_pool_id == now.id


async def test_nothing_is_made_of_a_pool_that_does_not_fit(store: SqlStore, stored: LoadBalancerTree) -> None:
    new = NewPool(pool=pool(protocol="TCP"), members=(member(1),))
    row = listener(load_balancer_id=stored.load_balancer.id, protocol_port=9, default_pool_id=new.pool.id)
    with pytest.raises(Invalid):
        await store.tenants.add_listener(row, new_pools=[new], project_id=PROJECT)
    policy = l7policy(listener_id=stored.listeners[0].id, action="REDIRECT_TO_POOL", redirect_pool_id=new.pool.id)
    with pytest.raises(Invalid):
        await store.tenants.add_l7policy(policy, (), new_pool=new, project_id=PROJECT)
    assert await store.tenants.tree(stored.load_balancer.id, project_id=None) == stored


async def test_a_listener_without_children_gets_none(store: SqlStore, stored: LoadBalancerTree) -> None:
    row = listener(load_balancer_id=stored.load_balancer.id, protocol="PROMETHEUS", protocol_port=9)
    await store.tenants.add_listener(row, project_id=PROJECT)
    with pytest.raises(Invalid, match="cannot have child objects"):
        await store.tenants.update_child(Listener, row.id, {"default_pool_id": stored.pools[0].id}, project_id=PROJECT)
