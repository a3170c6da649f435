"""Finds the networks to which F5's agent attached a device in a tenant's partition, or the reason why the partition
cannot be adopted. Nothing is written.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address

from msgspec.structs import replace

from evenkeel.core.devices.adoption import SEVERAL_ROUTE_DOMAINS, FoundAddress, FoundNetworks
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.attachment import WantedAddress, wanted_addresses
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN, AddressUse, NetworkLayout
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectAbsent
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, parse_mark
from evenkeel.devices.bigip.networks import f5_agent
from evenkeel.devices.bigip.networks.shared_networks import refers_to_common
from evenkeel.devices.bigip.objects import SELF_IP, SNAT_ADDRESS, Observed
from evenkeel.devices.bigip.observe.partition_reads import read_all_objects
from evenkeel.devices.bigip.ownership.route_domains import (
    NotAdoptable,
    adoptable_route_domains,
    check_virtual_addresses,
    route_domains_by_network,
)


async def find_networks(
    device: IControl,
    names: BigIpNames,
    project_id: ProjectId,
    layout: NetworkLayout,
    services: Sequence[ServiceDefinition],
) -> FoundNetworks | None:
    """Find the networks that F5's agent attached to the project's partition, unless the partition's
    description names an owner.

    None: Even Keel owns the partition already, it does not exist or has no networks, or this device group
    attaches its devices to no networks (``f5_global_routed_mode``). ``services``: all the project's load
    balancers. Raises :class:`DeviceRejected` if another owner is named or the partition cannot be adopted,
    :class:`DeviceUnavailable`.
    """
    partition = names.partition_name(project_id)
    try:
        item = await device.get(f"/mgmt/tm/auth/partition/{partition}", **{"$select": "description,defaultRouteDomain"})
    except ObjectAbsent:
        return None
    mark = parse_mark(item.get("description"))
    if mark is not None:
        if not names.is_own_mark(mark):
            raise DeviceRejected(
                device.host, f"partition {partition} belongs to {mark.owner}; this is {names.group_text}"
            )
        return None
    observed, _ = await read_all_objects(device, partition, adjacent=True)
    try:
        numbers = adoptable_route_domains(observed, partition)
        _check_layout(observed, numbers, layout)
        if default := item.get("defaultRouteDomain"):
            raise NotAdoptable(f"its default route domain is {default}: set it to 0 first, addresses name theirs")
        if not layout.adjacent:
            return None
        found = _build_found_networks(observed, numbers, services, names, layout)
    except NotAdoptable as reason:
        raise DeviceRejected(device.host, f"partition {partition} cannot be adopted: {reason}") from None
    subnet_ids = {subnet.id for service in services for net in service.networks for subnet in net.subnets}
    addresses = tuple(
        _found_addresses(observed, device.host, frozenset(wanted_addresses(layout, project_id)), subnet_ids)
    )
    if not addresses and not found.route_domains and found.route_domain in (COMMON_ROUTE_DOMAIN, SEVERAL_ROUTE_DOMAINS):
        return None
    return replace(found, addresses=addresses)


def _build_found_networks(
    observed: Observed,
    numbers: Collection[int],
    services: Sequence[ServiceDefinition],
    names: BigIpNames,
    layout: NetworkLayout,
) -> FoundNetworks:
    """Return the networks' route domains, still without addresses. Raises :class:`NotAdoptable`."""
    if len(numbers) <= 1:
        return FoundNetworks(route_domain=next(iter(numbers), COMMON_ROUTE_DOMAIN))
    found = route_domains_by_network(services, observed, names)
    used = set(found.values())
    check_virtual_addresses(observed, used)
    if len(used) > layout.route_domains_max:
        shown = ", ".join(map(str, sorted(used)))
        raise NotAdoptable(
            f"its networks are in {len(used)} route domains ({shown}), and max_namespaces_per_tenant is"
            f" {layout.route_domains_max} here"
        )
    return FoundNetworks(route_domain=SEVERAL_ROUTE_DOMAINS, route_domains=found)


