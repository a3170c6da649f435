"""Attachment of devices to the networks of load balancers: the objects that devices need there, and their route
domains. Pure.

The project's own networks of one load balancer are in one route domain. All of a project's networks are in its first
route domain as long as their subnets do not overlap; a network stays in its route domain while a load balancer of the
project uses it. Networks that projects share (*common* networks, :func:`is_network_shared_on_devices`) are in the
common route domain. Their objects on the devices are made for the device group's common shard, which belongs to no
project; a load balancer on such networks waits until that has been done.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network

from msgspec.structs import replace

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.networking.addresses import parsed_range
from evenkeel.core.networking.network import PortClaim
from evenkeel.core.networking.networks import (
    COMMON_ROUTE_DOMAIN,
    SEGMENTS_MAX,
    TUNNELS,
    AddressUse,
    DeclaredNetwork,
    DeviceAddress,
    MemberHost,
    NetworkLayout,
    ServiceNetwork,
    ServiceSubnet,
    traffic_group_of,
)
from evenkeel.core.resources.model import LoadBalancerTree, Subnet


class NetworkNotAttachable(Exception):
    """Devices cannot be attached to the networks of a load balancer; the exception's text gives the reason."""


class DeviceAddressNotAllocated(Exception):
    """A route domain or an address has to be allocated in the database before the definition of a load
    balancer can be built.
    """


class NetworkNotReady(Exception):
    """Devices are still being attached to a network that projects share; the exception's text names the network."""


class KnownSubnet(Value):
    """A stored subnet and its network. ``network`` None: the network is not declared."""

    subnet: Subnet
    network: DeclaredNetwork | None

    @property
    def from_service(self) -> bool:
        """True if addresses of devices in the subnet are ports at the network service."""
        return self.network is not None and self.network.from_service


class DevicePort(Value):
    """A port to be created at the network service for an address of devices."""

    subnet_id: str
    network_id: str
    use: AddressUse
    owner: str
    index: int
    binding_host: str
    common: bool = False
    """True: projects share the network, so the address belongs to the device group's common shard."""

    @property
    def name(self) -> str:
        """Name of the port at the network service."""
        return "-".join((self.use, self.owner, self.subnet_id))


class DeviceAddressPort(Value):
    """An address of devices whose port was created at the network service, with the claim on that port."""

    port: DevicePort
    address: str
    port_id: str
    claim: PortClaim


class NetworkRequestsNeeded(Value):
    """Requests to the network service that have to be answered before devices can be attached: facts to read
    and ports to create. False if there are none.
    """

    subnets: Mapping[LoadBalancerId, frozenset[str]] = {}
    """{load balancer id: subnets about which no facts are stored}."""
    ports: Mapping[LoadBalancerId, tuple[DevicePort, ...]] = {}
    """{load balancer id: ports to create}; a load balancer is left out of definitions until its ports exist."""
    members: frozenset[tuple[str, str]] = frozenset()
    """Pairs (network id, address) of members on tunnels whose hosts are unknown."""

    def __bool__(self) -> bool:
        return bool(self.subnets or self.ports or self.members)


class NetworkFacts(Value):
    """Facts about subnets, read from a network service."""

    subnets: tuple[KnownSubnet, ...] = ()
    refused: Mapping[str, str] = {}
    """{subnet id: reason why devices cannot be attached}. A subnet that is missing in both attributes does not
    exist.
    """


class NetworkToReread(Value):
    """A network whose facts are due to be read again."""

    network_id: str
    subnets: frozenset[str]
    members: frozenset[str]
    """Addresses of members whose hosts are or were in the devices' forwarding tables."""


class CommonNetwork(Value):
    """State of a network that projects share: the newest revision of its configuration, and the newest that
    the devices confirmed.
    """

    revision: int
    applied_revision: int
    reason: str = ""
    """Reason why the last attempt to attach the devices failed; empty if it did not."""


class AttachedNetworks(Value):
    """Networks, addresses and hosts of members that are allocated and known for one tenant's shard."""

    route_domains: Mapping[str, int] = {}
    """{network id: number of its route domain}."""
    addresses: Mapping[str, tuple[DeviceAddress, ...]] = {}
    """{subnet id: addresses allocated to the devices}."""
    hosts: Mapping[tuple[str, str], MemberHost] = {}
    """{(network id, member address): host}; a host without a MAC address means that the member has no port."""
    common: Mapping[str, CommonNetwork] = {}
    """{network id: state of a network that projects share}."""
    common_addresses: Mapping[str, tuple[DeviceAddress, ...]] = {}
    """{subnet id: addresses allocated to the devices} for networks that projects share; without addresses being
    released.
    """
    needed: Mapping[str, int] = {}
    """{network id: revision of a shared network that contains all that the shard needs from it}."""


