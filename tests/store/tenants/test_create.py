import pytest
from msgspec.structs import replace

from evenkeel.core.control.shards import ShardOwner
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Pool, SessionPersistence
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import (
    PROJECT,
    SHARD,
    add_agent,
    add_shard,
    bare,
    column,
    create,
    listener,
    load_balancer,
    member,
    monitor,
    placed,
    pool,
    tree,
    vip,
)


async def test_a_tree_is_stored_and_read_back_whole(store: SqlStore) -> None:
    change = await store.tenants.create_load_balancer(tree(listeners=2, members=3), vip(address="10.0.0.9"))

    stored = await store.tenants.tree(change.load_balancer_id, project_id=PROJECT)
    assert change.tree is not None
    assert change.resources == (change.tree.load_balancer,)
    assert sorted(stored.listeners, key=str) == sorted(change.tree.listeners, key=str)
    assert sorted(stored.members, key=str) == sorted(change.tree.members, key=str)
    assert stored.health_monitors == change.tree.health_monitors
    assert stored.load_balancer.vip.address == "10.0.0.9"
    assert (len(stored.listeners), len(stored.members), len(stored.health_monitors)) == (2, 3, 1)
    assert stored.pools[0].member_ids == tuple(sorted(row.id for row in stored.members))


async def test_everything_new_is_pending_create_at_revision_one(store: SqlStore) -> None:
    stored = await create(store)

    rows = [stored.load_balancer, *stored.listeners, *stored.pools, *stored.members, *stored.health_monitors]
    assert {row.provisioning_status for row in rows} == {ProvisioningStatus.PENDING_CREATE}
    assert {row.revision for row in rows} == {1}
    assert {row.project_id for row in rows} == {PROJECT}
    assert len({row.created_at for row in rows}) == 1


async def test_without_a_shard_it_waits_for_a_place_without_a_deadline(store: SqlStore) -> None:
    change = await store.tenants.create_load_balancer(bare(), vip())

    assert (change.placed, change.owner) == (False, None)
    assert await column(store, schema.load_balancer, change.load_balancer_id, "pending_deadline") is None


async def test_a_tenant_with_a_shard_is_placed_there_at_once(store: SqlStore) -> None:
    await placed(store)

    change = await store.tenants.create_load_balancer(bare(), vip())

    assert change.placed
    assert change.owner == ShardOwner(shard_id=SHARD, environment="prod", group_number=1, host="host-of-agent-1")
    root = await store.tenants.get(LoadBalancer, change.load_balancer_id, project_id=None)
    deadline = await column(store, schema.load_balancer, change.load_balancer_id, "pending_deadline")
    assert root.shard_id == SHARD
    assert deadline == pytest.approx(root.created_at + 300.0)


async def test_a_shard_without_an_acting_agent_takes_it_all_the_same(store: SqlStore) -> None:
    await add_agent(store)
    await add_shard(store, acting_agent_id=None)

    change = await store.tenants.create_load_balancer(bare(), vip())

    assert (change.placed, change.owner) == (True, None)


async def test_a_full_group_takes_no_more(store: SqlStore) -> None:
    await placed(store)
    await store.database.write(
        lambda connection: connection.execute(schema.device_group.update().values(capacity_score=1.0))
    )

    assert not (await store.tenants.create_load_balancer(bare(), vip())).placed


async def test_a_group_with_a_capacity_policy_is_left_to_the_scheduler_which_reserves(store: SqlStore) -> None:
    await placed(store)
    policy = '{"figures":{"tenant_count":{"value":1,"limit":10}}}'
    await store.database.write(
        lambda connection: connection.execute(schema.device_group.update().values(capacity=policy))
    )

    assert not (await store.tenants.create_load_balancer(bare(), vip())).placed


async def test_of_several_shards_the_emptiest_group_is_taken(store: SqlStore) -> None:
    await placed(store)
    await add_agent(store, "agent-2", group=2)
    await add_shard(store, "shard-2", group_number=2, home_agent_id="agent-2", acting_agent_id="agent-2")
    groups = schema.device_group
    await store.database.write(
        lambda connection: connection.execute(groups.update().where(groups.c.number == 1).values(capacity_score=0.5))
    )

    change = await store.tenants.create_load_balancer(bare(), vip())

    assert change.owner is not None
    assert change.owner.shard_id == "shard-2"


async def test_another_tenants_shard_is_not_taken(store: SqlStore) -> None:
    await placed(store)

    assert not (await store.tenants.create_load_balancer(bare(project_id="other"), vip())).placed


async def test_an_unknown_provider_is_refused(store: SqlStore) -> None:
    with pytest.raises(Invalid, match=r"^Provider 'amphora' is not enabled\.$"):
        await store.tenants.create_load_balancer(bare(provider="amphora"), vip())


async def test_a_load_balancer_without_project_is_refused(store: SqlStore) -> None:
    with pytest.raises(Invalid, match="project_id"):
        await store.tenants.create_load_balancer(bare(project_id=""), vip())


# -- the address


async def test_an_address_in_use_is_refused(store: SqlStore) -> None:
    await create(store, address="10.0.0.9")

    with pytest.raises(Conflict, match=r"^VIP address 10\.0\.0\.9 is in use"):
        await store.tenants.create_load_balancer(bare(), vip(address="10.0.0.9"))


async def test_two_spellings_of_an_address_are_one_address(store: SqlStore) -> None:
    await create(store, address="2001:DB8:0::1")

    with pytest.raises(Conflict, match="2001:db8::1 is in use"):
        await store.tenants.create_load_balancer(bare(), vip(address="2001:db8::1"))


