"""Networks of a run: two that projects share, and one of each project; and what devices must have of them at last."""

from collections.abc import Iterable
from typing import Any

from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.networking.networks import DeclaredNetwork, NetworkLayout, NetworkType
from evenkeel.core.resources.model import Subnet
from evenkeel.store.networks.common_services import read_network_services
from evenkeel.store.networks.shard_locations import ShardLocation, shard_location_from_row, shard_locations_query
from evenkeel.store.ownership.services import _definitions_page
from evenkeel.store.records import schema
from evenkeel.store.records.rows import row_from_network, row_from_subnet

VIPS, MEMBERS = "s", "t"
"""Subnets of the shared networks ``n`` and ``m``."""
SHARED = {VIPS: ("n", "192.0.2"), MEMBERS: ("m", "10.0.0")}
PHYSICAL = "physnet"


def layout(devices: Iterable[str]) -> NetworkLayout:
    """Of a device group."""
    return NetworkLayout(
        adjacent=True,
        devices=tuple(devices),
        traffic_groups=("traffic-group-1",),
        snat_addresses=1,
        network_types=(NetworkType.FLAT, NetworkType.VLAN),
    )


def own_subnet(project_id: str) -> str:
    """The subnet of a project; those of all projects have the same addresses."""
    return f"own-{project_id}"


def declare(server: Any, projects: Iterable[str]) -> None:
    """As an operator had done long ago."""
    for number, (subnet_id, (network_id, base)) in enumerate(sorted(SHARED.items()), 101):
        _declare(server, network_id, number, subnet_id, base, shared=True)
    for number, project_id in enumerate(projects, 201):
        _declare(server, f"net-{project_id}", number, own_subnet(project_id), "10.1.0", project_id=project_id)


def _declare(server: Any, network_id: str, segment: int, subnet_id: str, base: str, **changes: Any) -> None:
    network = DeclaredNetwork(
        id=network_id,
        name=network_id,
        network_type=NetworkType.VLAN,
        physical_network=PHYSICAL,
        segmentation_id=segment,
        **changes,
    )
    subnet = Subnet(
        id=subnet_id,
        name=subnet_id,
        network_id=network_id,
        cidr=f"{base}.0/24",
        gateway_ip=f"{base}.254",
        allocation_start=f"{base}.1",
        allocation_end=f"{base}.99",
        device_addresses=(f"{base}.200-{base}.250",),
    )
    for table, row in ((schema.network, row_from_network(network)), (schema.subnet, row_from_subnet(subnet))):
        places = ", ".join("?" * len(row))
        server.raw.execute(f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))


# -- in the end


def places(world: Any) -> list[ShardLocation]:
    """All shards."""
    connection = world.server.connection
    found = [shard_location_from_row(row) for row in connection.execute(shard_locations_query())]
    connection.rollback()
    return found


def definitions(world: Any, place: ShardLocation, load_balancer_ids: list[str]) -> dict[str, ServiceDefinition]:
    """What the owner of a tenant's shard is told."""
    connection = world.server.connection
    page = _definitions_page(connection, place, sorted(load_balancer_ids), 1000, (), {}, False).page  # type: ignore[arg-type]
    connection.rollback()
    return {service.load_balancer_id: service for service in page.services}


def batch(world: Any, number: int) -> PartitionBatch | None:
    """What a complete pass over the common shard of a group is told."""
    sql = (
        "SELECT shard.id, epoch, session_id FROM shard LEFT JOIN agent ON agent.id = shard.acting_agent_id"
        " WHERE shard.group_number = ? AND project_id = ''"
    )
    for shard_id, epoch, session_id in world.server.look(sql, number):
        (place,) = (each for each in places(world) if each.shard_id == shard_id)
        services = read_network_services(world.server.connection, place, None, "", 1000).services
        world.server.connection.rollback()
        return PartitionBatch(
            project_id=COMMON_PROJECT, epoch=epoch, session_id=session_id or "", services=services, complete=True
        )
    return None


USED = """SELECT DISTINCT subnet_id FROM (
    SELECT vip.subnet_id, vip.load_balancer_id FROM vip_address vip
    UNION SELECT member.subnet_id, member.load_balancer_id FROM member WHERE subnet_id IS NOT NULL
) JOIN load_balancer ON load_balancer.id = load_balancer_id JOIN shard ON shard.id = load_balancer.shard_id
WHERE shard.group_number = ? AND subnet_id IN ('s', 't') ORDER BY subnet_id"""
ALLOCATED = """SELECT DISTINCT subnet_id FROM device_address JOIN shard ON shard.id = shard_id
    WHERE project_id = '' AND group_number = ? ORDER BY subnet_id"""
HANGING = """SELECT attached_network.shard_id, network_id FROM attached_network WHERE network_id NOT IN (
    SELECT vip.network_id FROM vip_address vip JOIN load_balancer ON load_balancer.id = vip.load_balancer_id
    WHERE load_balancer.shard_id = attached_network.shard_id
    UNION SELECT subnet.network_id FROM member JOIN subnet ON subnet.id = member.subnet_id
    JOIN load_balancer ON load_balancer.id = member.load_balancer_id
    WHERE load_balancer.shard_id = attached_network.shard_id)"""
UNREST = {
    "network not served": "SELECT network_id, revision, applied_revision, reason FROM common_network"
    " WHERE revision != applied_revision",
    "addresses leave": "SELECT network_id, subnet_id, leaving_revision FROM device_address"
    " WHERE leaving_revision IS NOT NULL",
    "attached without users": HANGING,
}


def unrest(world: Any) -> list[str]:
    """What is still to be done."""
    found = [f"{what}: {row}" for what, sql in UNREST.items() for row in world.server.look(sql)]
    for number in world.sites:
        used, has = world.server.look(USED, number), world.server.look(ALLOCATED, number)
        if used != has:
            found.append(f"group {number} has shared subnets {has}, used are {used}")
    return found
