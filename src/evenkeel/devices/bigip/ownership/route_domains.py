"""Checks of the route domains that F5's agent made for the networks of a partition. Pure.

Since 9.8 F5's agent made one route domain for each network; earlier, one for the tenant and further ones
where its subnets overlapped. Even Keel has one for all networks of a load balancer, so a load balancer's
networks have to be in the same route domain.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN, ServiceNetwork
from evenkeel.devices.bigip.canonical import split_address
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.networks import f5_agent
from evenkeel.devices.bigip.objects import ROUTE_DOMAIN, SELF_IP, VIRTUAL_ADDRESS, Observed


class NotAdoptable(Exception):
    """A partition cannot be adopted; the exception's text gives the reason."""


def adoptable_route_domains(observed: Observed, partition: str) -> frozenset[int]:
    """Return the numbers of the partition's route domains. Raises :class:`NotAdoptable` if one has a name that F5's
    agent never gives.
    """
    domains = {
        key.name: int(seen.attributes.get("id", 0))
        for key, seen in observed.items()
        if key.type == ROUTE_DOMAIN and seen.mark is None
    }
    if others := sorted(name for name in domains if not f5_agent.is_route_domain(name, partition)):
        shown = ", ".join(f"{name} ({domains[name]})" for name in others)
        raise NotAdoptable(f"F5's agent calls a route domain as the partition or a network, but it has {shown}")
    return frozenset(domains.values())


def route_domains_by_network(
    services: Iterable[ServiceDefinition], observed: Observed, names: BigIpNames
) -> dict[str, int]:
    """Return ``{network id: route domain number}``, for networks to which the device is attached and networks
    that load balancers join to them.

    Raises :class:`NotAdoptable` if a load balancer joins networks of different route domains, or one network
    is in several.
    """
    found: dict[str, int] = {}
    for networks, joining in _connected_networks(services):
        numbers = {id_: _route_domain_numbers(network, observed, names) for id_, network in sorted(networks.items())}
        used = set[int]().union(*numbers.values())
        if len(used) > 1:
            shown = ", ".join(
                f"{id_} in {' and '.join(map(str, sorted(some)))}" for id_, some in numbers.items() if some
            )
            by = f"load balancers {', '.join(joining)} join networks" if joining else "there is a network"
            raise NotAdoptable(f"{by} of different route domains: {shown}; here those of a load balancer are in one")
        found |= dict.fromkeys(numbers, *used) if used else {}
    return found


def _connected_networks(
    services: Iterable[ServiceDefinition],
) -> Iterator[tuple[dict[str, ServiceNetwork], Sequence[str]]]:
    """Yield sets of networks (``{id: network}``) that load balancers join, directly or through each other,
    each with the sorted ids of these load balancers. Shared networks are left out.
    """
    sets: list[tuple[dict[str, ServiceNetwork], list[str]]] = []
    for service in services:
        mine = [each for each in service.networks if not each.common]
        if not mine:
            continue
        ids = {each.id for each in mine}
        # Sets that it connects become one, because a load balancer's networks are in one route domain.
        touched = [one for one in sets if ids & one[0].keys()]
        sets = [one for one in sets if not ids & one[0].keys()]
        networks = {id_: each for some, _ in touched for id_, each in some.items()}
        for each in mine:
            networks[each.id] = _merge_subnets(each, networks.get(each.id))
        joining = [id_ for _, some in touched for id_ in some]
        sets.append((networks, [*joining, *([service.load_balancer_id] if len(mine) > 1 else [])]))
    yield from ((networks, sorted(joining)) for networks, joining in sets)


def _merge_subnets(network: ServiceNetwork, other: ServiceNetwork | None) -> ServiceNetwork:
    """Return the network with the subnets of both arguments, because two load balancers may have addresses in
    different subnets of one network.
    """
    if other is None:
        return network
    return replace(network, subnets=tuple({each.id: each for each in (*other.subnets, *network.subnets)}.values()))


def _route_domain_numbers(network: ServiceNetwork, observed: Observed, names: BigIpNames) -> set[int]:
    """Return the route domains in which F5's agent has self IPs in the network, or that are named after the network."""
    name = names.object_name(network.id)
    found = set()
    for key, seen in observed.items():
        if seen.mark is not None:
            continue
        if key.type == ROUTE_DOMAIN and key.name == name:
            found.add(int(seen.attributes.get("id", 0)))
        elif key.type == SELF_IP and any(f5_agent.is_self_ip_of_subnet(key.name, each.id) for each in network.subnets):
            found.add(split_address(str(seen.attributes.get("address", "")))[1])
    return found


def check_virtual_addresses(observed: Observed, numbers: Collection[int]) -> None:
    """Raise :class:`NotAdoptable` unless all of F5's virtual addresses are in these route domains or the
    common one.

    A load balancer imported later would get another number than that under which it is served.
    """
    others = sorted(
        f"{key.name} ({number})"
        for key, seen in observed.items()
        if key.type == VIRTUAL_ADDRESS and seen.mark is None
        if (number := split_address(str(seen.attributes.get("address", "")))[1]) not in {*numbers, COMMON_ROUTE_DOMAIN}
    )
    if others:
        raise NotAdoptable(
            f"virtual addresses {', '.join(others)} are in route domains of networks on which no load balancer here is"
            " attached: 'evenkeel import lbaas' imports it, and its status_reason says what it lacks"
        )
