"""Many tenants at once through two controllers, each with connections of its own to one PostgreSQL: what devices get in
the tenants' networks is unique and dense, and all of it is given back.

In real time: what two transactions of PostgreSQL see of each other is what is tested.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import Table, select

from evenkeel.api.app import create_app
from evenkeel.core.devices.device import DeviceFacts
from evenkeel.core.networking.networks import AddressUse, DeclaredNetwork, NetworkLayout, NetworkType
from evenkeel.core.ports import Device
from evenkeel.core.resources.model import Subnet
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore, open_store
from tests.api.client import Client
from tests.system.world import ENVIRONMENT, HostView, World
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.real_time, pytest.mark.timeout(900)]
LIMIT_SECONDS = 240.0
TENANTS, EACH = 25, 2
LAYOUT = NetworkLayout(
    adjacent=True,
    devices=("device-1", "device-2"),
    traffic_groups=("traffic-group-1",),
    snat_addresses=2,
    network_types=(NetworkType.VLAN,),
)
CONTROLLERS = ("c0", "c1")


class AttachedView(HostView):
    """Devices that are attached to tenants' networks."""

    @property
    def facts(self) -> DeviceFacts:
        return replace(super().facts, network_layout=LAYOUT)


class ParallelWorld(World):
    """Each controller has its own store and API."""

    stores: dict[str, SqlStore]

    def _store_of(self, name: str) -> SqlStore:
        return self.stores[name]

    def _device_of(self, host: str) -> Device:
        return AttachedView(self.memory, self.reschedule)

    async def rows(self, table: Table) -> list[Any]:
        return list(await self.store.database.read(lambda connection: connection.execute(select(table)).all()))

    async def counts(self) -> dict[str, int]:
        """What is stored for load balancers in networks."""
        tables = schema.attached_network, schema.route_domain, schema.device_address, schema.vip_address
        return {table.name: len(found) for table in tables if (found := await self.rows(table))}


@pytest.fixture
async def world(tmp_path: Path, postgresql_database: str) -> AsyncIterator[ParallelWorld]:
    made = ParallelWorld(tmp_path)
    await made.store.close()
    made.store = open_store(postgresql_database)
    made.stores = {name: open_store(postgresql_database) for name in CONTROLLERS}
    await made.store.start()
    for store in made.stores.values():
        await store.start()
    await made.start()
    yield made
    await made.close()
    for store in made.stores.values():
        await store.close()


def api(world: ParallelWorld, name: str) -> Client:
    store = world.stores[name]
    network, driver = BuiltinNetwork(store.operators), world.controllers[name].driver
    return Client.of(create_app(store=store, network=network, driver=driver, default_provider=ENVIRONMENT))


async def declare(world: ParallelWorld, project_id: str, number: int) -> str:
    """The tenant's VLAN with the subnet 10.0.0.0/24; returns the subnet's id."""
    network_id, subnet_id = str(uuid.uuid4()), str(uuid.uuid4())
    await world.store.operators.add_network(
        DeclaredNetwork(
            id=network_id,
            name=f"net-{number}",
            network_type=NetworkType.VLAN,
            physical_network="phys",
            segmentation_id=100 + number,
            project_id=project_id,
        )
    )
    await world.store.operators.add_subnet(
        Subnet(
            id=subnet_id,
            network_id=network_id,
            cidr="10.0.0.0/24",
            name=f"sub-{number}",
            gateway_ip="10.0.0.1",
            allocation_start="10.0.0.20",
            allocation_end="10.0.0.250",
            device_addresses=("10.0.0.2-10.0.0.9",),
            project_id=project_id,
        )
    )
    return subnet_id


async def test_fifty_parallel_creates_get_unique_and_dense_numbers_and_addresses(world: ParallelWorld) -> None:
    tenants = {uuid.uuid4().hex: number for number in range(TENANTS)}
    subnets = {project_id: await declare(world, project_id, number) for project_id, number in tenants.items()}
    clients = [api(world, name) for name in CONTROLLERS]

    async def create(client: Client, project_id: str) -> str:
        # an address of its own: a no-op device has no route domains
        address = f"10.0.0.{20 + EACH * tenants[project_id] + clients.index(client)}"
        asked = {"vip_subnet_id": subnets[project_id], "project_id": project_id, "vip_address": address}
        return str((await client.post("/loadbalancers", {"loadbalancer": asked}))["loadbalancer"]["id"])

    # both of a tenant's at once, by different controllers
    ids = await asyncio.gather(*(create(client, project_id) for project_id in tenants for client in clients))
    assert len(set(ids)) == TENANTS * EACH
    for load_balancer_id in ids:
        await eventually(lambda one=load_balancer_id: world.active(one), within_seconds=LIMIT_SECONDS)  # type: ignore[misc]

    numbers = [row.number for row in await world.rows(schema.route_domain)]
    assert sorted(numbers) == list(range(1, TENANTS + 1))
    addresses = await world.rows(schema.device_address)
    assert len({(row.network_id, row.address) for row in addresses}) == len(addresses) == 4 * TENANTS
    lowest = {f"10.0.0.{last}" for last in range(2, 6)}
    for subnet_id in subnets.values():
        assert {row.address for row in addresses if row.subnet_id == subnet_id} == lowest
    uses = Counter(row.purpose for row in addresses)
    assert uses == {AddressUse.SELF.value: 2 * TENANTS, AddressUse.SNAT.value: 2 * TENANTS}

    await asyncio.gather(*(clients[number % 2].delete(f"/loadbalancers/{id_}") for number, id_ in enumerate(ids)))

    async def nothing_is_left() -> bool:
        return not await world.counts()

    await eventually(nothing_is_left, within_seconds=LIMIT_SECONDS, every_seconds=0.1)
    for client in clients:
        await client.http.aclose()
