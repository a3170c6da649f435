"""Reads the facts about Neutron's networks that devices need, and the hosts of members. Blocking, in a thread."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.addresses import parsed_address
from evenkeel.core.networking.attachment import KnownSubnet, NetworkFacts
from evenkeel.core.networking.networks import DeclaredNetwork, MemberHost, NetworkType
from evenkeel.network.neutron.client import NeutronClient

IDS_PER_LIST = 100
"""Ids in one request: they are in the URL, which servers limit to 8 KiB."""
FORMER_DEVICE_OWNER = "network:f5lbaasv2"
"""``device_owner`` of the ports of F5's agent, including its VIPs."""
NETWORK_TYPES = frozenset(each.value for each in NetworkType)


def read_facts(client: NeutronClient, subnet_ids: Collection[str]) -> NetworkFacts:
    """Read the subnets and their networks. ``refused`` of the result has the reasons why devices cannot be
    attached to some of the subnets; subnets that Neutron does not have are left out.

    Sends two list requests for each 100 subnets. Raises the SDK's errors (``errors.SDK_ERRORS``).
    """
    found: list[KnownSubnet] = []
    refused: dict[str, str] = {}
    for some in _split_ids(subnet_ids):
        subnets = client.subnets(some)
        ids = sorted({each.network_id for each in subnets})
        rows = client.list_documents("/networks", "networks", {"id": ids}, limit=IDS_PER_LIST) if ids else []
        networks = {row["id"]: row for row in rows}
        for subnet in subnets:
            row = networks.get(subnet.network_id)
            # The network was deleted between the two requests.
            if row is None:
                continue
            if reason := _unusable_reason(row):
                refused[subnet.id] = reason
            else:
                known = replace(subnet, name=subnet.id, allocation_start="", allocation_end="", project_id=None)
                found.append(KnownSubnet(subnet=known, network=_declared_network(row)))
    return NetworkFacts(subnets=tuple(found), refused=refused)


def _unusable_reason(row: Mapping[str, Any]) -> str:
    kind = row.get("provider:network_type")
    if row.get("segments"):
        return f"network {row['id']} has several segments"
    if kind is None:
        return f"Neutron shows this controller's user no provider attributes of network {row['id']}; it must be admin"
    if kind not in NETWORK_TYPES:
        return f"network {row['id']} is of type {kind}; devices can be attached to {', '.join(sorted(NETWORK_TYPES))}"
    return ""


def _declared_network(row: Mapping[str, Any]) -> DeclaredNetwork:
    return DeclaredNetwork(
        id=row["id"],
        name=row["id"],
        network_type=NetworkType(row["provider:network_type"]),
        physical_network=row.get("provider:physical_network"),
        segmentation_id=row.get("provider:segmentation_id"),
        mtu=row.get("mtu"),
        project_id=ProjectId(row["project_id"]) if row.get("project_id") else None,
        shared=bool(row.get("shared")),
        external=bool(row.get("router:external")),
        from_service=True,
    )


def find_member_hosts(client: NeutronClient, network_id: str, addresses: Collection[str]) -> dict[str, MemberHost]:
    """Return ``{member address: host of the member's port}``, for each address; the MAC address is empty if
    Neutron has no port, and the tunnel end point if it has no agent that reports one.

    Sends one list request for each 100 members, and one for each 100 hosts. Raises the SDK's errors
    (``errors.SDK_ERRORS``).
    """
    ports: dict[str, tuple[str, str]] = {}
    for some in _split_ids(addresses):
        for row in client.network_ports(network_id, some):
            place = str(row["mac_address"]), str(row.get("binding:host_id") or "")
            # Tenants may write an IPv6 address in another form than Neutron.
            ports |= {_canonical_text(fixed["ip_address"]): place for fixed in row["fixed_ips"]}
    vteps = _tunnel_end_points(client, {host for _, host in ports.values() if host})
    found = {}
    for address in addresses:
        mac_address, host = ports.get(_canonical_text(address), ("", ""))
        found[address] = MemberHost(address=address, mac_address=mac_address, vtep=vteps.get(host, ""))
    return found


def find_former_ports(
    client: NeutronClient, network_id: str, addresses: Collection[str]
) -> dict[tuple[str, str, str], str]:
    """Return ``{(name, subnet id, address): port id}`` of the network's ports that F5's agent created, with
    one address each, which is one of ``addresses``.

    Sends one list request for each 100 addresses. Raises the SDK's errors (``errors.SDK_ERRORS``).
    """
    found = {}
    for some in _split_ids(addresses):
        for row in client.network_ports(network_id, some):
            if row.get("device_owner") == FORMER_DEVICE_OWNER and len(row["fixed_ips"]) == 1:
                (fixed,) = row["fixed_ips"]
                found[str(row["name"]), str(fixed["subnet_id"]), _canonical_text(fixed["ip_address"])] = str(row["id"])
    return found


def find_existing_ports(client: NeutronClient, port_ids: Collection[str]) -> set[str]:
    """Return those of the port ids whose ports exist. Sends one list request for each 100, and raises the
    SDK's errors (``errors.SDK_ERRORS``).

    Missing ports are requested a second time, because a node of Neutron's database may lag behind.
    """
    found: set[str] = set()
    for some in _split_ids(port_ids):
        there = client.find_existing_ports(some)
        found |= there if len(there) == len(some) else there | client.find_existing_ports(sorted(set(some) - there))
    return found


def _canonical_text(address: str) -> str:
    return str(parsed_address(address))


def _tunnel_end_points(client: NeutronClient, hosts: Iterable[str]) -> dict[str, str]:
    """Return ``{host: address of the tunnel end point}``, as the hosts' Neutron agents report it; hosts
    without one are left out. Raises the SDK's errors (``errors.SDK_ERRORS``).
    """
    found = {}
    for some in _split_ids(hosts):
        for row in client.host_agents(some):
            # Several agents run on a host (DHCP, L3, Open vSwitch), and only those that build tunnels report an
            # address.
            vtep = (row.get("configurations") or {}).get("tunneling_ip")
            if vtep:
                found[str(row["host"])] = str(vtep)
    return found


def _split_ids(ids: Iterable[str]) -> Iterator[list[str]]:
    ordered = sorted(ids)
    return (ordered[first : first + IDS_PER_LIST] for first in range(0, len(ordered), IDS_PER_LIST))
