from typing import Any

import pytest

from evenkeel.core.kit.errors import Conflict, NotFound
from evenkeel.core.resources.model import Subnet
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import bare, create, placed


def subnet(**values: Any) -> Subnet:
    defaults = {
        "id": "subnet-1",
        "network_id": "network-1",
        "cidr": "10.0.0.0/24",
        "allocation_start": "10.0.0.2",
        "allocation_end": "10.0.0.254",
        "name": "front",
    }
    return Subnet(**defaults | values)


async def test_subnets_come_back_by_name(store: SqlStore) -> None:
    front = await store.operators.add_subnet(subnet(gateway_ip="10.0.0.1"))
    back = await store.operators.add_subnet(subnet(id="subnet-2", name="back", project_id="p"))

    assert await store.operators.subnets() == (back, front)


async def test_one_without_a_name_is_named_after_its_id(store: SqlStore) -> None:
    await store.operators.add_subnet(subnet(name=""))
    await store.operators.add_subnet(subnet(id="subnet-2", name=""))

    assert [row.name for row in await store.operators.subnets()] == ["subnet-1", "subnet-2"]


@pytest.mark.parametrize("again", [subnet(name="other"), subnet(id="other")])
async def test_an_id_or_name_that_exists_is_a_conflict(store: SqlStore, again: Subnet) -> None:
    await store.operators.add_subnet(subnet())

    with pytest.raises(Conflict):
        await store.operators.add_subnet(again)


async def test_one_in_use_stays_until_the_last_load_balancer_is_gone(store: SqlStore) -> None:
    await store.operators.add_subnet(subnet())
    root = (await create(store, bare())).load_balancer

    with pytest.raises(Conflict, match="in use"):
        await store.operators.delete_subnet("subnet-1")

    await store.tenants.delete_load_balancer(root.id, cascade=False, project_id=None)
    await store.operators.delete_subnet("subnet-1")
    assert await store.operators.subnets() == ()


async def test_one_used_by_a_load_balancer_being_deleted_is_still_in_use(store: SqlStore) -> None:
    await store.operators.add_subnet(subnet())
    await placed(store)
    root = (await create(store, bare())).load_balancer
    await store.tenants.delete_load_balancer(root.id, cascade=False, project_id=None)

    with pytest.raises(Conflict):
        await store.operators.delete_subnet("subnet-1")


async def test_an_unknown_one_is_not_found(store: SqlStore) -> None:
    with pytest.raises(NotFound, match="Subnet nope not found"):
        await store.operators.delete_subnet("nope")
