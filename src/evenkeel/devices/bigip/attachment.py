"""Attachment of a group's devices to networks: F5's options, and the layout that controllers get.

With ``f5_global_routed_mode`` the devices route to all networks, and of the other options in this module only
``f5_external_physical_mappings`` and ``port_binding_host`` have an effect, on the ports of VIPs.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg, types

from evenkeel.config.problems import ConfigurationRefused
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.networks import NetworkLayout, NetworkType

FOLDER_NAME_PATTERN = r"^[A-Za-z0-9_.-]{1,64}$"
SNAT_ADDRESSES_MAX = 16
ROUTE_DOMAINS_MAX = 256
DEFAULT_TRAFFIC_GROUP = "/Common/traffic-group-1"
"""Traffic group of a BIG-IP's partitions unless the device is configured otherwise."""
_MAPPING_PATTERN = re.compile(
    r"(?P<physical>[A-Za-z0-9_.-]+):(?P<interface>[A-Za-z0-9_.-]+):(?P<tagged>True|False)(:(?P<host>.+))?", re.I
)

OPTIONS = [
    cfg.BoolOpt(
        "f5_global_routed_mode",
        default=True,
        help="The devices route to all networks. False: they are attached to each network of a load balancer, by "
        "VLANs, tunnels, route domains, self IPs, SNAT addresses and routes.",
    ),
    cfg.ListOpt(
        "f5_external_physical_mappings",
        default=["default:1.1:True"],
        help="physical_network:interface:tagged, for devices with other interfaces followed by :host, as in "
        "icontrol_hostname or icontrol_vcmp_hostname.",
    ),
    cfg.BoolOpt("use_namespaces", default=True, help="A route domain per tenant, so that subnets may overlap."),
    cfg.IntOpt(
        "max_namespaces_per_tenant",
        default=1,
        min=1,
        max=ROUTE_DOMAINS_MAX,
        help="Route domains of one tenant; with more than one, its own subnets may overlap.",
    ),
    cfg.BoolOpt(
        "f5_route_domain_strictness",
        default=False,
        help="Traffic does not pass between route domains. False: members may be in a tenant's network and the VIP "
        "in one of common_network_ids, if route domain 0 is without strict isolation too.",
    ),
    cfg.BoolOpt(
        "f5_snat_mode",
        default=True,
        help="Members see addresses of the devices. False: they see the clients', and their gateway is the "
        "devices' floating self IP.",
    ),
    cfg.IntOpt(
        "f5_snat_addresses_per_subnet",
        default=1,
        min=0,
        max=SNAT_ADDRESSES_MAX,
        help="Addresses of each subnet that members see as clients. 0: the self IPs (automap).",
    ),
    cfg.BoolOpt(
        "f5_common_networks",
        default=False,
        help="All networks are in partition Common and route domain 0, like networks that projects share: "
        "addresses of projects must not overlap.",
    ),
    cfg.BoolOpt(
        "f5_common_external_networks",
        default=True,
        help="External networks are in partition Common and route domain 0. False: each is one project's.",
    ),
    cfg.BoolOpt(
        "external_gateway_mode",
        default=False,
        help="The default route of route domain 0 leads to the gateway of a network in Common; only with "
        "f5_common_networks. False: an operator makes the route.",
    ),
    cfg.ListOpt(
        "common_network_ids",
        default=[],
        item_type=types.String(),
        help="Networks to which an operator has attached the devices: their ids, or id:VLAN as F5's agent has them.",
    ),
    cfg.ListOpt(
        "advertised_tunnel_types",
        default=[],
        item_type=types.String(choices=["vxlan", "gre"]),
        help="Types of tunnels that the devices may have.",
    ),
    cfg.StrOpt(
        "port_binding_host",
        default="",
        regex=r"^[A-Za-z0-9_.-]{0,255}$",
        help="Host to which ports of VIPs, self IPs and SNAT addresses are bound at Neutron (binding:host_id), the "
        "same for all agents of the group. Empty: the host of the tenant's home agent.",
    ),
    cfg.StrOpt(
        "f5_vtep_folder",
        default="Common",
        regex=FOLDER_NAME_PATTERN,
        help="Partition of the self IP f5_vtep_selfip_name.",
    ),
    cfg.StrOpt(
        "f5_vtep_selfip_name",
        default="",
        regex=r"^[A-Za-z0-9_.-]{0,64}$",
        help="Self IP of each device at which its tunnels end; required for tunnels.",
    ),
]


class Interface(Value):
    """Interface or trunk by which a device is attached to a physical network."""

    name: str
    tagged: bool