def _check_layout(observed: Observed, numbers: Collection[int], layout: NetworkLayout) -> None:
    """Raise :class:`NotAdoptable` if the partition's networks do not fit this device group."""
    self_ips = sorted(key.name for key in observed if key.type == SELF_IP)
    has = f"it has route domain {', '.join(map(str, sorted(numbers)))}"
    if not layout.adjacent:
        if numbers:
            raise NotAdoptable(f"{has}, and f5_global_routed_mode is True here")
        return
    if refers_to_common(observed, COMMON):
        raise NotAdoptable(
            "its SNAT pool has addresses of networks that projects share, whose objects in /Common are not adopted"
        )
    if (numbers or self_ips) and layout.all_common:
        raise NotAdoptable("its networks are in the partition, and f5_common_networks is True here")
    if numbers and not layout.route_domains_max:
        raise NotAdoptable(f"{has}, and use_namespaces is False here")
    if self_ips and not numbers and layout.route_domains_max:
        raise NotAdoptable(
            f"its self IPs are in route domain 0 ({', '.join(self_ips)}), and use_namespaces is True here"
        )
    if gateways := [name for name in self_ips if name.startswith(f5_agent.GATEWAY_SELF_IP_PREFIX)]:
        raise NotAdoptable(
            f"devices have the address of its subnets' gateway: {', '.join(gateways)} (f5_snat_mode was False)"
        )


def _found_addresses(
    observed: Observed, host: str, wanted: frozenset[WantedAddress], subnet_ids: Iterable[str]
) -> Iterator[FoundAddress]:
    """Yield the addresses in the partition that the device needs under Even Keel's configuration too, so that they are
    kept.
    """
    snat_owners = sorted({owner for use, owner, _ in wanted if use is AddressUse.SNAT})
    theirs = [
        (key, str(seen.attributes.get("address", "")))
        for key, seen in observed.items()
        if key.type in (SELF_IP, SNAT_ADDRESS) and seen.mark is None
    ]
    for subnet_id in sorted(subnet_ids):
        for key, text in theirs:
            address = _bare_address(text)
            if key.type == SELF_IP and f5_agent.is_self_ip_of_subnet(key.name, subnet_id):
                found = AddressUse.SELF, host, 0
            elif key.type == SNAT_ADDRESS and (index := f5_agent.snat_index(key.name, subnet_id)) is not None:
                found = AddressUse.SNAT, next(iter(snat_owners), ""), index
            else:
                continue
            if address and found in wanted:
                use, owner, place = found
                yield FoundAddress(
                    subnet_id=subnet_id, use=use, owner=owner, index=place, address=address, name=key.name
                )


def _bare_address(text: str) -> str:
    """Strip route domain and prefix length from a text like ``10.0.0.1%7/24``; empty if it has no address."""
    try:
        return str(ip_address(text.partition("/")[0].partition("%")[0]))
    except ValueError:
        return ""


def combine_found_networks(group: str, found: dict[str, FoundNetworks]) -> FoundNetworks | None:
    """Return the networks common to all devices of a group, without addresses that differ; None if ``found``
    (each device's networks, by host) is empty.

    Raises :class:`DeviceRejected` if the devices' route domains differ.
    """
    if not found:
        return None
    first, *others = found.values()
    if any(_route_domain_numbers(one) != _route_domain_numbers(first) for one in others):
        shown = ", ".join(f"{_route_domains_text(one)} on {host}" for host, one in sorted(found.items()))
        raise DeviceRejected(group, f"the partition has another route domain on each device: {shown}")
    by_use: dict[tuple[str, WantedAddress], set[FoundAddress]] = {}
    for one in found.values():
        for each in one.addresses:
            by_use.setdefault((each.subnet_id, each.wanted), set()).add(each)
    # an address that differs between devices cannot be adopted for the group: a new one is allocated
    agreed = [next(iter(each)) for _, each in sorted(by_use.items()) if len(each) == 1]
    return replace(first, addresses=tuple(agreed))


def _route_domain_numbers(found: FoundNetworks) -> tuple[int, Mapping[str, int]]:
    return found.route_domain, found.route_domains


def _route_domains_text(found: FoundNetworks) -> str:
    if found.route_domain != SEVERAL_ROUTE_DOMAINS:
        return str(found.route_domain)
    return " and ".join(f"{number} of network {id_}" for id_, number in sorted(found.route_domains.items())) or "none"
