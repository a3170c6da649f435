"""Definitions of common networks for the agent that owns a device group's common shard."""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address, ip_network

from sqlalchemy import Connection, select

from evenkeel.core.devices.service import ServiceDefinition, network_definition
from evenkeel.core.kit.ids import COMMON_PROJECT, LoadBalancerId
from evenkeel.core.networking.attachment import allocated_subnet, service_network, wanted_common_addresses
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN, TUNNELS, DeclaredNetwork, MemberHost, ServiceSubnet
from evenkeel.core.protocol.messages import ServiceDefinitions
from evenkeel.core.resources.model import Subnet
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.networks.device_addresses import read_device_addresses
from evenkeel.store.networks.shard_locations import ShardLocation
from evenkeel.store.records import schema
from evenkeel.store.records.removal_halt import read_removal_halted
from evenkeel.store.records.rows import NETWORK_COLUMNS, SUBNET_COLUMNS, network_from_row, subnet_from_row

_common_network = schema.common_network
_device_address = schema.device_address
_network, _subnet, _member_host = schema.network, schema.subnet, schema.member_host

HostsByNetwork = dict[str, list[MemberHost]]

NETWORK_STAYS_PROBLEM = (
    "it stays on devices while the history of another database is unknown: evenkeel database accept-history"
)
"""Problem of a common network that no load balancer of this database uses, while agents know of another database whose
load balancers may use it.
"""


def read_network_services(
    connection: Connection,
    location: ShardLocation,
    network_ids: Sequence[LoadBalancerId] | None,
    after_id: str,
    size: int,
) -> ServiceDefinitions:
    """Return definitions of a page of at most ``size`` common networks, in order of ids after ``after_id``;
    ``missing`` names those of ``network_ids`` that the shard does not have.

    ``network_ids`` None: all common networks. At most five queries, and one more each with tunnels and with
    unused networks.
    """
    columns = _common_network.c.network_id, _common_network.c.revision
    statement = select(*columns).where(
        _common_network.c.shard_id == location.shard_id, _common_network.c.network_id > after_id
    )
    if network_ids is not None:
        statement = statement.where(is_in_list(_common_network.c.network_id, network_ids))
    found = connection.execute(statement.order_by(_common_network.c.network_id).limit(size + 1)).all()
    revisions = {row.network_id: row.revision for row in found[:size]}
    missing: tuple[LoadBalancerId, ...] = ()
    if network_ids is not None:
        there = select(_common_network.c.network_id).where(
            _common_network.c.shard_id == location.shard_id, is_in_list(_common_network.c.network_id, network_ids)
        )
        missing = tuple(sorted(set(network_ids) - set(connection.scalars(there))))
    services = tuple(_network_definitions(connection, location, revisions)) if revisions else ()
    return ServiceDefinitions(services=services, missing=missing, more=len(found) > size)


def _network_definitions(
    connection: Connection, location: ShardLocation, revisions: Mapping[str, int]
) -> list[ServiceDefinition]:
    networks = {
        row.id: network_from_row(row)
        for row in connection.execute(select(*NETWORK_COLUMNS).where(is_in_list(_network.c.id, revisions)))
    }
    subnets = _subnets_by_network(connection, location, revisions)
    # Only tunnels need the hosts of members; elsewhere devices resolve addresses by ARP or NDP.
    hosts = _read_member_hosts(connection, [id_ for id_, each in networks.items() if each.network_type in TUNNELS])
    unused = revisions.keys() - subnets.keys()
    problem = NETWORK_STAYS_PROBLEM if unused and read_removal_halted(connection) else ""
    return [
        network_definition(id_, revision, None, problem)
        if id_ in unused
        else _network_definition(id_, revision, networks.get(id_), subnets[id_], hosts.get(id_, []))
        for id_, revision in revisions.items()
    ]


def _network_definition(
    network_id: str,
    revision: int,
    network: DeclaredNetwork | None,
    subnets: Sequence[ServiceSubnet],
    hosts: Sequence[MemberHost],
) -> ServiceDefinition:
    if network is None:
        return network_definition(network_id, revision, None, f"network {network_id} is not known any more")
    made = service_network(
        network,
        COMMON_PROJECT,
        common=True,
        route_domain=COMMON_ROUTE_DOMAIN,
        subnets=[_subnet_with_hosts(each, hosts) for each in subnets],
    )
    return network_definition(network_id, revision, made)


def _subnet_with_hosts(subnet: ServiceSubnet, hosts: Sequence[MemberHost]) -> ServiceSubnet:
    here = ip_network(subnet.cidr)
    return ServiceSubnet(
        id=subnet.id,
        cidr=subnet.cidr,
        gateway_ip=subnet.gateway_ip,
        addresses=subnet.addresses,
        hosts=tuple(host for host in hosts if ip_address(host.address) in here),
    )


def _subnets_by_network(
    connection: Connection, location: ShardLocation, network_ids: Mapping[str, int]
) -> dict[str, list[ServiceSubnet]]:
    """Return {network id: subnets with addresses on the devices, in order of ids}; unused subnets are left out."""
    mine = _device_address.c.shard_id == location.shard_id, is_in_list(_device_address.c.network_id, network_ids)
    addresses = read_device_addresses(connection, *mine)
    rows = connection.execute(select(*SUBNET_COLUMNS).where(is_in_list(_subnet.c.id, addresses)).order_by(_subnet.c.id))
    known: list[Subnet] = [subnet_from_row(row) for row in rows]
    wanted = tuple(wanted_common_addresses(location.layout))
    found: dict[str, list[ServiceSubnet]] = {}
    for each in known:
        found.setdefault(each.network_id, []).append(allocated_subnet(each, addresses[each.id], wanted))
    return found


def _read_member_hosts(connection: Connection, network_ids: Sequence[str]) -> HostsByNetwork:
    """Return {network id: hosts of its members whose ports are known, sorted by address}; no query without
    networks.
    """
    found: HostsByNetwork = {}
    if network_ids:
        columns = _member_host.c.network_id, _member_host.c.address, _member_host.c.mac_address, _member_host.c.vtep
        known = is_in_list(_member_host.c.network_id, network_ids), _member_host.c.mac_address != ""
        for row in connection.execute(
            select(*columns).where(*known).order_by(_member_host.c.network_id, _member_host.c.address)
        ):
            host = MemberHost(address=row.address, mac_address=row.mac_address, vtep=row.vtep)
            found.setdefault(row.network_id, []).append(host)
    return found
