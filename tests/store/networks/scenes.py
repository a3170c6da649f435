"""A device group that is attached to networks, and load balancers in them."""

import itertools
from typing import Any

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import DeclaredNetwork, NetworkLayout, NetworkType
from evenkeel.core.resources.model import Member, Pool, Subnet, Vip
from evenkeel.store.engine.inserting import insert_into_tables
from evenkeel.store.sql_store import SqlStore
from evenkeel.store.vips.addresses import address_rows
from tests.store.ownership_world import World

_last = itertools.cycle(range(20, 251))
LAYOUT = NetworkLayout(
    adjacent=True,
    devices=("10.0.0.1:443", "10.0.0.2:443"),
    traffic_groups=("traffic-group-1",),
    snat_addresses=1,
    network_types=(NetworkType.VLAN, NetworkType.VXLAN),
)


def network(number: int, **changes: Any) -> DeclaredNetwork:
    """VLAN ``100 + number``."""
    values: dict[str, Any] = {
        "id": f"net-{number}",
        "name": f"net-{number}",
        "network_type": NetworkType.VLAN,
        "physical_network": "phys",
        "segmentation_id": 100 + number,
    }
    return DeclaredNetwork(**(values | changes))


def subnet(number: int, net: int | None = None, **changes: Any) -> Subnet:
    """Of ``net-<number>``; 10.<number>.0.0/24, with ten addresses for devices."""
    base = changes.pop("base", f"10.{number}.0")
    values: dict[str, Any] = {
        "id": f"sub-{number}",
        "network_id": f"net-{number if net is None else net}",
        "cidr": f"{base}.0/24",
        "allocation_start": f"{base}.20",
        "allocation_end": f"{base}.250",
        "gateway_ip": f"{base}.1",
        "reserved": (f"{base}.2-{base}.11",),
        "device_addresses": (f"{base}.2-{base}.11",),
    }
    return Subnet(**(values | changes))


async def declare(world: World, *numbers: int, base: str | None = None) -> None:
    """Networks with a subnet each."""
    for number in numbers:
        await world.operator.add_network(network(number))
        await world.operator.add_subnet(subnet(number, **({"base": base} if base else {})))


async def load_balancer(
    world: World, number: int, project_id: str = "p1", members: tuple[int, ...] = (), **place: Any
) -> str:
    """A placed load balancer with a VIP in ``sub-<number>`` and a member in each of ``members``; its id."""
    id_ = f"lb-{project_id}-{number}-{len(members)}"
    vip = Vip(
        address=f"10.{number}.0.{next(_last)}", subnet_id=f"sub-{number}", network_id=f"net-{number}", port_id="port"
    )
    made = await world.placed(id=id_, project_id=project_id, vip=vip, **place)
    await world.db.write(lambda connection: insert_into_tables(connection, [address_rows(made.id, [vip])]))
    below = {"load_balancer_id": made.id, "project_id": project_id, "revision": 1}
    if members:
        await world.add(Pool(id=f"pool-{id_}", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **below))
    for each in members:
        await world.add(
            Member(
                id=f"member-{id_}-{each}",
                pool_id=f"pool-{id_}",
                address=f"10.{each}.0.99",
                protocol_port=80,
                subnet_id=f"sub-{each}",
                **below,
            )
        )
    return made.id


async def definitions(
    world: World, project_id: str = "p1", store: SqlStore | None = None
) -> dict[str, ServiceDefinition]:
    """What the owner of the project's shard gets, by load balancer."""
    shard = await world.shard_of(project_id)
    page = (
        await (store or world.store).ownership.services(
            "a1", "session-of-a1", shard.id, shard.epoch, load_balancer_ids=None, after_id="", limit=100
        )
    ).page
    return {each.load_balancer_id: each for each in page.services}
