"""Networks, as devices need them to reach members and to be reached: part of the service definition.

Each agent's options say how its device group is attached to networks; the agent declares that as a
:class:`NetworkLayout`. With the default layout the devices route to all networks already (F5's global routed
mode), and definitions contain no networks. Otherwise controllers resolve the networks, allocate the objects
that the layout needs (route domains, addresses), and add them to definitions; drivers only render them.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value, Wire

COMMON_ROUTE_DOMAIN = 0
"""Number of the route domain of a BIG-IP that always exists: for all objects that tenants share."""


class NetworkType(StrEnum):
    """Neutron's ``provider:network_type`` of networks to which devices can be attached."""

    FLAT = "flat"
    VLAN = "vlan"
    VXLAN = "vxlan"
    GRE = "gre"


TUNNELS = frozenset({NetworkType.VXLAN, NetworkType.GRE})
SEGMENTS_MAX = {NetworkType.VLAN: 4094, NetworkType.VXLAN: 2**24 - 1, NetworkType.GRE: 2**32 - 1}
"""Highest ``provider:segmentation_id`` by network type; the lowest is 1. Networks of other types have none."""


class AddressUse(StrEnum):
    """Purpose for which the devices of a group use an address of a subnet."""

    SELF = "self"  # address of one device
    FLOATING = "floating"  # address of a traffic group that moves with it; members' gateway without SNAT
    SNAT = "snat"  # address of a traffic group: source address towards members


class NetworkLayout(Wire):
    """How a group's devices are attached to networks, so that controllers resolve and allocate what is
    needed; equal for all agents of the group.
    """

    adjacent: bool = False
    """False: the devices route to all networks already, and the other attributes have no effect."""
    devices: tuple[str, ...] = ()
    """Names of the devices; each gets one ``SELF`` address per subnet."""
    traffic_groups: tuple[str, ...] = ()
    """Names of floating traffic groups; a project uses the one with the number md5(project id) modulo their count."""
    floating: bool = False
    """True: devices get a ``FLOATING`` address per subnet and traffic group in use, for operation without SNAT."""
    snat_addresses: int = 0
    """Number of ``SNAT`` addresses per subnet and traffic group in use; 0: devices use their self IPs (automap), or no
    SNAT.
    """
    route_domains_max: int = 1
    """Maximum number of route domains of one project: with more than one, the project's subnets may overlap. 0: all
    subnets are in the common route domain.
    """
    strict: bool = False
    """True: traffic does not pass between route domains, so that clients and members have to be in the same one."""
    all_common: bool = False
    """True: projects share the objects of all networks, in the common route domain."""
    external_common: bool = True
    """True: projects share the objects of external networks, too; those of shared networks always."""
    common_network_ids: tuple[str, ...] = ()
    """Ids of networks to which an operator has attached the devices manually; projects share their objects, too."""
    network_types: tuple[NetworkType, ...] = ()
    """Types of networks to which the devices can be attached. A load balancer on another network gets a problem."""
    binding_host: str = ""
    """``binding:host_id`` of ports of VIPs and of device addresses; empty: the home agent's host."""


ROUTED_NETWORK_LAYOUT = NetworkLayout()
"""Default layout: devices route to all networks."""


def traffic_group_of(project_id: ProjectId, traffic_groups: Sequence[str]) -> str:
    """Return the project's traffic group, by F5's rule: the one with the number md5(project id) modulo their count;
    empty if there are none.
    """
    digest = hashlib.md5(project_id.encode(), usedforsecurity=False).hexdigest()
    return traffic_groups[int(digest, 16) % len(traffic_groups)] if traffic_groups else ""


class DeclaredNetwork(Value):
    """A network to which devices can be attached, declared by an operator or read from the network service."""

    id: str
    name: str
    network_type: NetworkType
    physical_network: str | None = None
    segmentation_id: int | None = None
    mtu: int | None = None
    project_id: ProjectId | None = None
    """Id of the only project that may use the network; None: every project with load balancers on it."""
    shared: bool = False
    """True: several projects have load balancers on the network at the same time."""
    external: bool = False
    vteps: tuple[str, ...] = ()
    """Tunnel end points of the network's hosts."""
    from_service: bool = False
    """True: the network was read from the network service, which has ports for addresses of devices, too."""


class DeviceAddress(Wire):
    """An address of a subnet that is allocated to the devices."""

    use: AddressUse
    owner: str
    """Name of the device (``SELF``) or traffic group that has the address."""
    address: str
    index: int = 0
    """Number of the address among several ``SNAT`` addresses, from 0."""
    port_id: str = ""
    """Id of the address's port at the network service; empty: it has no port."""


class MemberHost(Wire):
    """Location of a member's port, for entries of forwarding and ARP tables. ``mac_address`` empty: the
    member has no port at the network service.
    """

    address: str
    """The member's IP address."""
    mac_address: str
    vtep: str = ""
    """Address of the tunnel end point of the member's host; empty: not known."""


class ServiceSubnet(Wire):
    """A subnet of a load balancer's VIP or members, with the devices' addresses in it."""

    id: str
    cidr: str
    gateway_ip: str | None = None
    addresses: tuple[DeviceAddress, ...] = ()
    """Device addresses in the subnet, sorted by use, owner and index."""
    hosts: tuple[MemberHost, ...] = ()
    """Hosts of the members in the subnet, sorted by address; without members whose port is not known."""


class ServiceNetwork(Wire):
    """A network of a load balancer's VIP or members, as devices are attached to it."""

    id: str
    project_id: ProjectId
    """Project whose load balancers use the network here; :data:`COMMON_PROJECT` in definitions of the common shard."""
    network_type: NetworkType
    common: bool
    """True: projects share the network's objects on devices, which belong to the device group's common shard."""
    route_domain: int
    """Id of the route domain of the network's subnets: :data:`COMMON_ROUTE_DOMAIN`, or one of the project."""
    physical_network: str | None = None
    """Name of the physical network; None for tunnels."""
    segmentation_id: int | None = None
    """VLAN id (1 to 4094), VNI (1 to 2^24 - 1) or GRE key; None for ``flat``."""
    mtu: int | None = None
    """MTU of the network in bytes; None: the device's default."""
    external: bool = False
    subnets: tuple[ServiceSubnet, ...] = ()
    """Subnets in use, sorted by id."""
    vteps: tuple[str, ...] = ()
    """Tunnel end points of all hosts that an operator declared for the network."""
