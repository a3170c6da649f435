"""Finds the networks to which F5's agent attached a device in a tenant's partition. Reads only.

Reports a reason if the partition cannot be adopted.
"""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from evenkeel.core.devices.adoption import FoundAddress, FoundNetworks
from evenkeel.core.kit.errors import DeviceRejected
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.attachment import WantedAddress, wanted_addresses
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN, AddressUse, NetworkLayout
from evenkeel.devices.bigip.icontrol.answers import Absent
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, parse_mark
from evenkeel.devices.bigip.networks import f5_agent
from evenkeel.devices.bigip.networks.shared_networks import refers_to_common
from evenkeel.devices.bigip.objects import ROUTE_DOMAIN, SELF_IP, SNAT_ADDRESS, Observed
from evenkeel.devices.bigip.observe.partition_reads import read_all


async def found_networks(
    device: IControl, names: BigIpNames, project_id: ProjectId, layout: NetworkLayout, subnet_ids: Iterable[str]
) -> FoundNetworks | None:
    """Networks of a partition without a mark; None: it is ours, does not exist, or has no networks.

    ``subnet_ids``: the subnets of its load balancers. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    partition = names.partition(project_id)
    try:
        item = await device.get(f"/mgmt/tm/auth/partition/{partition}", **{"$select": "description,defaultRouteDomain"})
    except Absent:
        return None
    mark = parse_mark(item.get("description"))
    if mark is not None:
        if not names.is_own_mark(mark):
            raise DeviceRejected(device.host, f"partition {partition} belongs to {mark.owner}; this is {names.place}")
        return None
    observed, _ = await read_all(device, partition, adjacent=True)
    number = _route_domain(observed, partition)
    problem = number if isinstance(number, str) else _problem(observed, partition, number, layout)
    if default := item.get("defaultRouteDomain"):
        problem = problem or f"its default route domain is {default}: set it to 0 first, addresses name theirs"
    if problem:
        raise DeviceRejected(device.host, f"partition {partition} cannot be adopted: {problem}")
    if not layout.adjacent or isinstance(number, str):
        return None
    addresses = tuple(_addresses(observed, device.host, frozenset(wanted_addresses(layout, project_id)), subnet_ids))
    if number == COMMON_ROUTE_DOMAIN and not addresses:
        return None
    return FoundNetworks(route_domain=number, addresses=addresses)


def _route_domain(observed: Observed, partition: str) -> int | str:
    """Number of the partition's route domain, or the reason why none can be adopted."""
    domains = [seen for key, seen in observed.items() if key.type == ROUTE_DOMAIN and seen.mark is None]
    numbers = {seen.key.name: int(seen.attributes.get("id", 0)) for seen in domains}
    if not numbers:
        return COMMON_ROUTE_DOMAIN
    if len(numbers) == 1 and (found := next(iter(numbers))) in _adoptable_domains(numbers, partition):
        return numbers[found]
    shown = ", ".join(f"{name} ({number})" for name, number in sorted(numbers.items()))
    if len(numbers) > 1:
        return f"it has route domains {shown}; only one of them can be adopted"
    return f"F5's agent calls a route domain as the partition or a network, but it has {shown}"


def _adoptable_domains(names: Iterable[str], partition: str) -> set[str]:
    """Names of route domains that F5's agent gives: of the tenant, or since 9.8 of a network."""
    return {name for name in names if name == partition or f5_agent.is_of_one_object(name, partition)}


def _problem(observed: Observed, partition: str, number: int, layout: NetworkLayout) -> str:
    """Reason why the partition's networks do not fit this device group; empty if they do."""
    self_ips = [key.name for key in observed if key.type == SELF_IP]
    if not layout.adjacent:
        return f"it has route domain {number}, and f5_global_routed_mode is True here" if number else ""
    if refers_to_common(observed, COMMON):
        return "its SNAT pool has addresses of networks that projects share, whose objects in /Common are not adopted"
    if (number or self_ips) and layout.all_common:
        return "its networks are in the partition, and f5_common_networks is True here"
    if number and not layout.route_domains_max:
        return f"it has route domain {number}, and use_namespaces is False here"
    if self_ips and not number and layout.route_domains_max:
        return f"its self IPs are in route domain 0 ({', '.join(sorted(self_ips))}), and use_namespaces is True here"
    if gateways := sorted(name for name in self_ips if name.startswith(f5_agent.GATEWAY)):
        return f"devices have the address of its subnets' gateway: {', '.join(gateways)} (f5_snat_mode was False)"
    return ""


def _addresses(
    observed: Observed, host: str, wanted: frozenset[WantedAddress], subnet_ids: Iterable[str]
) -> Iterator[FoundAddress]:
    """Addresses in the partition that the device also needs under our configuration."""
    snat_owners = sorted({owner for use, owner, _ in wanted if use is AddressUse.SNAT})
    theirs = [
        (key, str(seen.attributes.get("address", "")))
        for key, seen in observed.items()
        if key.type in (SELF_IP, SNAT_ADDRESS) and seen.mark is None
    ]
    for subnet_id in sorted(subnet_ids):
        for key, text in theirs:
            address = _bare_address(text)
            if key.type == SELF_IP and f5_agent.is_self_ip_of(key.name, subnet_id):
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
    """Address without route domain and prefix length, of a text like ``10.0.0.1%7/24``; empty: it has no address."""
    try:
        return str(ip_address(text.partition("/")[0].partition("%")[0]))
    except ValueError:
        return ""


def combined_findings(group: str, found: dict[str, FoundNetworks]) -> FoundNetworks | None:
    """The networks common to all devices of a group, from the findings by host.

    Raises :class:`DeviceRejected` if the devices' route domains differ.
    """
    if not found:
        return None
    numbers = {host: one.route_domain for host, one in found.items()}
    if len(set(numbers.values())) > 1:
        shown = ", ".join(f"{number} on {host}" for host, number in sorted(numbers.items()))
        raise DeviceRejected(group, f"the partition has another route domain on each device: {shown}")
    by_use: dict[tuple[str, WantedAddress], set[FoundAddress]] = {}
    for one in found.values():
        for each in one.addresses:
            by_use.setdefault((each.subnet_id, each.wanted), set()).add(each)
    # an address that differs between devices cannot be adopted for the group: a new one is allocated
    agreed = [next(iter(each)) for _, each in sorted(by_use.items()) if len(each) == 1]
    return FoundNetworks(route_domain=next(iter(numbers.values())), addresses=tuple(agreed))
