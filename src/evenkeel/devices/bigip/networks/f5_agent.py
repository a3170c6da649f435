"""Names that F5's agent gave the objects that attach a device to networks, in a tenant's partition. Pure.

==================  ===================================================================================
object              name
==================  ===================================================================================
net/route-domain    the partition's; further ones ``<partition>_aux_<number>``; ``<prefix>_<network>`` since 9.8
net/vlan            ``vlan-<segment>`` as Even Keel; ``flat-<interface>`` with ``-`` for ``.``
net/tunnels/tunnel  ``tunnel-<type>-<segment>`` as Even Keel, with a profile in /Common; ``disconnected_network``
net/self            ``local-<device's name>-<subnet id>``
ltm/snat-           ``snat-traffic-group-local-only-<subnet id>_<index>`` on a single device,
  translation       ``snat-traffic-group-1<subnet id>_<index>`` on a pair, else ``snat-<group>-<subnet id>_<index>``
ltm/snatpool        the partition's; in some versions that of its address; ``<prefix>_<load balancer>`` since 9.8
net/route           ``IPv4_default_route_<route domain>``, ``IPv6_…`` since 9.8
net/arp             the MAC address
==================  ===================================================================================

These objects have no mark, so an object is taken for one of them by its type, its name and the id of a subnet
in it.
"""

import re
from collections.abc import Iterable

DISCONNECTED_TUNNEL_NAME = "disconnected_network"
"""Name of a tunnel that leads nowhere, for listeners on networks without a segment."""
GATEWAY_SELF_IP_PREFIX = "gw-"
"""Prefix of F5's names of self IPs that have the address of a subnet's gateway."""
_LOCAL, _SNAT = "local-", "snat-"
_INDEX_DIGITS_MAX = 4
_UUID_PATTERN = re.compile("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_UUID_LENGTH = 36
_LINK_PATTERN = re.compile(r"vlan-\d+|flat-[\w.-]+|tunnel-(vxlan|gre)-\d+")


def is_self_ip(name: str) -> bool:
    """Whether F5's agent gives this name to a device's self IP, in any Neutron subnet."""
    return (
        is_self_ip_of_subnet(name, name[-_UUID_LENGTH:]) and _UUID_PATTERN.fullmatch(name[-_UUID_LENGTH:]) is not None
    )


def is_vlan_or_tunnel_name(name: str) -> bool:
    """Whether F5's agent gives this name to the VLAN or tunnel of a network."""
    return _LINK_PATTERN.fullmatch(name) is not None


def is_self_ip_of_subnet(name: str, subnet_id: str) -> bool:
    """Whether F5's agent gives this name to a device's self IP in this subnet."""
    has_device = len(name) > len(_LOCAL) + len(subnet_id) + 1
    return name.startswith(_LOCAL) and name.endswith(f"-{subnet_id}") and has_device


def snat_index(name: str, subnet_id: str) -> int | None:
    """Return the index of the subnet's SNAT address with this name; None if the name is not such an address's."""
    head, _, index = name.rpartition("_")
    has_group = head.startswith(_SNAT) and head.endswith(subnet_id) and len(head) > len(_SNAT) + len(subnet_id)
    return int(index) if has_group and index.isdecimal() and len(index) <= _INDEX_DIGITS_MAX else None


def is_snat_of_subnets(name: str, subnet_ids: Iterable[str]) -> bool:
    """Whether F5's agent gives this name to a SNAT address of one of the subnets."""
    return any(snat_index(name, subnet_id) is not None for subnet_id in subnet_ids)


def is_prefixed_object_name(name: str, partition: str) -> bool:
    """Whether the name is ``<prefix>_<id>`` with the partition's prefix: a network's route domain, or a load balancer's
    SNAT pool or virtual address.
    """
    prefix, _, id_ = name.rpartition("_")
    return prefix == partition.rpartition("_")[0] and _UUID_PATTERN.fullmatch(id_) is not None


def is_route_domain(name: str, partition: str) -> bool:
    """Whether the name is of a route domain that F5's agent made: the tenant's, a further one, or since 9.8 a
    network's.
    """
    further = name.removeprefix(f"{partition}_aux_")
    return name == partition or is_prefixed_object_name(name, partition) or (further != name and further.isdecimal())


def default_route_name(destination: str, number: int) -> str:
    """Return the name of a route domain's default route. ``destination``: ``default`` or ``default-inet6``."""
    return f"IPv{6 if destination.endswith('6') else 4}_default_route_{number}"


def f5_flat_vlan_name(name: str) -> str:
    """Return the name by which F5's agent calls the untagged VLAN that Even Keel calls ``name``."""
    return name.replace(".", "-")
