"""Every address of a network is one load balancer's, be it a VIP or an additional one."""

from typing import Any

import pytest
from sqlalchemy import delete, func, select

from evenkeel.core.control.lists import ListQuery
from evenkeel.core.devices.service import service_definition_of_tree
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancer, Subnet
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import PROJECT, bare, create, placed, tree, vip
from tests.store.conftest import statements_of


def also(subnet_id: str = "subnet-2", address: str | None = None) -> VipPlan:
    """An additional VIP, of 10.2.0.1 to 10.2.0.4 unless its address is given."""
    plan = {"allocation_start": "10.2.0.1", "allocation_end": "10.2.0.4"}
    return vip(subnet_id=subnet_id, address=address, port_id="", **plan)


async def taken(store: SqlStore) -> set[str]:
    statement = select(schema.vip_address.c.address)
    return set(await store.database.read(lambda connection: connection.scalars(statement).all()))


async def test_additional_vips_are_on_the_port_of_the_vip_and_part_of_the_definition(store: SqlStore) -> None:
    made = await create(store, tree(), address="10.1.0.9", additional=(also(), also("subnet-3", "fd00::0007")))

    root = made.load_balancer
    chosen, given = root.additional_vips
    assert chosen.address.startswith("10.2.0.") and (given.subnet_id, given.address) == ("subnet-3", "fd00::7")
    assert {each.port_id for each in root.additional_vips} == {root.vip.port_id}
    assert {each.network_id for each in root.additional_vips} == {"network-1"}
    stored = await store.tenants.tree(root.id, project_id=PROJECT)
    assert stored.load_balancer.additional_vips == root.additional_vips
    assert service_definition_of_tree(stored).additional_vips == root.additional_vips
    assert await taken(store) == {"10.1.0.9", chosen.address, "fd00::7"}


@pytest.mark.parametrize("first", ["vip", "additional"])
@pytest.mark.parametrize("second", ["vip", "additional"])
async def test_an_address_that_is_taken_in_either_way_is_refused_by_name(
    store: SqlStore, first: str, second: str
) -> None:
    def plan(kind: str) -> dict[str, Any]:
        return {"address": "10.2.0.2"} if kind == "vip" else {"additional": (also(address="10.2.0.2"),)}

    await create(store, **plan(first))

    with pytest.raises(Conflict, match=r"10\.2\.0\.2 is in use on network network-1"):
        await create(store, **plan(second))
    assert len((await store.tenants.list(LoadBalancer, ListQuery())).items) == 1


async def test_free_addresses_go_to_the_last_one_and_then_it_states_which_subnet_is_full(store: SqlStore) -> None:
    made = [await create(store, additional=(also(),)) for _ in range(4)]

    assert {one.load_balancer.additional_vips[0].address for one in made} == {f"10.2.0.{n}" for n in range(1, 5)}
    with pytest.raises(Conflict, match="Subnet subnet-2 has no free VIP address"):
        await create(store, additional=(also(),))


async def test_addresses_are_free_again_when_the_row_is_gone_and_not_before(store: SqlStore) -> None:
    await placed(store)
    made = await create(store, address="10.1.0.9", additional=(also(address="10.2.0.2"),))
    root = made.load_balancer
    await store.tenants.delete_load_balancer(root.id, cascade=True, project_id=None)
    with pytest.raises(Conflict, match=r"10\.2\.0\.2"):
        await create(store, address="10.2.0.2")

    statement = delete(schema.load_balancer).where(schema.load_balancer.c.id == root.id)
    await store.database.write(lambda connection: connection.execute(statement))

    await create(store, address="10.2.0.2", additional=(also(address="10.1.0.9"),))


async def test_a_subnet_of_an_additional_vip_is_in_use(store: SqlStore) -> None:
    subnet = Subnet(
        id="subnet-2",
        network_id="network-1",
        cidr="10.2.0.0/24",
        allocation_start="10.2.0.1",
        allocation_end="10.2.0.4",
    )
    await store.operators.add_subnet(subnet)
    await create(store, additional=(also(),))

    with pytest.raises(Conflict, match="in use"):
        await store.operators.delete_subnet("subnet-2")


async def test_the_number_of_statements_does_not_depend_on_how_many_vips_there_are(store: SqlStore) -> None:
    counts = []
    for number in (1, 8):
        more = tuple(also(f"subnet-{place}", f"10.{100 + number}.0.{place}") for place in range(2, 2 + number))
        with statements_of(store.database) as seen:
            made = await create(store, bare(), address=f"10.99.0.{number}", additional=more)
        counts.append(len(seen))
        with statements_of(store.database) as seen:
            await store.tenants.tree(made.load_balancer.id, project_id=None)
        counts.append(len(seen))
    assert counts[:2] == counts[2:]
    count = select(func.count()).select_from(schema.vip_address)
    assert await store.database.read(lambda connection: connection.scalar(count)) == 2 + 9