class AttachmentOptions(Value):
    """Validated options of network attachment (:data:`OPTIONS`): how devices are attached to tenants'
    networks.
    """

    adjacent: bool = False
    interfaces: Mapping[tuple[str, str], Interface] = {}
    """Interfaces by physical network and device; an empty device name applies to all devices."""
    route_domains_max: int = 1
    strict: bool = False
    translated: bool = True
    """Whether members see an address of the BIG-IP (SNAT) as the source, instead of the client's address."""
    snat_addresses: int = 1
    all_common: bool = False
    external_common: bool = True
    external_gateway: bool = False
    """Whether Even Keel sets the default route of route domain 0; if not, the operator does."""
    common_network_ids: tuple[str, ...] = ()
    tunnel_types: tuple[NetworkType, ...] = ()
    vtep_folder: str = "Common"
    vtep_name: str = ""
    binding_host: str = ""
    """Host to which Neutron ports are bound; empty: the host of the agent that is the home of the load balancer."""

    def interface(self, physical_network: str, device: str) -> Interface | None:
        """Return the interface by which the device is attached to the physical network: its own mapping, else
        that of all devices; None if there is neither.
        """
        return self.interfaces.get((physical_network, device)) or self.interfaces.get((physical_network, ""))


ROUTED_NETWORK_LAYOUT = AttachmentOptions()
"""Attachment options in F5's global routed mode: devices are attached to no tenant network."""


def parse_attachment(values: Mapping[str, Any], hosts: Sequence[str], *, synchronised: bool) -> AttachmentOptions:
    """Validate the options of network attachment. Raises :class:`ValueError` that names the wrong options."""
    tunnels = tuple(NetworkType(name) for name in dict.fromkeys(values["advertised_tunnel_types"]))
    found = AttachmentOptions(
        adjacent=not values["f5_global_routed_mode"],
        interfaces=_parse_interface_mappings(values["f5_external_physical_mappings"], hosts),
        route_domains_max=values["max_namespaces_per_tenant"] if values["use_namespaces"] else 0,
        strict=values["f5_route_domain_strictness"],
        translated=values["f5_snat_mode"],
        snat_addresses=values["f5_snat_addresses_per_subnet"] if values["f5_snat_mode"] else 0,
        all_common=values["f5_common_networks"],
        external_common=values["f5_common_external_networks"],
        external_gateway=values["external_gateway_mode"],
        common_network_ids=tuple(text.partition(":")[0].strip() for text in values["common_network_ids"]),
        tunnel_types=tunnels,
        vtep_folder=values["f5_vtep_folder"],
        vtep_name=values["f5_vtep_selfip_name"],
        binding_host=values["port_binding_host"],
    )
    # In global routed mode the other options have no effect, so their combinations do not matter.
    if not found.adjacent:
        return found
    problems = []
    if synchronised:
        problems.append(
            "f5_global_routed_mode: False: only True is allowed with sync_mode sync, because self IPs belong to one"
            " device and config-sync does not bring them to the others"
        )
    if tunnels and not found.vtep_name:
        shown = ",".join(tunnels)
        problems.append(f"f5_vtep_selfip_name: '': a self IP is needed with advertised_tunnel_types {shown}")
    if found.external_gateway and not found.all_common:
        problems.append("external_gateway_mode: True: only False is allowed without f5_common_networks True")
    if problems:
        raise ConfigurationRefused(problems)
    return found


def _parse_interface_mappings(texts: Sequence[str], hosts: Sequence[str]) -> dict[tuple[str, str], Interface]:
    found: dict[tuple[str, str], Interface] = {}
    for text in texts:
        match = _MAPPING_PATTERN.fullmatch(text.strip())
        host = "" if match is None else match["host"] or ""
        # Names of devices include the port, which a mapping may leave out.
        device = host if not host or host in hosts else f"{host}:443"
        if match is None or (device and device not in hosts):
            raise ValueError(
                f"f5_external_physical_mappings: {text!r}: physical_network:interface:tagged[:host] is allowed, tagged"
                " True or False, host one of icontrol_hostname or icontrol_vcmp_hostname"
            )
        place = match["physical"], device
        if place in found:
            raise ValueError(f"f5_external_physical_mappings: {text!r}: {match['physical']} is mapped twice")
        found[place] = Interface(name=match["interface"], tagged=match["tagged"].lower() == "true")
    return found


def network_layout(options: AttachmentOptions, hosts: Sequence[str], traffic_groups: Sequence[str]) -> NetworkLayout:
    """Return what controllers must resolve and allocate for these devices (addresses, networks); in global
    routed mode only the host to which ports are bound.
    """
    if not options.adjacent:
        return NetworkLayout(binding_host=options.binding_host)
    wired = (NetworkType.FLAT, NetworkType.VLAN) if options.interfaces else ()
    return NetworkLayout(
        adjacent=True,
        devices=tuple(hosts),
        traffic_groups=tuple(path.rpartition("/")[2] for path in traffic_groups or (DEFAULT_TRAFFIC_GROUP,)),
        floating=not options.translated,
        snat_addresses=options.snat_addresses,
        route_domains_max=options.route_domains_max,
        common_network_ids=tuple(sorted(options.common_network_ids)),
        network_types=(*wired, *options.tunnel_types),
        strict=options.strict,
        binding_host=options.binding_host,
        all_common=options.all_common,
        external_common=options.external_common,
    )