async def test_the_same_address_on_another_network_is_free(store: SqlStore) -> None:
    await create(store, address="10.0.0.9")

    assert await create(store, address="10.0.0.9", network_id="network-2")


async def test_automatic_addresses_fill_the_range_and_then_the_subnet_is_named(store: SqlStore) -> None:
    narrow = {"allocation_start": "10.0.0.10", "allocation_end": "10.0.0.29"}

    taken = [(await create(store, bare(), **narrow)).load_balancer.vip.address for _ in range(20)]

    assert sorted(taken) == [f"10.0.0.{last}" for last in range(10, 30)]
    with pytest.raises(Conflict, match=r"^Subnet subnet-1 has no free VIP address\.$"):
        await store.tenants.create_load_balancer(bare(), vip(**narrow))


async def test_the_address_of_one_being_deleted_stays_taken(store: SqlStore) -> None:
    await placed(store)
    stored = await create(store, address="10.0.0.9")
    await store.tenants.delete_load_balancer(stored.load_balancer.id, cascade=True, project_id=None)

    with pytest.raises(Conflict, match="in use"):
        await store.tenants.create_load_balancer(bare(), vip(address="10.0.0.9"))


# -- ids, and trees that contradict themselves


async def test_an_id_that_exists_is_refused(store: SqlStore) -> None:
    stored = await create(store)

    with pytest.raises(Conflict, match="Already an entity with that specified id"):
        await store.tenants.create_load_balancer(bare(id=stored.load_balancer.id), vip())


async def test_a_childs_id_that_exists_is_refused_and_nothing_is_left(store: SqlStore) -> None:
    stored = await create(store)
    root = load_balancer()

    with pytest.raises(Conflict, match="Already an entity"):
        await store.tenants.create_load_balancer(
            LoadBalancerTree(load_balancer=root, pools=(pool(id=stored.pools[0].id),)), vip()
        )

    with pytest.raises(NotFound):
        await store.tenants.get(LoadBalancer, root.id, project_id=None)


async def test_two_listeners_on_one_port_are_refused(store: SqlStore) -> None:
    both = LoadBalancerTree(load_balancer=load_balancer(), listeners=(listener(), listener(protocol="TCP")))

    with pytest.raises(Conflict, match="already using protocol TCP and protocol_port 80"):
        await store.tenants.create_load_balancer(both, vip())


async def test_a_second_monitor_is_refused(store: SqlStore) -> None:
    whole = tree()

    with pytest.raises(Conflict, match="This pool already has a health monitor"):
        await store.tenants.create_load_balancer(
            replace(whole, health_monitors=(*whole.health_monitors, monitor(pool_id=whole.pools[0].id))), vip()
        )


async def test_the_same_member_twice_is_refused(store: SqlStore) -> None:
    group = pool()
    twice = LoadBalancerTree(load_balancer=load_balancer(), pools=(group,), members=(member(1, pool_id=group.id),) * 2)

    with pytest.raises(Conflict, match=r"Another member on this pool is already using ip 10\.1\.0\.2"):
        await store.tenants.create_load_balancer(twice, vip())


async def test_a_default_pool_of_the_wrong_protocol_is_refused(store: SqlStore) -> None:
    group = pool(protocol="TCP")
    wrong = LoadBalancerTree(
        load_balancer=load_balancer(), listeners=(listener(default_pool_id=group.id),), pools=(group,)
    )

    with pytest.raises(Invalid, match="The pool protocol 'TCP' is invalid while the listener protocol is 'HTTP'"):
        await store.tenants.create_load_balancer(wrong, vip())


async def test_a_default_pool_outside_the_tree_is_not_found(store: SqlStore) -> None:
    stranger = (await create(store)).pools[0]
    wrong = LoadBalancerTree(load_balancer=load_balancer(), listeners=(listener(default_pool_id=stranger.id),))

    with pytest.raises(NotFound):
        await store.tenants.create_load_balancer(wrong, vip())


async def test_values_of_all_kinds_come_back_as_given(store: SqlStore) -> None:
    whole = tree(members=1, name="näme", description="d" * 255, tags=("a", 'b"'), admin_state_up=False)
    cidrs = tuple(f"10.{number}.0.0/16" for number in range(200))
    cookie = SessionPersistence(type="APP_COOKIE", cookie_name="c" * 255)
    headers = {"X-Forwarded-For": "true"}
    times = {"timeout_member_connect": 0, "timeout_tcp_inspect": 2_073_600_000}
    pool_values = {"protocol": "PROXYV2", "lb_algorithm": "SOURCE_IP_PORT", "session_persistence": cookie}
    rich = replace(
        whole,
        listeners=(replace(whole.listeners[0], insert_headers=headers, tags=("t",), allowed_cidrs=cidrs, **times),),
        pools=(replace(whole.pools[0], **pool_values),),
        members=(replace(whole.members[0], monitor_address="2001:db8::1", monitor_port=1),),
        health_monitors=(replace(whole.health_monitors[0], type="TLS-HELLO", http_version=1.1, url_path="/x"),),
    )

    stored = await create(store, rich)

    assert await store.tenants.tree(whole.load_balancer.id, project_id=None) == stored
    assert (stored.listeners[0].insert_headers, stored.listeners[0].allowed_cidrs) == (headers, cidrs)
    assert (await store.tenants.get(Pool, whole.pools[0].id, project_id=None)).session_persistence == cookie