class SubnetsInUse(Value):
    """Ids of the subnets of a load balancer's VIPs and members. Members without a subnet are reached by routing."""

    vips: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """Ids of the subnets of VIPs and members together."""
        return self.vips | self.members


def subnets_in_use(tree: LoadBalancerTree) -> SubnetsInUse:
    """Return the subnets of a load balancer's VIPs and members; none if it is marked deleted or has no VIP.
    Members marked deleted are left out.
    """
    root = tree.load_balancer
    if root.deleted or root.vip is None:
        return SubnetsInUse()
    return SubnetsInUse(
        vips=frozenset({root.vip.subnet_id, *(vip.subnet_id for vip in root.additional_vips)}),
        members=frozenset(row.subnet_id for row in tree.members if row.subnet_id is not None and not row.deleted),
    )


def tunnels_of_service(subnets: Iterable[KnownSubnet]) -> dict[str, str]:
    """Return {subnet id: network id} for the subnets whose networks are tunnels and were read from the
    network service, which knows the hosts of members.
    """
    return {
        each.subnet.id: each.subnet.network_id
        for each in subnets
        if each.network is not None and each.from_service and each.network.network_type in TUNNELS
    }


def members_on_tunnels(tree: LoadBalancerTree, tunnels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield (network id, address) of each member whose host the devices must know.

    ``tunnels``: {subnet id: network id} from :func:`tunnels_of_service`.
    """
    for member in tree.members:
        if member.subnet_id is not None and member.subnet_id in tunnels and not member.deleted:
            yield tunnels[member.subnet_id], member.address


def subnets_to_attach(
    uses: SubnetsInUse, known: Mapping[str, KnownSubnet], layout: NetworkLayout, project_id: ProjectId
) -> tuple[KnownSubnet, ...]:
    """Return the used subnets that need objects on the devices, sorted by id: all but those of networks to
    which an operator attached the devices. ``known``: stored subnets by id. ``project_id``: project of the
    load balancer.

    Raises :class:`NetworkNotAttachable` with the reason if a subnet is unknown, or one of them, or their
    combination, does not suit the layout.
    """
    found = []
    for subnet_id in sorted(uses.all):
        if subnet_id not in known:
            raise NetworkNotAttachable(f"subnet {subnet_id} is not known to the network service")
        each = known[subnet_id]
        if each.subnet.network_id not in layout.common_network_ids:
            found.append(each)
            _check_subnet(each, layout, project_id)
    _check_network_combination(uses, found, layout)
    return tuple(found)


def _check_network_combination(uses: SubnetsInUse, found: Sequence[KnownSubnet], layout: NetworkLayout) -> None:
    """Check that a load balancer's networks may be combined.

    It may be in the common route domain and in one of its project's, unless route domains are strict. It may not have
    members both in networks that an operator attached and in others: devices have no source addresses in the former.
    Raises :class:`NetworkNotAttachable`.
    """
    own = [each for each in found if not _belongs_in_common_partition(each, layout)]
    shared = [each for each in found if _belongs_in_common_partition(each, layout)]
    _check_overlaps(own, shared)
    if uses_only_common_route_domain(layout) or not found:
        return
    here = frozenset(each.subnet.id for each in found)
    if here != uses.all and (here & uses.vips or uses.members - here):
        names = ", ".join(sorted({each.subnet.network_id for each in found}))
        raise NetworkNotAttachable(
            "with members in networks of common_network_ids, which are in the common route domain, it can have neither"
            f" its VIP nor other members elsewhere: {names}"
        )
    if own and layout.strict and (shared or here != uses.all):
        names = ", ".join(sorted({each.subnet.network_id for each in own}))
        raise NetworkNotAttachable(
            f"it is in networks of the common route domain and in others ({names}): traffic does not pass between route"
            " domains, by f5_route_domain_strictness"
        )


def _check_overlaps(own: Sequence[KnownSubnet], shared: Sequence[KnownSubnet]) -> None:
    """Raise :class:`NetworkNotAttachable` if a subnet in ``own`` (the project's networks) overlaps with one in
    ``shared`` (networks that projects share): an address must identify its route domain.
    """
    cidrs = [(one.subnet.cidr, other.subnet.cidr) for one in own for other in shared]
    for one, other in cidrs:
        if _cidrs_overlap(one, other):
            raise NetworkNotAttachable(f"its subnets overlap: {one}, and {other} of a network that projects share")


def _belongs_in_common_partition(each: KnownSubnet, layout: NetworkLayout) -> bool:
    return each.network is not None and is_network_shared_on_devices(each.network, layout)


def _check_subnet(each: KnownSubnet, layout: NetworkLayout, project_id: ProjectId) -> None:
    network = each.network
    if network is None:
        raise NetworkNotAttachable(
            f"network {each.subnet.network_id} of subnet {each.subnet.id} is not declared, so its segment is not known;"
            " 'evenkeel network create' declares it"
        )
    if network.network_type not in layout.network_types:
        allowed = ", ".join(layout.network_types) or "none"
        raise NetworkNotAttachable(
            f"network {network.id} is of type {network.network_type}; the devices are attached to {allowed}"
        )
    _check_segment(network)
    open_to_all = network.shared or network.external
    if not open_to_all and {network.project_id, each.subnet.project_id} - {None, project_id}:
        # tenants may name any subnet as a member's
        raise NetworkNotAttachable(f"network {network.id} of subnet {each.subnet.id} belongs to another project")
    if is_network_shared_on_devices(network, layout) and layout.floating and len(layout.traffic_groups) > 1:
        raise NetworkNotAttachable(
            f"network {network.id} is shared by projects of several traffic groups, of which only one can have the"
            " members' gateway: f5_snat_mode True, or one of traffic_groups"
        )


def _check_segment(network: DeclaredNetwork) -> None:
    """Check that the network has a segment, which a network service may not have chosen yet. Raises
    :class:`NetworkNotAttachable`.
    """
    highest, segment = SEGMENTS_MAX.get(network.network_type), network.segmentation_id
    if highest is None or (segment is not None and 1 <= segment <= highest):
        return
    what = "has no segment" if segment is None else f"has the segment {segment}"
    raise NetworkNotAttachable(
        f"network {network.id} {what}: one of type {network.network_type} needs a number from 1 to {highest}"
    )


def is_network_shared_on_devices(network: DeclaredNetwork, layout: NetworkLayout) -> bool:
    """Whether projects share the network's objects on devices (its configuration belongs to the device
    group's common shard).
    """
    return (
        layout.all_common
        or network.shared
        or (network.external and layout.external_common)
        or network.id in layout.common_network_ids
    )


def common_networks_of(subnets: Iterable[KnownSubnet], layout: NetworkLayout) -> frozenset[str]:
    """Return the ids of those networks of these subnets that projects share, without networks to which an
    operator attached the devices manually.
    """
    networks = {
        each.network.id
        for each in subnets
        if each.network is not None and is_network_shared_on_devices(each.network, layout)
    }
    return frozenset(networks).difference(layout.common_network_ids)


def service_networks(
    subnets: Iterable[KnownSubnet],
    layout: NetworkLayout,
    attached: AttachedNetworks,
    project_id: ProjectId,
    members: Collection[tuple[str, str]] = (),
) -> tuple[ServiceNetwork, ...]:
    """Return the networks of a service definition, sorted by id, with the addresses of the devices and the
    hosts of members. ``members``: result of :func:`members_on_tunnels`.

    Raises :class:`DeviceAddressNotAllocated` if a route domain or address is missing in ``attached``,
    :class:`NetworkNotAttachable` if the networks are in several route domains or a shared one failed,
    :class:`NetworkNotReady` while devices are being attached to a shared one.
    """
    by_network: dict[str, list[ServiceSubnet]] = {}
    networks: dict[str, DeclaredNetwork] = {}
    for each in subnets:
        if each.network is None or each.network.id not in attached.route_domains:
            raise DeviceAddressNotAllocated
        if is_network_shared_on_devices(each.network, layout):
            found = _shared_service_subnet(each, layout, attached, project_id)
        else:
            found = _service_subnet(each.subnet, layout, attached, project_id)
            found = replace(found, hosts=_member_hosts(each.subnet, attached, members))
        by_network.setdefault(each.network.id, []).append(found)
        networks[each.network.id] = each.network
    own = {
        id_: attached.route_domains[id_]
        for id_, each in networks.items()
        if not is_network_shared_on_devices(each, layout)
    }
    if len(set(own.values())) > 1:
        raise NetworkNotAttachable(
            "its networks are in different route domains, because subnets of the project overlap: "
            + ", ".join(f"{id_} in {own[id_]}" for id_ in sorted(own))
        )
    # After the check above: a load balancer that can never be attached is refused instead of waiting.
    for id_ in sorted(networks.keys() - own.keys()):
        _check_shared_network_ready(id_, attached)
    return tuple(
        service_network(
            network,
            project_id,
            common=id_ not in own,
            route_domain=attached.route_domains[id_],
            subnets=by_network[id_],
        )
        for id_, network in sorted(networks.items())
    )


def service_network(
    network: DeclaredNetwork,
    project_id: ProjectId,
    *,
    common: bool,
    route_domain: int,
    subnets: Iterable[ServiceSubnet],
) -> ServiceNetwork:
    """Convert a declared network to its form in service definitions. ``project_id``: the project whose load
    balancers use the network there, or :data:`COMMON_PROJECT`; ``common``: whether projects share its
    objects on the devices; ``subnets``: the subnets in use.
    """
    return ServiceNetwork(
        id=network.id,
        project_id=project_id,
        network_type=network.network_type,
        common=common,
        route_domain=route_domain,
        physical_network=network.physical_network,
        segmentation_id=network.segmentation_id,
        mtu=network.mtu,
        external=network.external,
        subnets=tuple(subnets),
        vteps=network.vteps,
    )


def _check_shared_network_ready(network_id: str, attached: AttachedNetworks) -> None:
    """Raise :class:`NetworkNotReady` or :class:`NetworkNotAttachable` unless the devices have everything that the
    shard needs of a shared network.
    """
    state = attached.common[network_id]
    # a newer revision may be pending for other shards: this one waits only for the revision that it needs
    if state.applied_revision >= attached.needed.get(network_id, state.revision):
        return
    if state.reason:
        raise NetworkNotAttachable(f"network {network_id}, which projects share: {state.reason}")
    raise NetworkNotReady(f"the devices are being attached to network {network_id}, which projects share")


def _shared_service_subnet(
    each: KnownSubnet, layout: NetworkLayout, attached: AttachedNetworks, project_id: ProjectId
) -> ServiceSubnet:
    """Return a subnet of a shared network, with the SNAT addresses of the project's traffic group only.
    Raises :class:`DeviceAddressNotAllocated` if the network is not in the common route domain, or an address is
    missing.
    """
    subnet = each.subnet
    # A network that has become common is in a route domain of its project until the store has moved it.
    if subnet.network_id not in attached.common or attached.route_domains[subnet.network_id] != COMMON_ROUTE_DOMAIN:
        raise DeviceAddressNotAllocated
    found = allocated_subnet(subnet, attached.common_addresses.get(subnet.id, ()), wanted_common_addresses(layout))
    if len(found.addresses) < len(tuple(wanted_common_addresses(layout))):
        raise DeviceAddressNotAllocated
    traffic_group = traffic_group_of(project_id, layout.traffic_groups)
    # The self IPs and floating addresses are objects of the common shard's own service definition.
    mine = (one for one in found.addresses if one.use is AddressUse.SNAT and one.owner == traffic_group)
    return replace(found, addresses=tuple(mine))


def _service_subnet(
    subnet: Subnet, layout: NetworkLayout, attached: AttachedNetworks, project_id: ProjectId
) -> ServiceSubnet:
    wanted = tuple(wanted_addresses(layout, project_id))
    found = allocated_subnet(subnet, attached.addresses.get(subnet.id, ()), wanted)
    if len(found.addresses) < len(wanted):
        raise DeviceAddressNotAllocated
    return found


def allocated_subnet(
    subnet: Subnet, addresses: Iterable[DeviceAddress], wanted: Iterable["WantedAddress"]
) -> ServiceSubnet:
    """Return the subnet in the form for service definitions, with those of the wanted addresses that are
    allocated, sorted by use, owner and index.
    """
    has = {(one.use, one.owner, one.index): one for one in addresses}
    return ServiceSubnet(
        id=subnet.id,
        cidr=subnet.cidr,
        gateway_ip=subnet.gateway_ip,
        addresses=tuple(has[each] for each in sorted(wanted) if each in has),
    )


def _member_hosts(
    subnet: Subnet, attached: AttachedNetworks, members: Collection[tuple[str, str]]
) -> tuple[MemberHost, ...]:
    here = ip_network(subnet.cidr)
    known = (attached.hosts.get(each) for each in sorted(members) if each[0] == subnet.network_id)
    return tuple(host for host in known if host is not None and host.mac_address and ip_address(host.address) in here)


WantedAddress = tuple[AddressUse, str, int]
"""Key of a device address: (use, owner, index)."""


def wanted_addresses(layout: NetworkLayout, project_id: ProjectId) -> Iterator[WantedAddress]:
    """Yield the keys of the addresses that the devices need in a subnet of the project: one of each device,
    and those of the project's traffic group.
    """
    for device in layout.devices:
        yield AddressUse.SELF, device, 0
    traffic_group = traffic_group_of(project_id, layout.traffic_groups)
    if layout.floating:
        yield AddressUse.FLOATING, traffic_group, 0
    for index in range(layout.snat_addresses):
        yield AddressUse.SNAT, traffic_group, index


def wanted_common_addresses(layout: NetworkLayout) -> Iterator[WantedAddress]:
    """Yield the keys of the addresses that the devices need in a subnet of a shared network: one of each
    device, and those of all traffic groups.
    """
    for device in layout.devices:
        yield AddressUse.SELF, device, 0
    for traffic_group in layout.traffic_groups:
        if layout.floating:
            yield AddressUse.FLOATING, traffic_group, 0
        for index in range(layout.snat_addresses):
            yield AddressUse.SNAT, traffic_group, index


# -- allocation


def route_domain_without_overlap(
    new: Collection[KnownSubnet], there: Mapping[int, Sequence[str]], layout: NetworkLayout
) -> int | None:
    """Return the number of the project's first route domain in which the subnets ``new`` overlap with none; None: a new
    one is needed.

    ``there``: {route domain: CIDRs in it}, oldest first. Raises :class:`NetworkNotAttachable` if no more route domains
    are allowed, or the subnets overlap among themselves.
    """
    cidrs = [each.subnet.cidr for each in new]
    if any(_cidrs_overlap(one, other) for place, one in enumerate(cidrs) for other in cidrs[:place]):
        raise NetworkNotAttachable(f"its subnets overlap: {', '.join(sorted(cidrs))}")
    # the oldest one that fits, so that a project's networks share a route domain as far as possible
    for number, others in there.items():
        if not any(_cidrs_overlap(one, other) for one in cidrs for other in others):
            return number
    if len(there) < layout.route_domains_max:
        return None
    raise NetworkNotAttachable(
        f"{', '.join(sorted(cidrs))} overlaps another subnet of the project, which may have"
        f" {layout.route_domains_max} route domain(s): max_namespaces_per_tenant"
    )


def check_no_overlap(new: Collection[KnownSubnet], there: Collection[str]) -> None:
    """Check that subnets of shared networks, which are all in one route domain, do not overlap among
    themselves or with ``there``: CIDRs already in the route domain. Raises :class:`NetworkNotAttachable` naming
    two that overlap.
    """
    cidrs = [each.subnet.cidr for each in new]
    others = [*there, *cidrs]
    for place, one in enumerate(cidrs):
        found = next((other for other in others[: len(there) + place] if _cidrs_overlap(one, other)), None)
        if found is not None:
            raise NetworkNotAttachable(f"{one} overlaps {found}, which is in the common route domain, too")


def _cidrs_overlap(one: str, other: str) -> bool:
    first, second = ip_network(one), ip_network(other)
    return first.version == second.version and first.overlaps(second)


def uses_only_common_route_domain(layout: NetworkLayout) -> bool:
    """Whether the layout puts all networks into the common route domain, because a project may have no route
    domain of its own.
    """
    return layout.route_domains_max == COMMON_ROUTE_DOMAIN


def free_addresses(subnet: Subnet, taken: Collection[str]) -> Iterator[str]:
    """Yield the free addresses out of the subnet's ``device_addresses``, range by range, each from its first
    address on. ``taken``: allocated addresses, in canonical form.
    """
    for text in subnet.device_addresses:
        first, last = parsed_range(text)
        for number in range(int(first), int(last) + 1):
            # ip_address() makes an IPv4 address of any number below 2**32, so IPv6 needs its own class.
            address = str(ip_address(number) if first.version == 4 else type(first)(number))
            if address not in taken:
                yield address
