"""Load balancers whose members would be VIPs of others: only where the same devices serve both in one network."""

from typing import Any

import pytest

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.chaining import AddressInSubnet, ChainedAddresses, ChainQuery
from evenkeel.core.resources.model import LoadBalancer, LoadBalancerTree, Member
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import (
    PROJECT,
    add_shard,
    create,
    load_balancer,
    member,
    placed,
    pool,
    vip,
)
from tests.store.plans import plan_of

VIP, MEMBER = "10.0.0.9", "10.0.0.8"
OTHER = ProjectId("project-2")


def query(**values: Any) -> ChainQuery:
    """What a new load balancer of the project is to get: the VIP as a member, and the member's address as its VIP."""
    subnet_id = values.pop("subnet_id", "")
    defaults: dict[str, Any] = {
        "environment": "prod",
        "project_id": PROJECT,
        "members": (AddressInSubnet(address=VIP, subnet_id=subnet_id),),
        "vips": (AddressInSubnet(address=MEMBER, subnet_id=subnet_id),),
    }
    return ChainQuery(**defaults | values)


async def there(store: SqlStore, **values: Any) -> LoadBalancerTree:
    """A load balancer with the VIP and the member."""
    target = pool()
    tree = LoadBalancerTree(
        load_balancer=load_balancer(**values),
        pools=(target,),
        members=(member(pool_id=target.id, address=MEMBER, subnet_id="subnet-1"),),
    )
    return await create(store, tree, address=VIP)


BOTH = ChainedAddresses(members=(VIP,), vips=(MEMBER,))


async def test_addresses_of_the_project_on_the_same_devices_chain(store: SqlStore) -> None:
    await placed(store)
    made = await there(store)
    assert await store.tenants.find_chained(query()) == BOTH
    own = LoadBalancerId(made.load_balancer.id)
    assert await store.tenants.find_chained(query(load_balancer_id=own)) == BOTH
    assert await store.tenants.find_chained(query(vips=())) == ChainedAddresses(members=(VIP,))
    assert await store.tenants.find_chained(query(members=())) == ChainedAddresses(vips=(MEMBER,))


async def test_additional_vip_counts(store: SqlStore) -> None:
    await placed(store)
    root = LoadBalancerTree(load_balancer=load_balancer())
    await create(store, root, address="10.0.0.7", additional=(vip(address=VIP),))
    assert await store.tenants.find_chained(query()) == ChainedAddresses(members=(VIP,))


@pytest.mark.parametrize(
    "change",
    [
        {"environment": "test"},
        {"project_id": OTHER},
        {"project_id": OTHER, "subnet_id": "subnet-2"},
        {"subnet_id": "2"},
    ],
)
async def test_addresses_elsewhere_do_not_chain(store: SqlStore, change: dict[str, Any]) -> None:
    await placed(store)
    await there(store)
    assert await store.tenants.find_chained(query(**change)) == ChainedAddresses()


async def test_other_projects_addresses_in_the_same_subnet_chain(store: SqlStore) -> None:
    await placed(store)
    await there(store)
    assert await store.tenants.find_chained(query(project_id=OTHER, subnet_id="subnet-1")) == BOTH


async def test_addresses_behind_another_device_group_do_not_chain(store: SqlStore) -> None:
    await placed(store)
    await there(store)
    await add_shard(store, "shard-2", project_id=OTHER, group_number=2)
    assert await store.tenants.find_chained(query(project_id=OTHER, subnet_id="subnet-1")) == ChainedAddresses()
    await add_shard(store, "shard-3", project_id=OTHER, group_number=1)
    assert await store.tenants.find_chained(query(project_id=OTHER, subnet_id="subnet-1")) == BOTH


async def test_addresses_that_go_do_not_chain(store: SqlStore) -> None:
    await placed(store)
    made = await there(store)
    await store.tenants.delete_child(Member, made.members[0].id, project_id=None)
    assert await store.tenants.find_chained(query()) == ChainedAddresses(members=(VIP,))
    await store.tenants.delete_load_balancer(made.load_balancer.id, cascade=True, project_id=None)
    assert await store.tenants.find_chained(query()) == ChainedAddresses()
    assert isinstance(made.load_balancer, LoadBalancer)


async def test_both_directions_are_found_by_indexes(store: SqlStore) -> None:
    await placed(store)
    await there(store)
    for one, index in ((query(vips=()), "ix_vip_address_address"), (query(members=()), "ix_member_address")):

        async def run(one: ChainQuery = one) -> ChainedAddresses:
            return await store.tenants.find_chained(one)

        assert index in await plan_of(store, run)
